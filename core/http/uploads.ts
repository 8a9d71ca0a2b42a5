/** Reads uploaded forms into memory. koa-body's parser splits them into parts; nothing is written to disk. */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import type { koaBody } from 'koa-body';
import { Chunks } from '../util/chunks.ts';
import { GatewayError, isGatewayError } from '../util/errors.ts';
import { releaseAfter } from '../util/memory.ts';
import { toClientGoneError } from './bodies.ts';
import { Form, type FormFile } from './form.ts';

type Context = Parameters<ReturnType<typeof koaBody>>[0];

const mostFields = 64;
const mostFiles = 32;
const longestName = 100;
const longestTexts = 1024 * 1024;

export function isUpload(headers: IncomingHttpHeaders): boolean {
  return /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

/**
 * Reads the whole form of a request. Throws if it is larger than `limit` bytes, has too many parts, or is not
 * a form.
 */
export async function readUpload(context: Context, limit: number): Promise<Form> {
  if (Number(context.req.headers['content-length'] ?? 0) > limit) throw toTooLargeError(limit);
  const parts = await splitForm(context, limit);
  const fields = parts
    .filter((part) => !part.isFile)
    .map((part): Form['fields'][number] => [readName(part), readText(part)]);
  if (fields.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0) > longestTexts)
    throw toTooLargeError(limit);
  const files = parts.filter(({ isFile }) => isFile).map(readFile);
  return new Form(fields, files);
}

/** What the parser reports about a part. */
interface PartHead {
  readonly name: string | null;
  readonly originalFilename: string | null;
  readonly mimetype: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Part {
  readonly head: PartHead;
  readonly isFile: boolean;
  readonly chunks: Chunks<Buffer>;
}

async function splitForm(context: Context, limit: number): Promise<Part[]> {
  const { koaBody: bodyParser } = await import('koa-body');
  // The parser handles the error too, but it starts to listen only later.
  const guard = new FormGuard(context.req.headers, limit, () => toTooLargeError(limit)).on(
    'error',
    () => undefined,
  );
  const parts: Part[] = [];
  const onPart = (head: PartHead & NodeJS.EventEmitter): void => {
    const chunks = new Chunks<Buffer>();
    parts.push({ head, isFile: isFile(head), chunks });
    const files = parts.filter((part) => part.isFile).length;
    if (files > mostFiles || parts.length - files > mostFields) guard.destroy(toTooLargeError(limit));
    head.on('data', (chunk: Buffer) => chunks.push(chunk));
  };
  const guarded: Context = Object.create(context, { req: { value: guard } });
  try {
    const parsing = bodyParser({
      json: false,
      urlencoded: false,
      text: false,
      multipart: true,
      formidable: { onPart },
    })(guarded, async () => undefined);
    context.req.pipe(guard);
    await Promise.race([parsing, rejectOnDisconnect(context.req)]);
    return parts;
  } catch (error) {
    const uploadError = toUploadError(error);
    guard.destroy(uploadError);
    context.req.unpipe(guard).resume();
    throw uploadError;
  }
}

/**
 * Whether a part is a file: it has a file name, or its type is bytes or a picture, since some SDKs know no
 * name for what they read from a stream. The parser looks at the content type alone, which many clients omit
 * for files, and some send for texts.
 */
function isFile({ originalFilename, mimetype, headers }: PartHead): boolean {
  return (
    originalFilename !== null ||
    /;\s*filename\*?\s*=/i.test(headers?.['content-disposition'] ?? '') ||
    /^(application\/octet-stream|image\/)/i.test(mimetype ?? '')
  );
}

/**
 * Rejects when the client disconnects before its request is read. The parser listens too late, and only to
 * the socket: it would wait forever for a client that has disconnected by then.
 */
function rejectOnDisconnect(request: IncomingMessage): Promise<never> {
  return new Promise((_, reject) => {
    const disconnect = (): void => {
      if (!request.readableEnded) reject(toClientGoneError());
    };
    if (request.destroyed) disconnect();
    else request.once('close', disconnect);
  });
}

function toUploadError(error: unknown): GatewayError {
  if (isGatewayError(error)) return error;
  return new GatewayError('invalid_request', 'The body could not be read as multipart/form-data.', {
    cause: error,
  });
}

function toTooLargeError(limit: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The form exceeds the limit of ${limit} bytes, ${mostFiles} files and ${mostFields} fields.`,
  );
}

function readName({ head: { name } }: Part): string {
  if (name === null) throw new GatewayError('invalid_request', 'A part of the form has no name.');
  // As the field of an object it would be lost.
  if (name === '__proto__')
    throw new GatewayError('invalid_request', 'A form cannot have a field "__proto__"; leave it out.', {
      param: name,
    });
  if (name.length <= longestName) return name;
  throw new GatewayError(
    'invalid_request',
    `A part of the form has a name of more than ${longestName} characters.`,
  );
}

function readText(part: Part): string {
  const bytes = part.chunks.join();
  if (isUtf8(bytes)) return bytes.toString();
  const name = readName(part);
  throw new GatewayError('invalid_request', `"${name}" is not UTF-8: send its text encoded as UTF-8.`, {
    param: name,
  });
}

function readFile(part: Part): FormFile {
  const { originalFilename, mimetype } = part.head;
  const bytes = part.chunks.join();
  releaseAfter(bytes.length);
  return {
    name: readName(part),
    filename: originalFilename ?? '',
    mediaType: mimetype || 'application/octet-stream',
    bytes,
  };
}

const longestHead = 4096;
const endOfHead = Buffer.from('\r\n\r\n');

/**
 * Checks a form before its parser sees it. The parser would keep the head of a part however long it is, and
 * its patterns take quadratic time.
 */
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
