/**
 * Turns canonical turns into messages. Each tool result of a turn becomes a separate message. Results and
 * assistant messages cannot hold media: it follows in a user message, after all results of the same step.
 */
import type { Turn, ToolResult } from '../../../core/index.ts';
import { makeCallIdsUnique, moveResultsToCalls } from '../../shared/wire-kit/calls-and-results.ts';
import { refuses } from '../../shared/wire-kit/chat-flags.ts';
import { loseForeign } from '../../shared/wire-kit/losses.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { markContinued } from './continued.ts';
import { encodeAssistant, encodeCallId, encodeShown, isOwnForeign, type Placed } from './encode-assistant.ts';
import { encodeMark, joinParts, encodeParts, type Encoding } from './encode-parts.ts';
import { fillReasoning, lacksReasoning } from './reasoning.ts';

export function encodeMessages(turns: readonly Turn[], encoding: Encoding): Fields[] {
  const { flags } = encoding;
  const accepted = turns.map((turn, index) => dropRefused(turn, index, encoding));
  const groups = groupSteps(moveResultsToCalls(makeCallIdsUnique(accepted)));
  const list = new MessageList(encoding);
  for (const steps of groups) list.add(steps, groups.length === 1);
  const finished = list.finish();
  const messages = flags.prefix ? markContinued(finished) : finished;
  const isMissing = flags.thinkingMode && !encoding.reasoningOff && lacksReasoning(messages);
  return isMissing ? fillReasoning(messages) : messages;
}

/** Encodes one turn: as a message, and further ones for results or media that need their own. */
export function encodeTurn(turn: Turn, index: number, encoding: Encoding): Fields[] {
  const list = new MessageList(encoding);
  list.add([[index, dropRefused(turn, index, encoding)]], true);
  return list.finish();
}

class MessageList {
  readonly #encoding: Encoding;
  readonly #messages: Fields[] = [];
  /** Media that the next user message shows. */
  #media: Fields[] = [];
  #files = 0;

  constructor(encoding: Encoding) {
    this.#encoding = encoding;
  }

  add(steps: Steps, isOnly: boolean): void {
    const encoding = this.#encoding;
    const [[, turn]] = steps;
    const text = findSoleText(turn);
    if (text) {
      this.#showMedia();
      this.#messages.push({ role: encodeRole(turn, encoding), content: text });
      return;
    }
    const placed = placeBlocks(steps);
    const others = this.#addResults(turn, placed);
    if (others.length === 0 && placed.length > 0) return;
    this.#showMedia();
    const isAssistant = turn.role === 'assistant';
    const message = isAssistant
      ? encodeAssistant(turn, insertBreaks(others), encoding)
      : encodeInput(turn, others, encoding);
    if (isAssistant) for (const part of encodeShown(others, encoding)) this.#media.push(part);
    // If every block of a turn was lost, it needs no message.
    if (isOnly || !isEmpty(message)) this.#messages.push(message);
  }

  finish(): Fields[] {
    this.#showMedia();
    return this.#messages;
  }

  /** Adds a message for each tool result. Returns the other blocks. */
  #addResults(turn: Turn, placed: readonly Placed[]): Placed[] {
    return placed.filter(({ block, path }) => {
      if (block.type !== 'tool-result') return true;
      const { message, media } = encodeResult(turn, { block, path }, this.#encoding, this.#files);
      this.#messages.push(message);
      for (const part of media) this.#media.push(part);
      this.#files += media.length / 2;
      return false;
    });
  }

  #showMedia(): void {
    if (this.#media.length > 0) this.#messages.push({ role: 'user', content: this.#media });
    this.#media = [];
  }
}

/** Removes fields that the provider refuses, and reports those with a value. Tool results keep their name. */
function dropRefused(turn: Turn, index: number, { model, flags, lose }: Encoding): Turn {
  if (Object.keys(flags.fields).length === 0) return turn;
  const named = turn.role !== 'tool' && turn.name !== undefined && refuses(model, 'name');
  if (named) lose(`turns[${index}].name`, 'the model does not accept it', 'model');
  const fields = Object.entries(bag.getFields(turn));
  const kept = fields.filter(([field, value]) => {
    if (!refuses(model, field)) return true;
    if (value !== null && !(Array.isArray(value) && value.length === 0))
      lose(`turns[${index}].${field}`, 'the model does not accept it', 'model');
    return false;
  });
  if (!named && kept.length === fields.length) return turn;
  return { ...turn, name: named ? undefined : turn.name, vendor: bag.keep(Object.fromEntries(kept)).vendor };
}

type Step = readonly [index: number, turn: Turn];
type Steps = readonly [Step, ...Step[]];

