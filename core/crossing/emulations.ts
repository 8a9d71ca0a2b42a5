/**
 * What a reply needs because the target's wire could not be asked for it: the end at a stop sequence, the
 * answer without its wrapper, and a check of JSON.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Tally } from '../tally.ts';
import { isObject, resolvePointer } from '../util/json-text.ts';
import type { Batches } from './reply-events.ts';

/** Gives the events in place of each one, in the same batches. */
async function* replaceEvents(
  batches: Batches,
  replace: (event: CanonicalEvent) => Iterable<CanonicalEvent>,
): Batches {
  for await (const events of batches) yield events.flatMap((event) => [...replace(event)]);
}

/**
 * Ends each candidate before the first sequence in its text: those that the provider could not be given. The
 * reply is read to its end, since only then the provider reports usage. How the stream is cut into chunks
 * makes no difference.
 */
export function applyStopSequences(batches: Batches, sequences: readonly string[]): Batches {
  const watchers = new Map<number, StopWatcher>();
  return replaceEvents(batches, (event) => {
    if (!('candidate' in event)) return [event];
    const watch = watchers.get(event.candidate) ?? new StopWatcher(sequences);
    watchers.set(event.candidate, watch);
    return watch.read(event);
  });
}

type Placed = Extract<CanonicalEvent, { candidate: number }>;

