/**
 * Instructions and contents in both directions. A client that stores a stream chunk by chunk sends one model
 * content per chunk; adjacent ones become one turn, because other protocols require reasoning and calls in
 * the same turn. To Gemini, each call of a step needs one result, all in the content after the calls.
 */
import {
  hasPlainNumbers,
  parseExactly,
  type Block,
  type ToolResult,
  type Turn,
} from '../../../core/index.ts';
import { readSpelling, toSnakeCase } from '../../shared/google/spelling.ts';
import { isInstruction, markInstruction, type PlacedTurn } from '../../shared/wire-kit/calls-and-results.ts';
import { refuseEmpty } from '../../shared/wire-kit/losses.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { containsNumber } from '../../shared/wire-kit/tool-arguments.ts';
import { readList, readMember, readObject } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { CallPairs, decodePart, encodeBlock, encodeResult } from './content.ts';
import { bag, isNative, placeholders, protocolName, type Encoding } from './encoding.ts';
import * as Wire from './wire.ts';

const roles: ReadonlyMap<string, 'assistant' | 'user' | 'tool'> = new Map([
  ['model', 'assistant'],
  ['user', 'user'],
  ['function', 'tool'],
]);

/** Returns the instructions as a system turn, then the contents. `text` is the JSON text of the body. */
export function decodeTurns({ systemInstruction, contents }: Wire.Request, text: string): Turn[] {
  const calls = new CallPairs();
  const exact = findExactParts(contents, text);
  const turns: Turn[] = [];
  const decodeParts = (parts: readonly Wire.Part[], at: string, content: number): Block[] =>
    parts.map((part, place) =>
      decodePart(part, { at: `${at}.parts[${place}]`, content, calls, exact: exact(content, place) }),
    );
  if (systemInstruction) {
    const at = 'systemInstruction';
    const blocks = decodeParts(systemInstruction.parts, at, -1);
    turns.push({ role: 'system', blocks, at, ...bag.keep(pickUnread(systemInstruction, ['role', 'parts'])) });
  }
  for (const [index, content] of contents.entries()) {
    const at = `contents[${index}]`;
    const role = roles.get(content.role ?? 'user');
    if (role === undefined) {
      // The content stays unchanged, because an unknown role cannot be translated.
      const block = buildForeignBlock(protocolName, content, `${at}.role`, 'needed');
      turns.push({ role: 'user', blocks: [block], at });
      continue;
    }
    const blocks = decodeParts(content.parts, at, index);
    // An answer that ignores a user's part of an unknown kind would be worthless.
    for (const block of blocks)
      if (role !== 'assistant' && block.type === 'foreign' && Wire.isUnknownPart(block.value))
        block.needed = true;
    const previous = turns.at(-1);
    const rest = pickUnread(content, ['role', 'parts']);
    if (role === 'assistant' && previous?.role === 'assistant' && Object.keys(rest).length === 0)
      for (const block of blocks) previous.blocks.push(block);
    else turns.push({ role, blocks, at, ...bag.keep(rest) });
  }
  for (const turn of turns) if (turn.role === 'assistant') turn.blocks = joinReasoning(turn.blocks);
  return turns;
}

/**
 * Returns a lookup of parts with the exact digits that the client wrote in arguments and responses. Parses
 * the text again only if it holds a number that JavaScript would change.
 */
function findExactParts(
  contents: readonly Wire.Content[],
  text: string,
): (content: number, part: number) => Fields | undefined {
  const hasNumbers = contents.some(({ parts }) =>
    parts.some(
      ({ functionCall, functionResponse }) =>
        containsNumber(functionCall?.args) || containsNumber(functionResponse?.response),
    ),
  );
  if (!hasNumbers || hasPlainNumbers(text)) return () => undefined;
  const whole = readSpelling(parseExactly(text)).body;
  const exact = readMember(readMember(whole, 'generateContentRequest') ?? whole, 'contents');
  return (content, part) => {
    const found = readMember(readMember(readMember(exact, content), 'parts'), part);
    return isObject(found) ? found : undefined;
  };
}

