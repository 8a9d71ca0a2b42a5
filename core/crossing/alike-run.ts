/**
 * Takes runs of events that differ from the one before only in their piece of text, as bytes. Most of a
 * stream is such events. To make strings and objects of each would cost more than all else done for it.
 */
import type { AlikeEvent } from '../protocol.ts';
import type { SseBlock, SseReader } from './sse.ts';

const [quote, backslash, firstPrintable] = [34, 92, 32];

/** What follows the padding of an event. */
const paddingEnd = Buffer.from('"}\n\n');

export class AlikeRun {
  readonly event: AlikeEvent;
  /** The bytes before and after the text of an event. */
  readonly #before: Buffer;
  readonly #after: Buffer;
  /** What the client is sent instead of `#before`; undefined: only the texts are taken. */
  readonly #sent: Buffer | undefined;
  /** Where the text ends of the event found last. */
  #textEnd = 0;
  /** Bytes of text in the events taken last. */
  textBytes = 0;

  private constructor(before: string, sent: string | undefined, event: AlikeEvent) {
    this.event = event;
    this.#before = Buffer.from(before);
    this.#sent = sent === undefined ? undefined : Buffer.from(sent);
    this.#after = Buffer.from(event.padded ? event.after : `${event.after}\n\n`);
  }

  /**
   * The run that may follow a block; undefined if its bytes do not identify the next event. If the block was
   * forwarded as `written`, the run takes whole events, otherwise their texts alone.
   */
  static startAfter(raw: string, data: string, event: AlikeEvent, written?: string): AlikeRun | undefined {
    const offset = raw.indexOf(data);
    const before = raw.slice(0, offset + event.before.length);
    const rest = raw.slice(before.length);
    if (offset < 0 || !raw.endsWith(`${data}\n\n`) || written?.endsWith(rest) === false) return undefined;
    return new AlikeRun(before, written?.slice(0, written.length - rest.length), event);
  }

  /** Takes the events of this run at a place in a chunk. Returns where they end, and their bytes. */
  take(chunk: Buffer, start: number): { readonly end: number; readonly bytes: Buffer } | undefined {
    const before = this.#before.length;
    const sent = this.#sent;
    this.textBytes = 0;
    let end = start;
    let bytes: Buffer | undefined;
    let length = 0;
    for (let next = this.#findEventEnd(chunk, start); next > 0; next = this.#findEventEnd(chunk, next)) {
      // No more of these events fit into the chunk than this.
      const most = Math.floor((chunk.length - start) / (before + this.#after.length));
      bytes ??= Buffer.allocUnsafe(chunk.length - start + most * Math.max(0, (sent?.length ?? 0) - before));
      if (sent) length += sent.copy(bytes, length);
      length += chunk.copy(bytes, length, end + before, sent ? next : this.#textEnd);
      end = next;
    }
    // Usually one event fills them.
    return bytes && { end, bytes: length === bytes.length ? bytes : bytes.subarray(0, length) };
  }

  /** Where the event at `start` ends; 0 if it is not of this run, or not all there. */
  #findEventEnd(chunk: Buffer, start: number): number {
    const text = start + this.#before.length;
    if (text >= chunk.length || chunk.compare(this.#before, 0, this.#before.length, start, text) !== 0)
      return 0;
    const textEnd = findPlainEnd(chunk, text);
    const after = textEnd + this.#after.length;
    if (textEnd === text || !isAt(chunk, this.#after, textEnd)) return 0;
    const end = this.event.padded ? findPaddedEnd(chunk, after) : after;
    if (end > 0) this.textBytes += textEnd - text;
    this.#textEnd = textEnd;
    return end;
  }
}

/** Events at the start of a stream after each of which a run may begin. Few streams begin theirs later. */
const mostSingle = 16;

/** Bytes of a cut event that are held back at most. */
const longestCut = 8 * 1024;

/** Says how much of a chunk to read as blocks before a run may begin in it, or go on. */
export class RunSeeker {
  readonly #reader: SseReader;
  #single = 0;
  #cut: Buffer | undefined;

  constructor(reader: SseReader) {
    this.#reader = reader;
  }

  /** A chunk, after the start of its first event if that was held back. */
  join(chunk: Uint8Array): Buffer {
    const bytes = this.#cut ? Buffer.concat([this.#cut, chunk]) : toBuffer(chunk);
    this.#cut = undefined;
    return bytes;
  }

  /**
   * Holds back the rest of a chunk if it is a short event without its end, so that the run takes all of it.
   */
  hold(chunk: Buffer, start: number): boolean {
    const rest = chunk.subarray(start);
    const isCut = rest.length <= longestCut && !rest.includes('\n\n') && !rest.includes('\r');
    if (isCut) this.#cut = rest;
    return isCut;
  }

  /** The last block, if its end is missing. */
  end(): SseBlock[] {
    if (this.#cut) this.#reader.push(this.#cut);
    return this.#reader.end();
  }

  /**
   * The end of the event at `start`, where a run can go on after an event that was cut; or else of the chunk.
   */
  findBlocksEnd(chunk: Buffer, start: number, run: AlikeRun | undefined): number {
    const isSingle = run ? this.#reader.waiting > 0 : this.#single < mostSingle;
    if (!isSingle) return chunk.length;
    this.#single += 1;
    const blankLine = chunk.indexOf('\n\n', start);
    return blankLine < 0 ? chunk.length : blankLine + 2;
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function findPaddedEnd(chunk: Buffer, from: number): number {
  const at = findPlainEnd(chunk, from);
  return isAt(chunk, paddingEnd, at) ? at + paddingEnd.length : 0;
}

/** Where a JSON string without escapes ends. */
function findPlainEnd(chunk: Buffer, from: number): number {
  let at = from;
  for (; at < chunk.length; at += 1) {
    const byte = chunk[at] ?? quote;
    if (byte === quote || byte === backslash || byte < firstPrintable) break;
  }
  return at;
}

function isAt(chunk: Buffer, wanted: Buffer, at: number): boolean {
  // Short, so that a loop takes less time than a call of `compare`.
  for (let index = 0; index < wanted.length; index += 1)
    if (chunk[at + index] !== wanted[index]) return false;
  return true;
}
