/**
 * Bytes of a server-sent event stream to whole blocks and back. A block is everything up to its blank line, as
 * the vendor wrote it, beside the event it holds: the verbatim lane sends the one on and reads the other.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { GatewayError } from '../errors.ts';
import type { WireEvent } from '../protocol.ts';
import { detached } from '../util/detached.ts';

export interface SseBlock {
  readonly raw: string;
  /** Undefined for a block that holds no event: a comment, or blank lines. */
  readonly event: WireEvent | undefined;
}

/** Two line ends in a row, each of them LF, CR or CRLF as the standard has it. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g;
const longestBlankLine = 4;
/** What is pending is looked through again with each chunk up to this length, and beyond it only where they meet. */
const shortPending = 4096;
/** One event may hold a whole image in base64; what is longer is no event. */
export const longestBlock = 64 * 1024 * 1024;

export class SseReader {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #messages: EventSourceMessage[] = [];
  readonly #parser = createParser({ onEvent: (message) => void this.#messages.push(message) });
  #pending = '';
  /** The end of what is pending: asking the whole for it would copy a long line again with each of its chunks. */
  #seam = '';
  /** Whether there was a carriage return: most vendors send none, and their blank lines are quickly found. */
  #returns = false;

  /** Characters that wait for the end of their event. */
  get waiting(): number {
    return this.#pending.length;
  }

  /** Passed bytes as they arrive, cut anywhere; answers the blocks that are whole now. Throws on an endless line. */
  push(chunk: Uint8Array): SseBlock[] {
    const more = this.#decoder.decode(chunk, { stream: true });
    this.#returns ||= more.includes('\r');
    if (this.#pending.length > shortPending && this.#blankLineEnd(this.#seam + more, 0) < 0)
      return this.#wait(more);
    const scanned = Math.max(0, this.#pending.length - longestBlankLine);
    const text = this.#pending + more;
    const blocks: SseBlock[] = [];
    let from = 0;
    for (let end = this.#blankLineEnd(text, scanned); end >= 0; end = this.#blankLineEnd(text, end)) {
      blocks.push(this.#read(text.slice(from, end)));
      from = end;
    }
    this.#pending = '';
    this.#seam = '';
    return this.#wait(from === 0 ? text : detached(text.slice(from)), blocks);
  }

  /** Where the first blank line from there on ends; below zero where there is none. */
  #blankLineEnd(text: string, from: number): number {
    if (!this.#returns) {
      const at = text.indexOf('\n\n', from);
      return at < 0 ? at : at + 2;
    }
    blankLine.lastIndex = from;
    return blankLine.test(text) ? blankLine.lastIndex : -1;
  }

  #wait(more: string, blocks: SseBlock[] = []): SseBlock[] {
    this.#pending += more;
    this.#seam = (this.#seam + more.slice(-longestBlankLine)).slice(-longestBlankLine);
    if (this.#pending.length > longestBlock)
      throw new GatewayError(
        'upstream_failed',
        'The provider sent an event longer than the gateway accepts.',
      );
    return blocks;
  }

  /** The stream ended: the block whose blank line is missing, if there is one, closed. */
  end(): SseBlock[] {
    const rest = this.#pending + this.#decoder.decode();
    this.#pending = '';
    this.#seam = '';
    if (rest === '') return [];
    return [rest.trim() ? this.#read(`${rest}\n\n`) : { raw: rest, event: undefined }];
  }

  #read(raw: string): SseBlock {
    this.#parser.feed(raw);
    const message = this.#messages.pop();
    if (!message) return { raw, event: undefined };
    // An event without data holds nothing, and clients fail to parse it. An error is one all the same.
    if (message.event !== 'error' && message.data.trim() === '') return { raw: '', event: undefined };
    return { raw, event: { event: message.event, data: message.data } };
  }
}

/** One event as a frame: its data on one line, its name before it where it has one. */
export function frame(data: string, event?: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}
