/**
 * Canonical events as a client's stream of chunks: frames of nothing but data, or elements of one JSON array. Why the
 * candidates ended is told in the last chunk alone, which is the reply's last word.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventEncoder,
  type ReplyContext,
  type Usage,
} from '../../../core/index.ts';
import { loseForeignStart } from '../../shared/wire-kit/losses.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { errorBody } from './errors.ts';
import { ReplyParts } from './reply-parts.ts';
import { encodeUsage } from './usage.ts';

/** What every reply of this wire says of itself, with what its vendor added. */
export function replyTail(
  { id, model }: ReplyContext,
  usageMetadata: Fields | undefined,
  start?: Extract<CanonicalEvent, { type: 'response-start' }>,
): Fields {
  return {
    ...(usageMetadata ? { usageMetadata } : {}),
    modelVersion: model,
    ...bag.fields(start),
    responseId: id,
  };
}

export function hidesThoughts({ call }: ReplyContext): boolean {
  return call.decode().reasoning?.display === 'none';
}

export class ChunkEncoder implements EventEncoder {
  readonly #context: ReplyContext;
  readonly #parts: ReplyParts;
  #start: Extract<CanonicalEvent, { type: 'response-start' }> | undefined;
  #usage: Usage = {};
  #usageMetadata: Fields | undefined;
  #tail = '';
  #begun = false;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#parts = new ReplyParts({
      streamed: true,
      hidesThoughts: hidesThoughts(context),
      lost: context.lost,
    });
    this.#close();
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'response-start':
        this.#start = event;
        loseForeignStart(this.#context, event, protocolName);
        this.#close();
        return '';
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        this.#usageMetadata = encodeUsage(this.#usage, bag.fields(event));
        this.#close();
        return '';
      case 'response-end':
        return this.#last();
      case 'error':
        return encodeStreamError(
          new GatewayError('upstream_failed', event.message),
          this.#context.call,
          this.#begun,
        );
      default: {
        const parts = this.#parts.push(event);
        if (parts.length === 0 || !('candidate' in event)) return '';
        return this.#chunk([{ content: { parts, role: 'model' }, index: event.candidate }]);
      }
    }
  }

  /** The end of every chunk is the same until more is known of the reply. */
  #close(): void {
    this.#tail = `,${JSON.stringify(replyTail(this.#context, this.#usageMetadata, this.#start)).slice(1)}`;
  }

  #chunk(candidates: readonly Fields[]): string {
    return this.#frame(`{"candidates":${JSON.stringify(candidates)}${this.#tail}`);
  }

  #frame(json: string): string {
    const before = this.#begun ? separator : opening;
    this.#begun = true;
    return this.#context.call.framing === 'array' ? before + json : dataFrame(json);
  }

  #last(): string {
    const { endings, promptFeedback } = this.#parts;
    const candidates = [...endings].map(([index, ending]) => ({
      content: { parts: [{ text: '' }], role: 'model' },
      ...ending,
      index,
    }));
    const chunk =
      promptFeedback === undefined
        ? this.#chunk(candidates)
        : this.#frame(`{"promptFeedback":${JSON.stringify(promptFeedback)}${this.#tail}`);
    return this.#context.call.framing === 'array' ? chunk + closing : chunk;
  }
}

const opening = '[';
const separator = ',\r\n';
const closing = ']';

function dataFrame(json: string): string {
  return `data: ${json}\r\n\r\n`;
}

/** One chunk that holds the error, and the end of the array where there is one: no reason to stop looks whole. */
export function encodeStreamError(error: GatewayError, { framing }: ClientCall, begun: boolean): string {
  const json = JSON.stringify(errorBody(error));
  return framing === 'array' ? (begun ? separator : opening) + json + closing : dataFrame(json);
}
