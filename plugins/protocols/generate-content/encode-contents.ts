/**
 * Encodes canonical turns as instructions and contents. Gemini requires one result for each call of a step,
 * all in the content after the calls.
 */
import type { Turn, ToolResult } from '../../../core/index.ts';
import { makeCallIdsUnique, moveResultsToCalls } from '../../shared/wire-kit/calls-and-results.ts';
import { refuseEmpty } from '../../shared/wire-kit/losses.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { encodeBlock, encodeResult } from './encode-parts.ts';
import type { Encoding } from './encoding.ts';
import { placeholders } from './signature.ts';

interface Content {
  readonly kind: 'user' | 'model' | 'results';
  readonly role: string;
  readonly parts: Fields[];
  /** Files of results. They follow all results. */
  readonly files: Fields[];
  readonly rest: Fields;
}

export function encodeTurns(
  given: readonly Turn[],
  encoding: Encoding,
): { readonly systemInstruction: Fields | undefined; readonly contents: Fields[] } {
  const turns = makeCallIdsUnique(given);
  const writer = new ContentWriter(turns, encoding);
  const firstSpoken = turns.findIndex((turn) => !isInstruction(turn) && !isEmptyHere(turn));
  // Gemini refuses a request without contents, so the last of several instructions becomes a content.
  const leading = firstSpoken < 0 ? turns.length - 1 : firstSpoken;
  const instructions: Fields[] = [];
  let rest: Fields = {};
  for (const [index, turn] of turns.slice(0, leading).entries()) {
    if (!isInstruction(turn)) continue;
    writer.loseName(turn, index);
    for (const part of writer.encodeInstruction(turn, index)) instructions.push(part);
    rest = { ...rest, ...bag.getFields(turn) };
  }
  for (const [index, turn] of moveResultsToCalls(turns))
    if (index >= leading || !isInstruction(turn)) writer.add(turn, index);
  if (writer.contents.length === 0 && turns.length > 0) refuseEmpty(turns, protocolName);
  writer.beginWithUser(turns.findIndex(({ role }) => role === 'assistant'));
  if (encoding.native && encoding.modern) writer.markUnsealedCalls();
  return {
    systemInstruction: instructions.length > 0 ? overlay(rest, { parts: instructions }) : undefined,
    contents: writer.finish(),
  };
}

/** Encodes one turn of a client's own body. */
export function encodeTurn(turn: Turn, index: number, turns: readonly Turn[], encoding: Encoding): Fields[] {
  const writer = new ContentWriter(turns, encoding);
  writer.add(turn, index);
  return writer.finish();
}

function isInstruction({ role }: Turn): boolean {
  return role === 'system' || role === 'developer';
}

/** Whether all that a turn says is meant for another protocol, as the item in which Codex offers tools. */
function isEmptyHere({ blocks }: Turn): boolean {
  return blocks.every((block) => block.type === 'foreign' && block.protocol !== protocolName);
}

class ContentWriter {
  readonly contents: Content[] = [];
  readonly #encoding: Encoding;
  readonly #names = new Map<string, string>();
  /** Parts of calls that may get a placeholder for their signature. */
  readonly #unsealed = new Set<Fields>();
  #files = 0;

  constructor(turns: readonly Turn[], encoding: Encoding) {
    this.#encoding = encoding;
    for (const { blocks } of turns)
      for (const block of blocks) if (block.type === 'tool-call') this.#names.set(block.id, block.name);
  }

  finish(): Fields[] {
    return this.contents.map(({ role, parts, files, rest }) =>
      overlay(rest, { role, parts: files.length > 0 ? [...parts, ...files] : parts }),
    );
  }

