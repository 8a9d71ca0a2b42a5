/**
 * Checks a form before its parser sees it. The parser would keep the head of a part however long it is, and
 * its patterns take quadratic time.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { GatewayError } from '../util/errors.ts';

const longestHead = 4096;
const endOfHead = Buffer.from('\r\n\r\n');

export class FormGuard extends Transform {
  /** The parser expects a request, with headers. */
  readonly headers: IncomingHttpHeaders;
  readonly #limit: number;
  readonly #toTooLargeError: () => GatewayError;
  readonly #delimiter: Buffer;
  #length = 0;
  /** The end of the last chunk, which may be the beginning of a delimiter. */
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes seen of the current part head; undefined between heads. */
  #head: number | undefined;

  constructor(headers: IncomingHttpHeaders, limit: number, toTooLargeError: () => GatewayError) {
    super();
    this.headers = headers;
    this.#limit = limit;
    this.#toTooLargeError = toTooLargeError;
    // The same pattern as in the parser.
    const [, quoted, plain = ''] =
      /boundary=(?:"([^"]+)"|([^;]+))/i.exec(headers['content-type'] ?? '') ?? [];
    this.#delimiter = Buffer.from(`--${quoted ?? plain}`);
  }

  override _transform(bytes: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#length += bytes.length;
    if (this.#length > this.#limit) return done(this.#toTooLargeError());
    if (this.#hasLongHead(bytes))
      return done(
        new GatewayError(
          'invalid_request',
          'A part of the form has a name of more than 100 characters, ' +
            `or a head of more than ${longestHead} bytes.`,
        ),
      );
    done(null, bytes);
  }

  /** Counts more bytes as a head than the parser does, never fewer. */
  #hasLongHead(piece: Buffer): boolean {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece;
    for (let at = 0; ;) {
      const sought = this.#head === undefined ? this.#delimiter : endOfHead;
      const found = bytes.indexOf(sought, at);
      const end = found === -1 ? Math.max(at, bytes.length - sought.length + 1) : found;
      if (this.#head !== undefined) this.#head += end - at;
      if (this.#head !== undefined && this.#head > longestHead) return true;
      if (found === -1) {
        this.#rest = bytes.subarray(end);
        return false;
      }
      at = found + sought.length;
      this.#head = this.#head === undefined ? 0 : undefined;
    }
  }
}
