/**
 * Writes canonical events as a client's stream of chunks: first the role, then deltas, a finish reason for
 * each candidate, the usage if the client asked for it, and `[DONE]`.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type EventEncoder,
  type ReplyContext,
  type Usage,
} from '../../../core/index.ts';
import { errorBody } from '../../shared/wire-kit/openai-error.ts';
import { bag } from './bag.ts';
import { ChoiceParts, type ChoicePart } from './choice-parts.ts';
import { encodeUsage } from './usage.ts';

export const terminator = 'data: [DONE]\n\n';

/** Fields that may come before text, or without any. */
const textlessFields = ['tool_calls', 'reasoning_content', 'reasoning_details'] as const;

/**
 * The first delta of a candidate. If no text may follow, its content is null: some clients show an empty
 * text.
 */
function openMessage({ candidate, delta }: ChoicePart): ChoicePart {
  const content = textlessFields.some((field) => field in delta) ? null : '';
  return { candidate, delta: { role: 'assistant', content, refusal: null } };
}

type Start = Extract<CanonicalEvent, { type: 'response-start' }>;

/** The fields that every reply starts with, and those that the provider added. */
export function buildHead(
  { id, created, model }: ReplyContext,
  object: string,
  start?: Start,
): Record<string, unknown> {
  return { ...bag.fields(start), id: `chatcmpl-${id}`, object, created, model };
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
        return part ? this.#open(part) + this.#chunk(part) : '';
      }
    }
  }

  /** All chunks start alike, so the start is written once. */
  #setHead(start?: Start): void {
    const head = JSON.stringify(buildHead(this.#context, 'chat.completion.chunk', start));
    this.#start = `data: ${head.slice(0, -1)},"choices":[`;
  }

  #open(part: ChoicePart): string {
    if (this.#opened.has(part.candidate)) return '';
    this.#opened.add(part.candidate);
    return this.#chunk(openMessage(part));
  }

  #chunk({ candidate, delta, logprobs, finish, native }: ChoicePart): string {
    const probabilities = logprobs ? `,"logprobs":${JSON.stringify(logprobs)}` : '';
    const reason = finish === undefined ? 'null' : `"${finish}"`;
    const nativeReason = native === undefined ? '' : `,"native_finish_reason":${JSON.stringify(native)}`;
    return `${this.#start}{"index":${candidate},"delta":${JSON.stringify(delta)}${probabilities},"finish_reason":${reason}${nativeReason}}${this.#end}`;
  }

  #encodeUsage(): string {
    if (!this.#context.call.usageWanted || !this.#usage) return '';
    return `${this.#start}],"usage":${JSON.stringify(encodeUsage(this.#usage))}}\n\n`;
  }
}

/** One frame and nothing after it: a finish reason or `[DONE]` would make a broken reply look complete. */
export function encodeStreamError(error: GatewayError): string {
  return `data: ${JSON.stringify(errorBody(error))}\n\n`;
}