/** Joins the pieces of streamed reasoning, because another vendor's seal covers the entire text. */
function joinReasoning(blocks: readonly Block[]): Block[] {
  const joined: Block[] = [];
  for (const block of blocks) {
    if (block.type !== 'reasoning' || !block.opaque?.some((opaque) => !isNative(opaque))) {
      joined.push(block);
      continue;
    }
    let { text, at } = block;
    for (let last = joined.at(-1); last?.type === 'reasoning' && !last.opaque; last = joined.at(-1)) {
      [text, at] = [last.text + text, last.at];
      joined.pop();
    }
    joined.push({ ...block, text, at });
  }
  return joined;
}

interface Content {
  readonly kind: 'user' | 'model' | 'results';
  readonly parts: Fields[];
  /** Files of results. They follow all results. */
  readonly files: Fields[];
  readonly rest: Fields;
}

/** Whether all that a turn says is meant for another protocol, as the item in which Codex offers tools. */
function isEmptyHere({ blocks }: Turn): boolean {
  return blocks.every((block) => block.type === 'foreign' && block.protocol !== protocolName);
}

/** The instructions and the contents of some turns, as Gemini requires their order. */
export class Conversation {
  /** The parts of the instructions, and the vendor's fields beside them. */
  readonly instructions: Fields[] = [];
  readonly contents: readonly Fields[];
  instructionFields: Fields = {};
  readonly #added: Content[] = [];
  readonly #encoding: Encoding;
  /** The names of the functions that were called, by the ids of the calls. */
  readonly #names = new Map<string, string>();
  #files = 0;

