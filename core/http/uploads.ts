/**
 * Reads uploaded forms. koa-body's parser splits a body in memory into its parts; nothing is written to disk.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { koaBody } from 'koa-body';
import { Chunks } from '../util/chunks.ts';
import { GatewayError, isGatewayError } from '../util/errors.ts';
import { releaseAfter } from '../util/memory.ts';
import { Form, type FormFile } from './form.ts';
import type { ReadBody } from './json-body.ts';

type Context = Parameters<ReturnType<typeof koaBody>>[0];

const mostFields = 64;
const mostFiles = 32;
const longestName = 100;
const longestTexts = 1024 * 1024;

export function isUpload(headers: IncomingHttpHeaders): boolean {
  return /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

/** Parses the body of a form. Throws if it has too many parts, or is no form. */
export async function parseForm(context: Context, body: Buffer): Promise<ReadBody> {
  const parts = await splitForm(context, body);
  const fields = parts
    .filter((part) => !part.isFile)
    .map((part): Form['fields'][number] => [readName(part), readText(part)]);
  if (fields.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0) > longestTexts)
    throw toTooLargeError();
  const files = parts.filter(({ isFile }) => isFile).map(readFile);
  const text = JSON.stringify(fields);
  return { bytes: Buffer.from(text), text, value: new Form(fields, files) };
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
  readonly chunks: Chunks<Buffer>;
}

/** Bytes that the parser reads at once, so that a large form does not hold up the event loop. */
const sliceLength = 64 * 1024;

function* cutBody(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += sliceLength) yield body.subarray(at, at + sliceLength);
}

async function splitForm(context: Context, body: Buffer): Promise<Part[]> {
  const { headers } = context.req;
  checkHeads(body, headers);
  const { koaBody: bodyParser } = await import('koa-body');
  // The parser expects a request, with headers. It handles the error too, but it starts to listen only later.
  const request = Object.assign(Readable.from(cutBody(body)), { headers }).on('error', () => undefined);
  const parts: Part[] = [];
  const onPart = (head: PartHead & NodeJS.EventEmitter): void => {
    const chunks = new Chunks<Buffer>();
    parts.push({ head, isFile: isFile(head), chunks });
    head.on('data', (chunk: Buffer) => chunks.push(chunk));
    if (hasTooMany(parts)) request.destroy(toTooLargeError());
  };
  const own: Context = Object.create(context, { req: { value: request } });
  const options = { json: false, urlencoded: false, text: false, multipart: true, formidable: { onPart } };
  try {
    await bodyParser(options)(own, async () => undefined);
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
 * Checks the heads of a form's parts before its parser sees them: it would keep a head however long it is,
 * and its patterns take quadratic time. Counts more bytes as a head than the parser does, never fewer.
 */
function checkHeads(body: Buffer, headers: IncomingHttpHeaders): void {
  // The same pattern as in the parser.
  const [, quoted, plain = ''] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(headers['content-type'] ?? '') ?? [];
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
