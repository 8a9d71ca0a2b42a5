/**
 * Splits server-sent events into blocks and parses them, and writes frames. A block is everything up to its
 * blank line, unchanged. The verbatim lane forwards the block and reads the event.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { WireEvent } from '../protocol.ts';
import { GatewayError } from '../util/errors.ts';
import { detach } from '../util/text.ts';

export interface SseBlock {
  readonly raw: string;
  /** Undefined for a block without an event: a comment or blank lines. */
  readonly event: WireEvent | undefined;
}

/** Two line ends in a row, each LF, CR or CRLF (WHATWG HTML standard). */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g;
const longestBlankLine = 4;
/** A line that is neither blank nor a comment. */
const field = /^[^:\s]/m;
const [nameStart, dataStart] = ['event: ', 'data: '];
/** Up to this length the pending text is scanned again with each chunk; beyond it only around the seam. */
const shortPending = 4096;
/** Characters of one event at most. It may contain a whole picture in base64. */
export const longestBlock = 64 * 1024 * 1024;

export class SseReader {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #messages: EventSourceMessage[] = [];
  readonly #parser = createParser({ onEvent: (message) => void this.#messages.push(message) });
  #pending = '';
  /** The end of the pending text. To slice the whole would copy a long line with each chunk. */
  #seam = '';
  /** Whether a carriage return has been seen. Most providers send none, and LF alone is found faster. */
  #returns = false;

  get waiting(): number {
    return this.#pending.length;
  }

  /** Takes bytes cut anywhere and returns the blocks they complete. Throws on an endless line. */
  push(chunk: Uint8Array): SseBlock[] {
    const more = this.#decoder.decode(chunk, { stream: true });
    this.#returns ||= more.includes('\r');
    if (this.#pending.length > shortPending && this.#findBlankLineEnd(this.#seam + more, 0) < 0)
      return this.#wait(more);
    const scanned = Math.max(0, this.#pending.length - longestBlankLine);
    const text = this.#pending + more;
    const blocks: SseBlock[] = [];
    let from = 0;
    for (let end = this.#findBlankLineEnd(text, scanned); end >= 0; end = this.#findBlankLineEnd(text, end)) {
      blocks.push(this.#read(text.slice(from, end)));
      from = end;
    }
    this.#pending = '';
    this.#seam = '';
    return this.#wait(from === 0 ? text : detach(text.slice(from)), blocks);
  }

  /** The end of the first blank line after `from`; negative if there is none. */
  #findBlankLineEnd(text: string, from: number): number {
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

  /** Ends the stream. Returns the last block if its blank line is missing, closed. */
  end(): SseBlock[] {
    const rest = this.#pending + this.#decoder.decode();
    this.#pending = '';
    this.#seam = '';
    if (rest === '') return [];
    return [rest.trim() ? this.#read(`${rest}\n\n`) : { raw: rest, event: undefined }];
  }

  #read(raw: string): SseBlock {
    // Most blocks are one line of data, perhaps named, for which the parser takes several times as long.
    const at = raw.startsWith(nameStart) ? raw.indexOf('\n') + 1 : 0;
    if (!this.#returns && raw.startsWith(dataStart, at) && raw.indexOf('\n', at) === raw.length - 2) {
      const data = raw.slice(at + dataStart.length, -2);
      const event = at > 0 ? raw.slice(nameStart.length, at - 1) : undefined;
      if (data.trim() !== '' && event !== '') return { raw, event: { event, data } };
    }
    this.#parser.feed(raw);
    const message = this.#messages.pop();
    // Clients fail to parse an event without data, so it is dropped, unless it is an error.
    if (!message) return { raw: field.test(raw) ? '' : raw, event: undefined };
    if (message.event !== 'error' && message.data.trim() === '') return { raw: '', event: undefined };
    return { raw, event: { event: message.event, data: message.data } };
  }
}

/** Writes an event as a frame: its data on one line, after its name if it has one. */
export function writeFrame(data: string, event?: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}
