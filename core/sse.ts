/**
 * Bytes of a server-sent event stream to whole blocks and back. A block is everything up to its blank line, as
 * the vendor wrote it, beside the event it holds: the verbatim lane sends the one on and reads the other.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { GatewayError } from './errors.ts';
import type { WireEvent } from './protocol.ts';

export interface SseBlock {
  readonly raw: string;
  /** Undefined for a block that holds no event: a comment, or blank lines. */
  readonly event: WireEvent | undefined;
}

/** Two line ends in a row, each of them LF, CR or CRLF as the standard has it. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g;
const longestBlankLine = 4;
/** One event may hold a whole image in base64; what is longer is no event. */
const longestBlock = 64 * 1024 * 1024;

export class SseReader {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #messages: EventSourceMessage[] = [];
  readonly #parser = createParser({ onEvent: (message) => void this.#messages.push(message) });
  #pending = '';
  /** The end of what is pending: asking the whole for it would copy a long line again with each of its chunks. */
  #seam = '';

  /** Passed bytes as they arrive, cut anywhere; answers the blocks that are whole now. Throws on an endless line. */
  push(chunk: Uint8Array): SseBlock[] {
    const more = this.#decoder.decode(chunk, { stream: true });
    const seam = this.#seam + more;
    blankLine.lastIndex = 0;
    if (!blankLine.test(seam)) return this.#wait(more, seam);
    const scanned = Math.max(0, this.#pending.length - longestBlankLine);
    const text = this.#pending + more;
    const blocks: SseBlock[] = [];
    let from = 0;
    blankLine.lastIndex = scanned;
    for (let match = blankLine.exec(text); match; match = blankLine.exec(text)) {
      blocks.push(this.#read(text.slice(from, blankLine.lastIndex)));
      from = blankLine.lastIndex;
    }
    this.#pending = '';
    const rest = text.slice(from);
    return this.#wait(rest, rest, blocks);
  }

  #wait(more: string, seam: string, blocks: SseBlock[] = []): SseBlock[] {
    this.#pending += more;
    this.#seam = seam.slice(-longestBlankLine);
    if (this.#pending.length > longestBlock) throw new GatewayError('upstream_failed', 'The provider sent an event longer than the gateway accepts.');
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
    return { raw, event: message && { event: message.event, data: message.data } };
  }
}

/** One event as a frame: its data on one line, its name before it where it has one. */
export function frame(data: string, event?: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}