class StopWatcher {
  readonly #sequences: readonly string[];
  /** The open text block, and the end of its text that may begin a sequence. */
  #text: number | undefined;
  #held = '';
  readonly #open = new Set<number>();
  #stopped: string | undefined;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences;
  }

  *read(event: Placed): Generator<CanonicalEvent> {
    if (event.type === 'finish')
      return yield this.#stopped === undefined ? event : createFinish(event, this.#stopped);
    if (this.#stopped !== undefined) return;
    if (event.type === 'block-delta' && event.block === this.#text) return yield* this.#watch(event);
    if (event.type === 'block-start') {
      this.#open.add(event.block);
      if (event.kind === 'text') this.#text = event.block;
    } else if (event.type === 'block-end') {
      this.#open.delete(event.block);
      if (event.block === this.#text) yield* this.#release(event);
    }
    yield event;
  }

  *#watch(event: Extract<Placed, { type: 'block-delta' }>): Generator<CanonicalEvent> {
    const text = this.#held + event.text;
    const found = findFirst(this.#sequences, text);
    const shown = found
      ? text.slice(0, found.at)
      : text.slice(0, text.length - countHeld(this.#sequences, text));
    this.#held = text.slice(shown.length);
    if (shown !== '') yield { ...event, text: shown };
    if (!found) return;
    this.#stopped = found.sequence;
    for (const block of this.#open) yield { type: 'block-end', candidate: event.candidate, block };
  }

  /** The block ends, so the held text is no sequence. */
  *#release({ candidate, block }: Placed & { readonly block: number }): Generator<CanonicalEvent> {
    if (this.#held !== '') yield { type: 'block-delta', candidate, block, text: this.#held };
    this.#held = '';
    this.#text = undefined;
  }
}

function createFinish({ candidate }: Placed, stopSequence: string): CanonicalEvent {
  return {
    type: 'finish',
    candidate,
    reason: { unified: 'stop-sequence', raw: 'stop_sequence' },
    stopSequence,
  };
}

interface Found {
  readonly sequence: string;
  readonly at: number;
}

/** The sequence that is complete first; the longest of those that end together. */
function findFirst(sequences: readonly string[], text: string): Found | undefined {
  let best: Found | undefined;
  for (const sequence of sequences) {
    const at = text.indexOf(sequence);
    if (at < 0 || sequence === '') continue;
    const sooner = best ? at + sequence.length - best.at - best.sequence.length : -1;
    if (!best || sooner < 0 || (sooner === 0 && at < best.at)) best = { sequence, at };
  }
  return best;
}

/** The number of characters at the end of a text that may begin a sequence. */
function countHeld(sequences: readonly string[], text: string): number {
  let held = 0;
  for (const sequence of sequences) {
    for (let length = Math.min(sequence.length - 1, text.length); length > held; length -= 1) {
      if (text.endsWith(sequence.slice(0, length))) held = length;
    }
  }
  return held;
}

/**
 * Unwraps answers in JSON, if the request asked for a wrapper. Some providers enforce only schemas of
 * objects, so an encoder may ask for `{"answer": …}`. The client gets the value of that member alone, as it
 * comes. A text without the wrapper passes unchanged.
 */
export function unwrapAnswers(batches: Batches, member: string): Batches {
  const texts = new Map<number, WrappedText>();
  return replaceEvents(batches, (event) => unwrapEvent(event, texts, member));
}

function unwrapEvent(
  event: CanonicalEvent,
  texts: Map<number, WrappedText>,
  member: string,
): readonly CanonicalEvent[] {
  if (event.type === 'block-start' && event.kind === 'text') texts.set(event.block, new WrappedText(member));
  const text = 'block' in event ? texts.get(event.block) : undefined;
  if (text && event.type === 'block-delta') {
    const shown = text.read(event.text);
    return shown === '' ? [] : [{ ...event, text: shown }];
  }
  if (!text || event.type !== 'block-end') return [event];
  const { candidate, block } = event;
  const rest = text.end();
  return rest === '' ? [event] : [{ type: 'block-delta', candidate, block, text: rest }, event];
}

const blank = /\s/;

class WrappedText {
  /** What the text begins with if it is wrapped, without blanks. */
  readonly #head: string;
  /** Characters of the head that were read, or undefined once the text turned out not to be wrapped. */
  #read: number | undefined = 0;
  /** A brace, and blanks after it, that end the wrapper if nothing follows. */
  #held = '';
  #begun = false;

  constructor(member: string) {
    this.#head = `{${JSON.stringify(member)}:`;
  }

  /** Returns what the client is shown of a piece. */
  read(piece: string): string {
    if (this.#read === undefined) return piece;
    let at = 0;
    for (; at < piece.length && this.#read < this.#head.length; at += 1) {
      const character = piece.charAt(at);
      if (character === this.#head[this.#read]) this.#read += 1;
      else if (!blank.test(character)) return this.#giveUp(piece.slice(at));
    }
    return this.#hold(piece.slice(at));
  }

  /** Returns what was held although it does not end a wrapper. */
  end(): string {
    return this.#read !== undefined && this.#read < this.#head.length ? this.#giveUp('') : '';
  }

  #giveUp(rest: string): string {
    const begun = this.#head.slice(0, this.#read);
    this.#read = undefined;
    return begun + rest;
  }

  #hold(piece: string): string {
    const text = this.#begun ? piece : piece.trimStart();
    const length = text.trimEnd().length;
    if (length === 0 && (!this.#begun || this.#held !== '')) {
      this.#held += text;
      return '';
    }
    this.#begun = true;
    const end = text.charAt(length - 1) === '}' ? length - 1 : text.length;
    const shown = this.#held + text.slice(0, end);
    this.#held = text.slice(end);
    return shown;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Characters to check at most; a longer text is reported as unchecked. */
const longest = 1024 * 1024;
const deepest = 64;
/**
 * Schemas that one answer is held against. References can make a short schema ask for any number of checks,
 * and these take some 20 ms.
 */
const mostChecks = 100_000;

/**
 * Checks replies to requests for JSON that the provider got only as an instruction. All events pass
 * unchanged: delivered text cannot be taken back, and half an answer helps no client. A reply that does not
 * match is reported as a loss when its candidate ends.
 */
export function checkJson(
  batches: Batches,
  { schema }: { readonly schema?: unknown },
  tally: Pick<Tally, 'noteLoss'>,
): Batches {
  const candidates = new Map<number, CandidateText>();
  return replaceEvents(batches, (event) => {
    if (!('candidate' in event)) return [event];
    const candidate = candidates.get(event.candidate) ?? new CandidateText();
    candidates.set(event.candidate, candidate);
    const fault = candidate.read(event, schema);
    if (fault !== undefined) tally.noteLoss('format', fault);
    return [event];
  });
}

class CandidateText {
  readonly #blocks = new Set<number>();
  #text = '';
  /** Whether it calls a tool: then its text is not the answer yet. */
  #isCall = false;

  read(event: Placed, schema: unknown): string | undefined {
    if (event.type === 'block-start' && event.kind === 'text') this.#blocks.add(event.block);
    else if (event.type === 'block-start' && event.kind === 'tool-call') this.#isCall = true;
    else if (event.type === 'block-delta' && this.#blocks.has(event.block) && this.#text.length <= longest)
      this.#text += event.text;
    else if (event.type === 'finish') return this.#isCall ? undefined : findFault(this.#text, schema);
    return undefined;
  }
}

function findFault(text: string, schema: unknown): string | undefined {
  if (text.length > longest) return 'the answer is too long to check for JSON';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'the answer is not valid JSON';
  }
  const check: Check = { root: schema, left: mostChecks };
  const isFit = fits(value, schema, check, 0);
  if (check.left < 0) return 'the schema asks for too many checks of the answer';
  return isFit ? undefined : 'the answer is JSON that does not match the schema';
}

interface Check {
  readonly root: unknown;
  /** Schemas that may still be held against a value. Below zero, the result means nothing. */
  left: number;
}

function getType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function hasType(value: unknown, type: unknown): boolean {
  return type === getType(value) || (type === 'integer' && Number.isInteger(value));
}

/** Checks what most schemas use: types, members, items and choices. Other keywords are not checked. */
function fits(value: unknown, schema: unknown, check: Check, depth: number): boolean {
  if (schema === false) return false;
  check.left -= 1;
  if (!isObject(schema) || depth > deepest || check.left < 0) return true;
  const fitsPart = (part: unknown, partSchema: unknown): boolean => fits(part, partSchema, check, depth + 1);
  const { $ref: reference, type, enum: values, anyOf, oneOf = anyOf, allOf } = schema;
  if (typeof reference === 'string' && !fitsPart(value, resolvePointer(check.root, reference))) return false;
  if (type !== undefined && ![type].flat().some((each) => hasType(value, each))) return false;
  if (Array.isArray(values) && !values.some((each) => isDeepStrictEqual(each, value))) return false;
  if ('const' in schema && !isDeepStrictEqual(schema.const, value)) return false;
  if (Array.isArray(oneOf) && !oneOf.some((each) => fitsPart(value, each))) return false;
  if (Array.isArray(allOf) && !allOf.every((each) => fitsPart(value, each))) return false;
  if (Array.isArray(value)) return value.every((item) => fitsPart(item, schema.items));
  return !isObject(value) || fitsMembers(value, schema, fitsPart);
}

function fitsMembers(
  value: Fields,
  { properties = {}, required, additionalProperties: others }: Fields,
  fitsPart: (part: unknown, schema: unknown) => boolean,
): boolean {
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false;
  const known = isObject(properties) ? properties : {};
  return Object.entries(value).every(([name, member]) =>
    fitsPart(member, Object.hasOwn(known, name) ? known[name] : others),
  );
}
