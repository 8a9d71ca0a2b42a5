/**
 * Forwards runs of events that differ from the one before only in their piece of text, as bytes. Most of a
 * stream is such events. To make strings and objects of each would cost more than all else done for it.
 */
/** An event that only added text to an open block: its JSON before and after the text. */
export interface AlikeEvent {
  readonly before: string;
  readonly after: string;
  /** Whether a string of padding follows `after`, and ends the event. */
  readonly padded: boolean;
}

const [quote, backslash, firstPrintable] = [34, 92, 32];

/** What follows the padding of an event. */
const paddingEnd = Buffer.from('"}\n\n');

export class AlikeRun {
  /** The bytes around the text of an event, from the provider and for the client. */
  readonly #before: Buffer;
  readonly #sent: Buffer;
  readonly #after: Buffer;
  readonly #padded: boolean;
  /** Bytes of text in the events taken last. */
  textBytes = 0;

  private constructor(before: string, sent: string, after: string, padded: boolean) {
    this.#before = Buffer.from(before);
    this.#sent = Buffer.from(sent);
    this.#after = Buffer.from(after);
    this.#padded = padded;
  }

  /** The run that may follow a block, forwarded as `written`; undefined if its bytes identify no event. */
  static after(raw: string, data: string, written: string, event: AlikeEvent): AlikeRun | undefined {
    const offset = raw.indexOf(data);
    const before = raw.slice(0, offset + event.before.length);
    const rest = raw.slice(before.length);
    if (offset < 0 || !raw.endsWith(`${data}\n\n`) || !written.endsWith(rest)) return undefined;
    const sent = written.slice(0, written.length - rest.length);
    return new AlikeRun(before, sent, event.padded ? event.after : `${event.after}\n\n`, event.padded);
  }

  /** Takes the events of this run from the start of a chunk. Returns how far they reach and what to send. */
  take(chunk: Buffer): { readonly end: number; readonly bytes: Buffer } | undefined {
    const [before, sent] = [this.#before, this.#sent];
    this.textBytes = 0;
    let end = 0;
    let bytes: Buffer | undefined;
    let length = 0;
    for (let next = this.#eventEnd(chunk, 0); next > 0; next = this.#eventEnd(chunk, next)) {
      // No more of these events fit into the chunk than this.
      const most = Math.ceil(chunk.length / (before.length + this.#after.length));
      bytes ??= Buffer.allocUnsafe(chunk.length + most * Math.max(0, sent.length - before.length));
      length += sent.copy(bytes, length);
      length += chunk.copy(bytes, length, end + before.length, next);
      end = next;
    }
    return bytes && { end, bytes: bytes.subarray(0, length) };
  }

  /** Where the event at `start` ends; 0 if it is not of this run, or not all there. */
  #eventEnd(chunk: Buffer, start: number): number {
    const text = start + this.#before.length;
    if (text >= chunk.length || chunk.compare(this.#before, 0, this.#before.length, start, text) !== 0)
      return 0;
    const textEnd = plainEnd(chunk, text);
    const after = textEnd + this.#after.length;
    if (textEnd === text || !isAt(chunk, this.#after, textEnd)) return 0;
    const end = this.#padded ? paddedEnd(chunk, after) : after;
    if (end > 0) this.textBytes += textEnd - text;
    return end;
  }
}

function paddedEnd(chunk: Buffer, from: number): number {
  const at = plainEnd(chunk, from);
  return isAt(chunk, paddingEnd, at) ? at + paddingEnd.length : 0;
}

/** Where a JSON string without escapes ends. */
function plainEnd(chunk: Buffer, from: number): number {
  let at = from;
  for (; at < chunk.length; at += 1) {
    const byte = chunk[at] ?? quote;
    if (byte === quote || byte === backslash || byte < firstPrintable) break;
  }
  return at;
}

function isAt(chunk: Buffer, wanted: Buffer, at: number): boolean {
  const end = at + wanted.length;
  return end <= chunk.length && chunk.compare(wanted, 0, wanted.length, at, end) === 0;
}
