/**
 * Canonical events as a client's stream of chunks: one with the role first, then deltas, one with the finish reason
 * for each candidate, the usage where it was asked for, and `[DONE]`.
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

/** What there may be before any text, or without one. */
const textless = ['tool_calls', 'reasoning_content', 'reasoning_details'] as const;

/** How a candidate's message begins: with no text rather than an empty one, which some clients show, where there may be none to come. */
function opening({ candidate, delta }: ChoicePart): ChoicePart {
  return {
    candidate,
    delta: {
      role: 'assistant',
      content: textless.some((field) => field in delta) ? null : '',
      refusal: null,
    },
  };
}

type Start = Extract<CanonicalEvent, { type: 'response-start' }>;

/** What every reply of this wire says of itself, with what its vendor added. */
export function replyHead(
  { id, created, model }: ReplyContext,
  object: string,
  start?: Start,
): Record<string, unknown> {
  return { ...bag.fields(start), id: `chatcmpl-${id}`, object, created, model };
}

export class ChunkEncoder implements EventEncoder {
  readonly #context: ReplyContext;
  readonly #parts: ChoiceParts;
  readonly #begun = new Set<number>();
  readonly #end: string;
  #start = '';
  #usage: Usage | undefined;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#parts = new ChoiceParts(context);
    this.#end = context.call.usageWanted ? '],"usage":null}\n\n' : ']}\n\n';
    this.#head();
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'response-start':
        this.#head(event);
        this.#parts.push(event);
        return '';
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        return '';
      case 'response-end':
        return this.#usageChunk() + terminator;
      case 'error':
        return encodeStreamError(new GatewayError('upstream_failed', event.message));
      default: {
        const part = this.#parts.push(event);
        return part ? this.#begin(part) + this.#chunk(part) : '';
      }
    }
  }

  /** The beginning of every chunk is the same: it is written once. */
  #head(start?: Start): void {
    const head = JSON.stringify(replyHead(this.#context, 'chat.completion.chunk', start));
    this.#start = `data: ${head.slice(0, -1)},"choices":[`;
  }

  #begin(part: ChoicePart): string {
    if (this.#begun.has(part.candidate)) return '';
    this.#begun.add(part.candidate);
    return this.#chunk(opening(part));
  }

  #chunk({ candidate, delta, logprobs, finish, native }: ChoicePart): string {
    const probabilities = logprobs ? `,"logprobs":${JSON.stringify(logprobs)}` : '';
    const reason = finish === undefined ? 'null' : `"${finish}"`;
    const told = native === undefined ? '' : `,"native_finish_reason":${JSON.stringify(native)}`;
    return `${this.#start}{"index":${candidate},"delta":${JSON.stringify(delta)}${probabilities},"finish_reason":${reason}${told}}${this.#end}`;
  }

  #usageChunk(): string {
    if (!this.#context.call.usageWanted || !this.#usage) return '';
    return `${this.#start}],"usage":${JSON.stringify(encodeUsage(this.#usage))}}\n\n`;
  }
}

/** One frame, and nothing behind it: no finish reason and no `[DONE]` may make a broken reply look whole. */
export function encodeStreamError(error: GatewayError): string {
  return `data: ${JSON.stringify(errorBody(error))}\n\n`;
}
