/**
 * Decodes a provider's reply to canonical events: a stream event by event, or a JSON reply like the stream
 * that would have produced it. Verbatim streams pass through here too, to be metered.
 */
import {
  GatewayError,
  parseExactly,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type WireEvent,
} from '../../../core/index.ts';
import { parseJson, unreadableEvent } from '../../shared/wire-kit/event-data.ts';
import { readFinish, readWord } from '../../shared/wire-kit/finish-reason.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { containsNumber, hasLongNumber } from '../../shared/wire-kit/tool-arguments.ts';
import { readList, readMember, readText } from '../../shared/wire-kit/values.ts';
import { isObject, splitNames, pickStated, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { isError } from '../../shared/wire-kit/vendor-error.ts';
import { bag } from './bag.ts';
import { readStreamError } from './errors.ts';
import { decodeFinish } from './finish.ts';
import { OpenBlocks } from './open-blocks.ts';
import { decodeUsage, mergeUsage, readLifetime } from './usage.ts';

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #blocks: OpenBlocks;
  readonly #log = new ReplyLog();
  #usage: Fields = {};
  #lifetime: '5m' | '1h' | undefined;
  /** The stop reason of a message that has already stopped in `message_start`. */
  #stopped: Fields | undefined;
  #started = false;
  /** Whether an unreadable event was skipped. */
  #hasGap = false;
  #finished = false;
  #over = false;

  constructor(call: ClientCall) {
    this.#call = call;
    this.#blocks = new OpenBlocks(call, this.#log);
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#over) this.#take(parseJson(wire.data), wire);
    return this.#log.take();
  }

  end(): CanonicalEvent[] {
    this.#over = true;
    return this.#log.take();
  }

  /** Decodes a message that is not streamed. Throws `upstream_failed` if the body is not a message. */
  decodeWhole(body: unknown, text = ''): CanonicalEvent[] {
    if (isObject(body) && isError(body)) {
      this.#fail(body);
      return this.#log.take();
    }
    const content: unknown = isObject(body) ? body.content : undefined;
    if (!isObject(body) || !Array.isArray(content))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is not a message.');
    this.#start(body);
    this.#addBlocks(readExactly(content, text));
    const { stop_reason: reason, stop_sequence, stop_details = null } = body;
    // Some relays omit the reason of a complete reply.
    this.#finish({
      stop_reason: readWord(reason) ?? 'end_turn',
      stop_sequence,
      stop_details,
    });
    this.#stop();
    return this.#log.take();
  }

  #take(event: unknown, wire: WireEvent): void {
    if (!isObject(event)) return this.#skip(wire);
    const { index, delta, usage, message, content_block: block } = event;
    switch (event.type) {
      case 'content_block_delta':
        return isObject(delta) ? this.#addDelta(index, delta) : undefined;
      case 'message_start':
        return isObject(message) ? this.#startStream(message) : undefined;
      case 'content_block_start':
        return isObject(block) ? this.#startBlock(index, block) : undefined;
      case 'content_block_stop':
        return this.#blocks.end(index);
      case 'message_delta':
        if (isObject(usage)) this.#readUsage(usage);
        return isObject(delta) ? this.#finish(delta) : undefined;
      case 'message_stop':
        return this.#stop();
      case 'ping':
        return void this.#log.emit({ type: 'ping' });
      default:
        return isError(event, wire.event) ? this.#fail(event) : undefined;
    }
  }

  /** After a programmatic tool call, `message_start` may already hold content and a stop reason. */
  #startStream(message: Fields): void {
    if (this.#started) return;
    const { content, stop_reason, stop_sequence, stop_details = null } = message;
    if (hasStopped(message)) this.#stopped = { stop_reason, stop_sequence, stop_details };
    this.#start(omitOutput(message));
    if (Array.isArray(content)) this.#addBlocks(content.filter((block) => !isEmptyText(block)));
  }

  #start(message: Fields): void {
    if (this.#started) return;
    this.#started = true;
    const { id, model, usage } = message;
    this.#blocks.replyId = readText(id);
    this.#log.begin(id, model, undefined, bag.keep(pickStated(message, messageFields)));
    if (isObject(usage)) this.#readUsage(usage);
  }

  #startBlock(index: unknown, block: Fields): void {
    this.#start({});
    this.#blocks.start(index, block);
  }

  #addBlocks(content: readonly unknown[]): void {
    for (const [index, block] of content.filter(isObject).entries()) this.#blocks.addWhole(index, block);
  }

  #addDelta(index: unknown, delta: Fields): void {
    // The skipped event may have opened this block.
    if (!this.#blocks.add(index, delta) && this.#hasGap) this.#fail({ error: unreadableEvent });
  }

  /** Skips an unreadable event, but fails if it may have held arguments of a call. */
  #skip(wire: WireEvent): void {
    this.#hasGap = !this.#blocks.hasCall && this.#log.skip(wire);
    if (!this.#hasGap) this.#fail({ error: unreadableEvent });
  }

  #readUsage(usage: Fields): void {
    this.#usage = mergeUsage(this.#usage, usage);
    this.#lifetime ??= readLifetime(this.#call, usage);
    const counted = decodeUsage(this.#usage, this.#lifetime);
    if (!counted) return;
    const { speed, inference_geo } = this.#usage;
    const mode = readServedMode({ speed, inference_geo }, this.#call);
    this.#log.emit({ type: 'usage', usage: { ...counted, ...mode } });
  }

  #finish(delta: Fields): void {
    const { stop_reason: reason, stop_sequence: stopSequence } = delta;
    const raw = readWord(reason);
    if (raw === undefined || this.#finished) return;
    // Clients run a call when it ends, so the calls of a failed reply do not end.
    if (readFinish(raw) === 'error') return this.#fail({ error: `it ended with "${raw}".` });
    this.#blocks.endAll();
    const unified = decodeFinish(raw, { any: this.#blocks.calls > 0, cut: this.#log.isCut(0) });
    this.#finished = true;
    this.#log.emit({
      type: 'finish',
      candidate: 0,
      reason: { unified, raw },
      ...(typeof stopSequence === 'string' ? { stopSequence } : {}),
      // In a stream, this delta holds the container of code execution.
      ...bag.keep(pickStated(delta, finishFields)),
    });
  }

  #stop(): void {
    if (this.#stopped) this.#finish(this.#stopped);
    this.#over = true;
    if (!this.#finished) return;
    this.#blocks.endAll();
    this.#log.emit({ type: 'response-end' });
  }

  #fail(event: Fields): void {
    if (this.#over) return;
    this.#over = true;
    this.#log.emit(readStreamError(event));
  }
}

/** Content with the digits that the model wrote in the input of tools, if a double cannot hold them. */
function readExactly(content: readonly unknown[], text: string): readonly unknown[] {
  const counts = content.some((block) => containsNumber(readMember(block, 'input')));
  return counts && hasLongNumber(text) ? readList(readMember(parseExactly(text), 'content')) : content;
}

const finishFields = splitNames('stop_reason stop_sequence');
/** Fields of a message that have a canonical name, or that other canonical events carry. */
const messageFields = splitNames('id type role model content stop_reason stop_sequence stop_details usage');

/** Whether a message has a stop reason. Some relays send an empty one before the message has stopped. */
function hasStopped({ stop_reason: reason }: Fields): boolean {
  return typeof reason === 'string' && reason !== '';
}

/**
 * Removes the output tokens of a stream's start, a placeholder of one or two tokens. If the end reports no
 * tokens, they would become the charge. The figures of a message that has already stopped are final.
 */
function omitOutput({ usage, ...message }: Fields): Fields {
  if (!isObject(usage)) return message;
  if (hasStopped(message)) return { ...message, usage };
  const { output_tokens: _, ...figures } = usage;
  return { ...message, usage: figures };
}

/** Some relays start a message with an empty text block, and then send the block's own events. */
function isEmptyText(block: unknown): boolean {
  return isObject(block) && block.type === 'text' && (block.text === '' || block.text === undefined);
}