  encodeInstruction(turn: Turn, index: number): Fields[] {
    return turn.blocks.flatMap((block, place): Fields[] => {
      const path = `turns[${index}].blocks[${place}]`;
      if (block.type === 'text') return encodeBlock(block, path, this.#encoding);
      this.#encoding.lose(path, 'instructions can only be text');
      return [];
    });
  }

  loseName({ name }: Turn, index: number): void {
    if (name !== undefined)
      this.#encoding.lose(`turns[${index}].name`, 'generate-content has no names for participants');
  }

  add(turn: Turn, index: number): void {
    this.loseName(turn, index);
    if (isInstruction(turn)) return this.#addInstruction(turn, index);
    if (turn.role === 'assistant') return this.#addModelTurn(turn, index);
    this.#addUserTurn(turn, index);
  }

  /** Later instructions keep their place in the conversation, as a marked user message. */
  #addInstruction(turn: Turn, index: number): void {
    const parts = this.encodeInstruction(turn, index).map(({ text }) => ({
      text: this.contents.length > 0 ? `<system>\n${String(text)}\n</system>` : text,
    }));
    if (parts.length === 0) return;
    if (this.contents.length > 0)
      this.#encoding.lose(
        `turns[${index}].role`,
        'generate-content has no system text within a conversation; sent as a marked user message',
        'approximated',
      );
    this.#put('user', 'user', parts);
  }

  /** Returns the last content if it is of the same kind, or else a new one. */
  #ensureContent(kind: Content['kind'], role: string, rest: Fields = {}): Content {
    const last = this.contents.at(-1);
    if (last?.kind === kind) return last;
    const content: Content = { kind, role, parts: [], files: [], rest };
    this.contents.push(content);
    return content;
  }

  #put(kind: Content['kind'], role: string, parts: readonly Fields[], rest: Fields = {}): void {
    const content = this.#ensureContent(kind, role, rest);
    for (const part of parts) content.parts.push(part);
  }

  #addModelTurn(turn: Turn, index: number): void {
    let content: Content | undefined;
    for (const [place, block] of turn.blocks.entries()) {
      const path = `turns[${index}].blocks[${place}]`;
      const parts =
        block.type === 'tool-result'
          ? [this.#encodeResult(block, path).part]
          : encodeBlock(block, path, this.#encoding);
      const [first] = parts;
      if (!first) continue;
      content ??= this.#ensureContent('model', 'model', bag.getFields(turn));
      for (const part of parts) content.parts.push(part);
      if (block.type === 'tool-call' && first.thoughtSignature === undefined) this.#unsealed.add(first);
    }
  }

  #addUserTurn(turn: Turn, index: number): void {
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
      results.push(encoded.part);
      for (const part of encoded.files) files.push(part);
    }
    if (results.length > 0) {
      // All results of a step come first, then their files.
      const content = this.#ensureContent('results', 'user');
      for (const part of results) content.parts.push(part);
      for (const part of files) content.files.push(part);
    }
    if (others.length > 0) this.#put('user', 'user', others, bag.getFields(turn));
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

  /** Gemini refuses a conversation that begins with a call. `index` is that of the turn with it. */
  beginWithUser(index: number): void {
    const [first] = this.contents;
    if (first?.kind !== 'model' || !first.parts.some((part) => 'functionCall' in part)) return;
    const text = '<system>\nThe conversation begins with the assistant.\n</system>';
    this.contents.unshift({ kind: 'user', role: 'user', parts: [{ text }], files: [], rest: {} });
    this.#encoding.lose(
      `turns[${index}]`,
      'follows a marked user message, since the provider requires one first',
      'approximated',
    );
  }

  /** Gemini refuses a step whose first call has neither a signature nor a placeholder. */
  markUnsealedCalls(): void {
    const current = this.contents.findLastIndex(({ kind }) => kind === 'user');
    let seen = false;
    for (const { kind, parts } of this.contents.slice(current + 1)) {
      const place = parts.findIndex((part) => 'functionCall' in part);
      const call = parts[place];
      if (kind !== 'model') seen = false;
      else if (call && !seen) {
        seen = true;
        if (this.#unsealed.has(call)) parts[place] = { ...call, thoughtSignature: placeholders[0] };
      }
    }
  }
}