/** Groups turns that become one message: only results may follow calls, so later assistant turns join. */
function groupSteps(turns: readonly Step[]): Steps[] {
  const groups: [Step, ...Step[]][] = [];
  let calls = false;
  for (const step of turns) {
    const [, { role, blocks }] = step;
    const last = groups.at(-1);
    const joins: boolean = calls && role === 'assistant';
    if (last && joins) last.push(step);
    else groups.push([step]);
    calls = joins || (role === 'assistant' && blocks.some(({ type }) => type === 'tool-call'));
  }
  return groups;
}

function placeBlocks(steps: Steps): Placed[] {
  return steps.flatMap(([index, { blocks }]) =>
    blocks.map((block, position) => ({ block, path: `turns[${index}].blocks[${position}]` })),
  );
}

/** Returns the text of a turn that holds only text, as most turns of a long conversation do: a fast path. */
function findSoleText(turn: Turn): string | undefined {
  const { blocks, name, vendor } = turn;
  const [block] = blocks;
  if (blocks.length !== 1 || block?.type !== 'text' || name !== undefined || vendor) return undefined;
  return block.opaque || block.cache || block.vendor ? undefined : block.text;
}

function isEmpty({ content, tool_calls: calls, refusal, audio, images }: Fields): boolean {
  return (
    (content === '' || content === null) &&
    [calls, refusal, audio, images].every((field) => field === undefined)
  );
}

/** Returns a tool message and the media that follows it: for each file a line with its name, and the part. */
export function encodeResult(
  turn: Turn,
  { block: result, path }: Placed<ToolResult>,
  encoding: Encoding,
  files: number,
): { message: Fields; media: Fields[] } {
  const { texts, media } = encodeResultParts({ block: result, path }, encoding, files);
  if (result.isError) encoding.lose(`${path}.isError`, 'chat-completions cannot mark a failed tool result');
  const wire = {
    role: 'tool',
    tool_call_id: encodeCallId(result.callId, encoding),
    name: turn.name ?? (encoding.inPlace ? result.name : undefined),
    content: joinParts(texts, '\n\n') ?? '',
  };
  return { message: overlay(bag.getFields(turn), wire), media };
}

/** Encodes the parts of a result. `files` counts the media parts of earlier results. */
function encodeResultParts(
  { block: result, path }: Placed<ToolResult>,
  encoding: Encoding,
  files: number,
): { texts: Fields[]; media: Fields[] } {
  const texts: Fields[] = [];
  const media: Fields[] = [];
  for (const [position, block] of result.content.entries()) {
    const place = `${path}.content[${position}]`;
    if (block.type === 'foreign') {
      if (isOwnForeign(block)) texts.push(block.value);
      else loseForeign(block, place, encoding.lose);
      continue;
    }
    for (const part of encodeParts(block, place, encoding)) {
      if (part.type === 'text') {
        texts.push(part);
        continue;
      }
      const name = `file ${files + media.length / 2 + 1}`;
      texts.push({ type: 'text', text: `See ${name}.` });
      media.push({ type: 'text', text: `This is ${name}:` }, part);
    }
  }
  const mark = encodeMark(result, path, encoding);
  const isMarked = Object.keys(mark).length > 0;
  const last = isMarked ? texts.pop() : undefined;
  if (last) texts.push({ ...mark, ...last });
  else if (isMarked) encoding.lose(`${path}.cache`, 'an empty result cannot be marked');
  return { texts, media };
}

function encodeRole({ role }: Turn, { extras }: Encoding): string {
  // Most providers have no developer role; a system message is equivalent.
  if (role === 'developer') return extras ? 'developer' : 'system';
  return role === 'system' || role === 'assistant' ? role : 'user';
}

function encodeInput(turn: Turn, placed: readonly Placed[], encoding: Encoding): Fields {
  const instructs = turn.role === 'system' || turn.role === 'developer';
  const parts = placed.flatMap(({ block, path }): Fields[] => {
    if (isOwnForeign(block)) return [block.value];
    if (block.type !== 'text' && (block.type !== 'media' || instructs)) {
      encoding.lose(path, `a ${turn.role} message cannot hold it`);
      return [];
    }
    return encodeParts(block, path, encoding);
  });
  return overlay(bag.getFields(turn), {
    role: encodeRole(turn, encoding),
    name: turn.name,
    content: joinParts(parts, '\n\n') ?? '',
  });
}

/** The texts of a message are joined. Inserts a break between texts that reasoning or a call separated. */
function insertBreaks(placed: readonly Placed[]): Placed[] {
  let hasText = false;
  let isSeparated = false;
  return placed.map(({ block, path }) => {
    if (block.type !== 'text') isSeparated = hasText;
    if (block.type !== 'text' || block.text === '') return { block, path };
    const text = isSeparated ? `\n\n${block.text}` : block.text;
    [hasText, isSeparated] = [true, false];
    return { block: { ...block, text }, path };
  });
}
