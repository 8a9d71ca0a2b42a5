/**
 * Reads uploaded forms. koa-body writes each file to a folder of the call, from which it is read into memory.
 * The folder is removed when the call has been read; the next start removes what a crash left behind.
 */
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { createWriteStream, type WriteStream } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { koaBody } from 'koa-body';
import { GatewayError, isGatewayError } from '../errors.ts';
import { makeFolder } from '../process/data-folder.ts';
import { releaseAfter } from '../process/memory.ts';
import { toClientGoneError } from './bodies.ts';
import { FormGuard } from './form-guard.ts';
import { Form, type FormFile } from './form.ts';

type Context = Parameters<ReturnType<typeof koaBody>>[0];

const mostFields = 64;
const mostFiles = 32;
const longestName = 100;
const longestTexts = 1024 * 1024;
/** Milliseconds after which an upload is surely over: the listener waits less for a request. */
const oldest = 10 * 60_000;

/** Folders of the uploads that this process is reading. */
const running = new Set<string>();

export function isUpload(headers: IncomingHttpHeaders): boolean {
  return /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

/**
 * Reads the whole form of a request. Throws if it is larger than `limit` bytes, has too many parts, or is not
 * a form.
 */
export async function readUpload(context: Context, limit: number, folder: string): Promise<Form> {
  if (Number(context.req.headers['content-length'] ?? 0) > limit) throw toTooLargeError(limit);
  const name = `${process.pid}-${randomUUID()}`;
  const own = join(folder, name);
  running.add(name);
  try {
    makeFolder(own);
    const form = await collectForm(context, await parse(context, limit, own));
    for (const { bytes } of form.files) releaseAfter(bytes.length);
    return form;
  } finally {
    await rm(own, { recursive: true, force: true, maxRetries: 3 });
    running.delete(name);
  }
}

/**
 * Returns the paths of the files in the order of the form: koa-body lists them in the order in which they
 * were finished.
 */
async function parse(context: Context, limit: number, uploadDir: string): Promise<string[]> {
  const { koaBody: bodyParser } = await import('koa-body');
  const limits = {
    maxFields: mostFields,
    maxFiles: mostFiles,
    maxFieldsSize: longestTexts,
    maxFileSize: limit,
    maxTotalFileSize: limit,
  };
  const paths: string[] = [];
  const onFileBegin = (_: string, { filepath }: { filepath: string }): void => void paths.push(filepath);
  const written: WriteStream[] = [];
  let failed = false;
  const openWritten = (): WriteStream => {
    const stream = createWriteStream(paths.at(-1) ?? '');
    written.push(stream);
    return failed ? stream.destroy() : stream;
  };
  // The parser handles the error too and closes its files, but it starts to listen only later.
  const guard = new FormGuard(context.req.headers, limit, () => toTooLargeError(limit)).on(
    'error',
    () => undefined,
  );
  const guarded: Context = Object.create(context, { req: { value: guard } });
  try {
    const disconnected = rejectOnDisconnect(context.req);
    const parsing = bodyParser({
      json: false,
      urlencoded: false,
      text: false,
      multipart: true,
      formidable: {
        uploadDir,
        ...limits,
        allowEmptyFiles: true,
        minFileSize: 0,
        onFileBegin,
        onPart,
        fileWriteStreamHandler: openWritten,
      },
    })(guarded, async () => undefined);
    context.req.pipe(guard);
    await Promise.race([parsing, disconnected]);
    // The parser accepts a file whose last write failed.
    for (const { errored } of written) if (errored) throw errored;
    return paths;
  } catch (error) {
    const uploadError = toUploadError(error, limit);
    guard.destroy(uploadError);
    // The parser leaves open the file that it was creating when the error occurred.
    failed = true;
    for (const stream of written) stream.destroy();
    context.req.unpipe(guard).resume();
    throw uploadError;
  }
}

/** What the parser reports about a part. */
interface Part {
  readonly name: string | null;
  readonly originalFilename: string | null;
  readonly mimetype: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Decides whether a part is a file. A part with a file name is a file, and so is one whose type is bytes or a
 * picture: some SDKs know no name for what they read from a stream. Any other is a text. The parser looks at
 * the content type alone, which many clients omit for files, and some send for texts.
 * A text is read as latin1 bytes, since an unknown `content-transfer-encoding` would crash the process. Each
 * name gets a prefix, since the parser stores names in objects in which `__proto__` is special.
 */
function onPart<Read extends Part>(part: Read, read: (part: Read) => void): void {
  const { name, originalFilename, mimetype, headers } = part;
  const isFile =
    originalFilename !== null ||
    /;\s*filename\*?\s*=/i.test(headers?.['content-disposition'] ?? '') ||
    /^(application\/octet-stream|image\/)/i.test(mimetype ?? '');
  const kind = isFile
    ? { originalFilename: originalFilename ?? '', mimetype: mimetype || 'application/octet-stream' }
    : { mimetype: null, transferEncoding: 'latin1' };
  read(Object.assign(part, kind, { name: name === null ? '' : `=${name}` }));
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

/**
 * Error codes of a full or broken disk, or of a process without file descriptors. The client is not at fault.
 */
const ownFaults = new Set('ENOSPC EDQUOT EROFS EIO EACCES EPERM EMFILE ENFILE ENOMEM ENOENT'.split(' '));

function toUploadError(error: unknown, limit: number): GatewayError {
  if (isGatewayError(error)) return error;
  const facts = typeof error === 'object' && error !== null ? error : {};
  if ('httpCode' in facts && facts.httpCode === 413) return toTooLargeError(limit, error);
  const message = error instanceof Error ? error.message : '';
  if (/aborted/i.test(message)) return toClientGoneError(error);
  const fault = 'code' in facts ? String(facts.code) : '';
  if (ownFaults.has(fault))
    return new GatewayError(
      'internal',
      `The gateway could not store the upload (${fault}); send it again later.`,
      { cause: error },
    );
  return new GatewayError('invalid_request', 'The body could not be read as multipart/form-data.', {
    cause: error,
  });
}

function toTooLargeError(limit: number, cause?: unknown): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The form exceeds the limit of ${limit} bytes, ${mostFiles} files and ${mostFields} fields.`,
    { cause },
  );
}

function toArray<Value>(value: Value | Value[] | undefined): Value[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

async function collectForm({ request }: Context, paths: readonly string[]): Promise<Form> {
  const fields: [string, string][] = [];
  const files: FormFile[] = [];
  const texts: object = typeof request.body === 'object' && request.body !== null ? request.body : {};
  for (const [prefixed, value] of Object.entries(texts)) {
    const name = readName(prefixed);
    for (const text of toArray<unknown>(value)) fields.push([name, decodeText(name, String(text))]);
  }
  const parts = Object.entries(request.files ?? {}).flatMap(([prefixed, value]) =>
    toArray(value).map((file) => ({ prefixed, file })),
  );
  parts.sort((one, other) => paths.indexOf(one.file.filepath) - paths.indexOf(other.file.filepath));
  for (const { prefixed, file } of parts) {
    files.push({
      name: readName(prefixed),
      filename: file.originalFilename ?? '',
      mediaType: file.mimetype ?? 'application/octet-stream',
      bytes: await readFile(file.filepath),
    });
  }
  return new Form(fields, files);
}

function readName(prefixed: string): string {
  if (prefixed === '') throw new GatewayError('invalid_request', 'A part of the form has no name.');
  const name = prefixed.slice(1);
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

function decodeText(name: string, text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  if (isUtf8(bytes)) return bytes.toString();
  throw new GatewayError('invalid_request', `"${name}" is not UTF-8: send its text encoded as UTF-8.`, {
    param: name,
  });
}

/** Removes what ended processes left in the folder. Other gateways may be using it. */
export async function sweepUploads(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (running.has(name) || (isAlive(name) && (await computeAge(path)) < oldest)) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/**
 * True if another running process made the folder. In a container, the previous process often had the same
 * pid.
 */
function isAlive(name: string): boolean {
  const pid = Number(name.split('-')[0]);
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function computeAge(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found ? Date.now() - found.mtimeMs : Infinity;
}