  /** `all`: the turns of the request, if these are some of them in a client's own body. */
  constructor(turns: readonly PlacedTurn[], encoding: Encoding, all: Iterable<PlacedTurn> = turns) {
    this.#encoding = encoding;
    for (const [, { blocks }] of all)
      for (const block of blocks) if (block.type === 'tool-call') this.#names.set(block.id, block.name);
    const spoken = turns.find(([, turn]) => !isInstruction(turn) && !isEmptyHere(turn));
    // Gemini refuses a request without contents, so the last of several instructions becomes a content.
    const [leading = 0] = spoken ?? turns.at(-1) ?? [];
    for (const [index, turn] of turns) {
      if (!isInstruction(turn)) this.#add(turn, index);
      else if (index >= leading) this.#addInstruction(turn, index);
      else {
        for (const part of this.#encodeInstruction(turn, index)) this.instructions.push(part);
        this.instructionFields = { ...this.instructionFields, ...bag.getFields(turn) };
      }
    }
    if (!encoding.inPlace) this.#begin(turns);
    const contents = this.#added.map(({ kind, parts, files, rest }) => ({
      ...rest,
      role: kind === 'model' ? 'model' : 'user',
      parts: files.length > 0 ? [...parts, ...files] : parts,
    }));
    const { native, modern, inPlace } = encoding;
    this.contents = native && modern && !inPlace ? markUnsealedCalls(contents) : contents;
  }

  #encodeInstruction(turn: Turn, index: number): Fields[] {
    this.#loseName(turn, index);
    return turn.blocks.flatMap((block, place): Fields[] => {
      const path = `turns[${index}].blocks[${place}]`;
      if (block.type === 'text') return encodeBlock(block, path, this.#encoding);
      this.#encoding.lose(path, 'instructions can only be text');
      return [];
    });
  }

  #loseName({ name }: Turn, index: number): void {
    if (name !== undefined)
      this.#encoding.lose(`turns[${index}].name`, 'generate-content has no names for participants');
  }

  #add(turn: Turn, index: number): void {
    this.#loseName(turn, index);
    const isModel = turn.role === 'assistant';
    const results: Fields[] = [];
    const files: Fields[] = [];
    const others: Fields[] = [];
    for (const [place, block] of turn.blocks.entries()) {
      const path = `turns[${index}].blocks[${place}]`;
      if (block.type !== 'tool-result') {
        for (const part of encodeBlock(block, path, this.#encoding)) others.push(part);
        continue;
      }
      const encoded = this.#encodeResult(block, path);
      (isModel ? others : results).push(encoded.part);
      if (!isModel) for (const part of encoded.files) files.push(part);
    }
    // All results of a step come first, then their files.
    this.#put('results', results, {}, files);
    this.#put(isModel ? 'model' : 'user', others, bag.getFields(turn));
  }

  /** Later instructions keep their place in the conversation, as a marked user message. */
  #addInstruction(turn: Turn, index: number): void {
    const isFirst = this.#added.length === 0;
    const parts = this.#encodeInstruction(turn, index).map(({ text }) => ({
      text: isFirst ? text : markInstruction(text),
    }));
    if (parts.length > 0 && !isFirst)
      this.#encoding.lose(
        `turns[${index}].role`,
        'generate-content has no system text within a conversation; sent as a marked user message',
        'approximated',
      );
    this.#put('user', parts);
  }

  /** Adds parts to the last content if it is of the same kind, or else to a new one. */
  #put(
    kind: Content['kind'],
    parts: readonly Fields[],
    rest: Fields = {},
    files: readonly Fields[] = [],
  ): void {
    if (parts.length === 0) return;
    let content = this.#added.at(-1);
    if (content?.kind !== kind) {
      content = { kind, parts: [], files: [], rest };
      this.#added.push(content);
    }
    for (const part of parts) content.parts.push(part);
    for (const part of files) content.files.push(part);
  }

  #encodeResult(block: ToolResult, path: string): ReturnType<typeof encodeResult> {
    const name =
      (this.#encoding.inPlace ? block.name : undefined) ??
      this.#names.get(block.callId) ??
      block.name ??
      block.callId;
    const encoded = encodeResult(block, path, this.#encoding, { name, filesBefore: this.#files });
    this.#files += encoded.files.length / 2;
    return encoded;
  }

  /** Gemini refuses a conversation that is empty, or that begins with a call. */
  #begin(turns: readonly PlacedTurn[]): void {
    const [first] = this.#added;
    if (!first && turns.length > 0)
      refuseEmpty(
        turns.map(([, turn]) => turn),
        protocolName,
      );
    if (first?.kind !== 'model' || !first.parts.some((part) => 'functionCall' in part)) return;
    const text = markInstruction('The conversation begins with the assistant.');
    this.#added.unshift({ kind: 'user', parts: [{ text }], files: [], rest: {} });
    const [index = 0] = turns.find(([, { role }]) => role === 'assistant') ?? [];
    this.#encoding.lose(
      `turns[${index}]`,
      'follows a marked user message, since the provider requires one first',
      'approximated',
    );
  }
}

/** A member of a client's body, in either spelling. */
function readSpelled(thing: Fields, name: string): unknown {
  return thing[name] ?? thing[toSnakeCase(name)];
}

/** Google accepts a single object in place of a list. */
export function readAsList(value: unknown): readonly unknown[] {
  return isObject(value) ? [value] : readList(value);
}

/**
 * Gemini refuses a step of the current turn whose first call has neither a signature nor a placeholder. The
 * contents may be a client's own, in either spelling. Returns them as they are if there is no such step.
 */
export function markUnsealedCalls(contents: readonly Fields[]): readonly Fields[] {
  const current = contents.findLastIndex(
    ({ role, parts }) =>
      role !== 'model' &&
      !readAsList(parts).some((part) => readSpelled(readObject(part), 'functionResponse')),
  );
  const marked = contents.map((content, index) => {
    if (index <= current || content.role !== 'model') return content;
    const parts = readAsList(content.parts).map(readObject);
    const place = parts.findIndex((part) => readSpelled(part, 'functionCall'));
    const call = parts[place];
    if (!call || readSpelled(call, 'thoughtSignature')) return content;
    return { ...content, parts: parts.with(place, { ...call, thoughtSignature: placeholders[0] }) };
  });
  return marked.some((content, index) => content !== contents[index]) ? marked : contents;
}
