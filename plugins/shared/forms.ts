/**
 * Forms, multipart/form-data: a protocol reads one from an upload, and writes one for a provider that takes
 * files. Texts and files are in order; names may repeat. koa-body's parser splits a body in memory into its
 * parts; nothing is written to disk.
 */
import { isUtf8 } from 'node:buffer';
import { hash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { koaBody } from 'koa-body';
import { GatewayError, isGatewayError } from '../../core/index.ts';

export interface FormFile {
  readonly name: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** A class and not an interface, so that no JSON from a client can pass for a form. */
export class Form {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];

  constructor(fields: Form['fields'], files: Form['files']) {
    this.fields = fields;
    this.files = files;
  }
}

/** Escapes the characters that would end a quoted name, as browsers do. */
function quoteName(name: string): string {
  return `"${name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')}"`;
}

export function createBoundary(): string {
  return `tollgate-${randomUUID()}`;
}

/** Encodes a form as multipart bytes, with the content type that names their boundary. */
export function encodeForm(
  { fields, files }: Form,
  boundary = createBoundary(),
): { readonly body: Uint8Array; readonly contentType: string } {
  const texts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name=${quoteName(name)}\r\n\r\n${value}\r\n`,
  );
  const parts = files.flatMap(({ name, filename, mediaType, bytes }) => {
    const disposition = `form-data; name=${quoteName(name)}; filename=${quoteName(filename)}`;
    const head = `--${boundary}\r\ncontent-disposition: ${disposition}\r\ncontent-type: ${mediaType}\r\n\r\n`;
    return [Buffer.from(head), bytes, Buffer.from('\r\n')];
  });
  return {
    body: Buffer.concat([Buffer.from(texts.join('')), ...parts, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

type Context = Parameters<ReturnType<typeof koaBody>>[0];

const mostFields = 64;
const mostFiles = 32;
const longestName = 100;
const longestTexts = 1024 * 1024;

/** Reads a body of multipart/form-data. Throws if it has too many parts, or is no form. */
export async function readForm(body: Buffer, contentType: string): Promise<Form> {
  const parts = await splitForm(body, contentType);
  const fields = parts
    .filter((part) => !part.isFile)
    .map((part): Form['fields'][number] => [readName(part), readText(part)]);
  if (fields.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0) > longestTexts)
    throw toTooLargeError();
  return new Form(fields, parts.filter(({ isFile }) => isFile).map(readFile));
}

interface PartHead {
  readonly name: string | null;
  readonly originalFilename: string | null;
  readonly mimetype: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Part {
  readonly head: PartHead;
  readonly isFile: boolean;
  bytes: Buffer;
}

/** Bytes that the parser reads at once, so that a large form does not hold up the event loop. */
const sliceLength = 64 * 1024;

function* cutBody(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += sliceLength) yield body.subarray(at, at + sliceLength);
}

function getType(): string {
  return 'multipart/form-data';
}

/** What the parser needs to know of a request. */
function buildContext(body: Buffer, contentType: string): Context {
  const headers = { 'content-type': contentType, 'content-length': String(body.length) };
  // The parser handles the error too, but it starts to listen only later.
  const req = Object.assign(Readable.from(cutBody(body)), { headers }).on('error', () => undefined);
  return Object.assign(Object.create(null), { req, request: {}, method: 'POST', is: getType });
}

async function splitForm(body: Buffer, contentType: string): Promise<Part[]> {
  checkHeads(body, contentType);
  const { koaBody: bodyParser } = await import('koa-body');
  const context = buildContext(body, contentType);
  const parts: Part[] = [];
  /** The contents of all parts. The parser emits any number of small pieces, which would take much memory. */
  const content = Buffer.allocUnsafe(body.length);
  let end = 0;
  const onPart = (head: PartHead & NodeJS.EventEmitter): void => {
    const start = end;
    const part = { head, isFile: isFile(head), bytes: content.subarray(start, start) };
    parts.push(part);
    if (hasTooMany(parts)) context.req.destroy(toTooLargeError());
    head.on('data', (chunk: Buffer) => {
      end += chunk.copy(content, end);
      part.bytes = content.subarray(start, end);
    });
  };
  const options = { json: false, urlencoded: false, text: false, multipart: true, formidable: { onPart } };
  try {
    await bodyParser(options)(context, async () => undefined);
    // The parser may have had the whole form by then.
    if (hasTooMany(parts)) throw toTooLargeError();
    return parts;
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw new GatewayError('invalid_request', 'The body could not be read as multipart/form-data.', {
      cause: error,
    });
  }
}

function hasTooMany(parts: readonly Part[]): boolean {
  const files = parts.filter((part) => part.isFile).length;
  return files > mostFiles || parts.length - files > mostFields;
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

function toTooLargeError(): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The form exceeds the limit of ${mostFiles} files and ${mostFields} fields with ${longestTexts} bytes.`,
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
  const { bytes } = part;
  if (isUtf8(bytes)) return bytes.toString();
  const name = readName(part);
  throw new GatewayError('invalid_request', `"${name}" is not UTF-8: send its text encoded as UTF-8.`, {
    param: name,
  });
}

function readFile(part: Part): FormFile {
  const { head, bytes } = part;
  // Requests are compared as JSON, in which bytes as they are would be many times as long.
  Object.defineProperty(bytes, 'toJSON', { value: () => hash('sha256', bytes) });
  return {
    name: readName(part),
    filename: head.originalFilename ?? '',
    mediaType: head.mimetype || 'application/octet-stream',
    bytes,
  };
}

const longestHead = 4096;
const endOfHead = Buffer.from('\r\n\r\n');

/**
 * Checks the heads of a form's parts before its parser sees them: it would keep a head however long it is,
 * and its patterns take quadratic time. Counts more bytes as a head than the parser does, never fewer.
 */
function checkHeads(body: Buffer, contentType: string): void {
  // The same pattern as in the parser.
  const [, quoted, plain = ''] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType) ?? [];
  const delimiter = Buffer.from(`--${quoted ?? plain}`);
  for (let at = body.indexOf(delimiter); at >= 0;) {
    const from = at + delimiter.length;
    const rest = body.subarray(from, from + longestHead + endOfHead.length);
    const length = rest.indexOf(endOfHead);
    if (length < 0 && rest.length > longestHead)
      throw new GatewayError(
        'invalid_request',
        'A part of the form has a name of more than 100 characters, ' +
          `or a head of more than ${longestHead} bytes.`,
      );
    at = length < 0 ? -1 : body.indexOf(delimiter, from + length + endOfHead.length);
  }
}
