/**
 * Writes canonical events as a client's stream of chunks: first the role, then deltas, a finish reason for
 * each candidate, the usage if the client requested it, and `[DONE]`. A JSON reply merges the same parts.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type EventEncoder,
  type ReplyContext,
  type Usage,
  type EventOf,
} from '../../../core/index.ts';
import { encodeStreamError } from '../../shared/wire-kit/openai-error.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { ChoiceParts, type ChoicePart } from './choice-parts.ts';
import { encodeUsage } from './usage.ts';

export const terminator = 'data: [DONE]\n\n';

/** Fields that may come before text or without it. */
const textlessFields = ['tool_calls', 'reasoning_content', 'reasoning_details'] as const;

/** Builds a candidate's first delta. Without text its content is null: some clients show an empty string. */
function openMessage({ candidate, delta }: ChoicePart): ChoicePart {
  const content = textlessFields.some((field) => field in delta) ? null : '';
  return { candidate, delta: { role: 'assistant', content, refusal: null } };
}

type Start = EventOf<'response-start'>;

function buildHead(
  { id, created, model }: ReplyContext,
  object: string,
  start?: Start,
): Record<string, unknown> {
  return { ...bag.getFields(start), id: `chatcmpl-${id}`, object, created, model };
}

export class ChunkEncoder implements EventEncoder {
  readonly #context: ReplyContext;
  readonly #parts: ChoiceParts;
  readonly #opened = new Set<number>();
  readonly #end: string;
  #start = '';
  #usage: Usage | undefined;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#parts = new ChoiceParts(context);
    this.#end = context.call.usageWanted ? '],"usage":null}\n\n' : ']}\n\n';
    this.#setHead();
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'response-start':
        this.#setHead(event);
        this.#parts.push(event);
        return '';
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        return '';
      case 'response-end':
        return this.#encodeUsage() + terminator;
      case 'error':
        return encodeStreamError(new GatewayError('upstream_failed', event.message));
      default: {
        const part = this.#parts.push(event);
        return part ? this.#open(part) + this.#encodeChunk(part) : '';
      }
    }
  }

  /** All chunks start alike, so their start is serialized only here. */
  #setHead(start?: Start): void {
    const head = JSON.stringify(buildHead(this.#context, 'chat.completion.chunk', start));
    this.#start = `data: ${head.slice(0, -1)},"choices":[`;
  }

  #open(part: ChoicePart): string {
    if (this.#opened.has(part.candidate)) return '';
    this.#opened.add(part.candidate);
    return this.#encodeChunk(openMessage(part));
  }

  #encodeChunk({ candidate, delta, logprobs, finish, native }: ChoicePart): string {
    const probabilities = logprobs ? `,"logprobs":${JSON.stringify(logprobs)}` : '';
    const reason = finish === undefined ? 'null' : `"${finish}"`;
    const nativeReason = native === undefined ? '' : `,"native_finish_reason":${JSON.stringify(native)}`;
    const content = `{"index":${candidate},"delta":${JSON.stringify(delta)}${probabilities}`;
    return `${this.#start}${content},"finish_reason":${reason}${nativeReason}}${this.#end}`;
  }

  #encodeUsage(): string {
    if (!this.#context.call.usageWanted || !this.#usage) return '';
    return `${this.#start}],"usage":${JSON.stringify(encodeUsage(this.#usage))}}\n\n`;
  }
}

interface Choice {
  readonly message: Record<string, unknown>;
  logprobs: Record<string, unknown> | null;
  finish: string | null;
  native: string | undefined;
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const parts = new ChoiceParts(context);
  const choices = new Map<number, Choice>();
  let usage: Usage | undefined;
  for (const event of events) {
    if (event.type === 'usage') usage = { ...usage, ...event.usage };
    const part = parts.push(event);
    if (!part) continue;
    const choice = choices.get(part.candidate) ?? {
      message: {},
      logprobs: null,
      finish: null,
      native: undefined,
    };
    choices.set(part.candidate, choice);
    addPart(choice, part);
  }
  const start = events.find((event) => event.type === 'response-start');
  return {
    ...buildHead(context, 'chat.completion', start),
    choices: [...choices]
      .toSorted(([first], [second]) => first - second)
      .map(([index, choice]) => writeChoice(index, choice)),
    ...(usage ? { usage: encodeUsage(usage) } : {}),
  };
}

function addPart(choice: Choice, { delta, logprobs, finish, native }: ChoicePart): void {
  mergeDelta(choice.message, delta);
  if (logprobs) {
    choice.logprobs ??= { content: null, refusal: null };
    mergeDelta(choice.logprobs, logprobs);
  }
  if (finish !== undefined) [choice.finish, choice.native] = [finish, native];
}

/** Merges a delta: appends strings and lists, merges calls by index, and sets other values. */
function mergeDelta(into: Record<string, unknown>, delta: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(delta)) {
    // A provider's member with this name would be merged into the prototype of every object.
    if (name === '__proto__') continue;
    const before = into[name];
    if (typeof before === 'string' && typeof value === 'string') into[name] = before + value;
    else if (Array.isArray(value))
      into[name] = name === 'tool_calls' ? mergeCalls(before, value) : appendItems(before, value);
    else if (isObject(before) && isObject(value)) mergeDelta(before, value);
    else if (value !== null || before === undefined) into[name] = isObject(value) ? { ...value } : value;
  }
}

/** Copies the list only at first and then appends to it: a copy for each citation takes quadratic time. */
function appendItems(before: unknown, items: readonly unknown[]): unknown[] {
  if (!Array.isArray(before)) return [...items];
  for (const item of items) before.push(item);
  return before;
}

function mergeCalls(before: unknown, fragments: readonly unknown[]): unknown[] {
  const calls: unknown[] = Array.isArray(before) ? before : [];
  for (const fragment of fragments) {
    if (!isObject(fragment)) continue;
    const { index, ...fields } = fragment;
    const call: unknown = calls[Number(index)];
    if (isObject(call)) mergeDelta(call, fields);
    else calls[Number(index)] = fields;
  }
  return calls;
}

function writeChoice(index: number, { message, logprobs, finish, native }: Choice): unknown {
  const { content, refusal = null, ...rest } = message;
  // The content of an empty message is an empty string, not null.
  const isEmpty = refusal === null && rest.tool_calls === undefined && rest.audio === undefined;
  return {
    index,
    message: { role: 'assistant', content: content ?? (isEmpty ? '' : null), refusal, ...rest },
    logprobs,
    finish_reason: finish,
    ...(native === undefined ? {} : { native_finish_reason: native }),
  };
}
