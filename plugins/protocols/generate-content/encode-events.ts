/**
 * Encodes canonical events as a client's stream of chunks: data frames, or elements of one JSON array. Only
 * the last chunk has finish reasons, so a client that receives one has the complete reply. It also has the
 * function calls.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventEncoder,
  type ReplyContext,
  type Usage,
  type EventOf,
} from '../../../core/index.ts';
import { loseForeignFields } from '../../shared/wire-kit/losses.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { buildErrorBody } from './errors.ts';
import { ReplyParts } from './reply-parts.ts';
import { encodeUsage } from './usage.ts';

/** Builds the fields that every chunk and reply ends with, including those that the vendor added. */
function buildReplyTail(
  { id, model }: ReplyContext,
  usageMetadata: Fields | undefined,
  start?: EventOf<'response-start'>,
): Fields {
  return {
    ...(usageMetadata ? { usageMetadata } : {}),
    modelVersion: model,
    ...bag.getFields(start),
    responseId: id,
  };
}

export class ChunkEncoder implements EventEncoder {
  readonly #context: ReplyContext;
  readonly #parts: ReplyParts;
  /**
   * Each candidate's function calls and what follows them, for the last chunk. Python's google-genai 1.x runs
   * only the calls that it finds there.
   */
  readonly #held = new Map<number, Fields[]>();
  #start: EventOf<'response-start'> | undefined;
  #usage: Usage = {};
  #usageMetadata: Fields | undefined;
  #tail = '';
  #begun = false;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#parts = new ReplyParts(context, true);
    this.#buildTail();
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'response-start':
        this.#start = event;
        loseForeignFields(this.#context, event, protocolName);
        this.#buildTail();
        return '';
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        this.#usageMetadata = encodeUsage(this.#usage, bag.getFields(event));
        this.#buildTail();
        return '';
      case 'response-end':
        return this.#encodeLast();
      case 'error':
        return encodeStreamError(
          new GatewayError('upstream_failed', event.message),
          this.#context.call,
          this.#begun,
        );
      default: {
        const parts = this.#parts.push(event);
        if (parts.length === 0 || !('candidate' in event)) return '';
        if (this.#hold(event.candidate, parts)) return '';
        return this.#encodeChunk([{ content: { parts, role: 'model' }, index: event.candidate }]);
      }
    }
  }

  #hold(candidate: number, parts: readonly Fields[]): boolean {
    const held = this.#held.get(candidate);
    if (held) for (const part of parts) held.push(part);
    else if (parts.some((part) => 'functionCall' in part)) this.#held.set(candidate, [...parts]);
    else return false;
    return true;
  }

  /** Builds the end of every chunk. It only changes with new facts about the reply. */
  #buildTail(): void {
    const tail = buildReplyTail(this.#context, this.#usageMetadata, this.#start);
    this.#tail = `,${JSON.stringify(tail).slice(1)}`;
  }

  #encodeChunk(candidates: readonly Fields[]): string {
    return this.#encodeFrame(`{"candidates":${JSON.stringify(candidates)}${this.#tail}`);
  }

  #encodeFrame(json: string): string {
    const before = this.#begun ? separator : opening;
    this.#begun = true;
    return this.#context.call.framing === 'array' ? before + json : encodeFrame(json);
  }

  #encodeLast(): string {
    const { endings, promptFeedback } = this.#parts;
    const candidates = [...endings].map(([index, ending]) => ({
      content: { parts: this.#held.get(index) ?? [{ text: '' }], role: 'model' },
      ...ending,
      index,
    }));
    const chunk =
      promptFeedback === undefined
        ? this.#encodeChunk(candidates)
        : this.#encodeFrame(`{"promptFeedback":${JSON.stringify(promptFeedback)}${this.#tail}`);
    return this.#context.call.framing === 'array' ? chunk + closing : chunk;
  }
}

const opening = '[';
const separator = ',\r\n';
const closing = ']';

function encodeFrame(json: string): string {
  return `data: ${json}\r\n\r\n`;
}

/** Encodes a chunk with the error, and closes an array. Without a finish reason, the reply looks broken. */
export function encodeStreamError(error: GatewayError, { framing }: ClientCall, begun: boolean): string {
  const json = JSON.stringify(buildErrorBody(error));
  if (framing !== 'array') return encodeFrame(json);
  return (begun ? separator : opening) + json + closing;
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const parts = new ReplyParts(context, false);
  const contents = new Map<number, Fields[]>();
  let usage: Usage = {};
  let usageMetadata: Fields | undefined;
  for (const event of events) {
    if (event.type === 'usage') {
      usage = { ...usage, ...event.usage };
      usageMetadata = encodeUsage(usage, bag.getFields(event));
    }
    const added = parts.push(event);
    if (!('candidate' in event)) continue;
    const content = contents.get(event.candidate) ?? [];
    contents.set(event.candidate, content);
    for (const part of added) content.push(part);
  }
  const start = events.find((event) => event.type === 'response-start');
  if (start) loseForeignFields(context, start, protocolName);
  const tail = buildReplyTail(context, usageMetadata, start);
  if (parts.promptFeedback !== undefined) return { promptFeedback: parts.promptFeedback, ...tail };
  const candidates = [...contents]
    .toSorted(([first], [second]) => first - second)
    // Clients send the content back, and Google refuses one without parts.
    .map(([index, all]) => ({
      content: { parts: all.length > 0 ? all : [{ text: '' }], role: 'model' },
      ...parts.endings.get(index),
      index,
    }));
  return { candidates, ...tail };
}
