/**
 * Reads what clients upload. koa-body writes each file to a folder of the call's own, from which it is taken into
 * memory; the folder goes with the call, however that ends, and what a crash left behind goes at the next start.
 */
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { koaBody } from 'koa-body';
import { GatewayError, isGatewayError } from '../errors.ts';
import { folderMode } from '../process/data-folder.ts';
import { releaseAfter } from '../process/memory.ts';
import { clientGone } from './bodies.ts';
import { FormGuard } from './form-guard.ts';
import { Form, type FormFile } from './form.ts';

type Context = Parameters<ReturnType<typeof koaBody>>[0];

const mostFields = 64;
const mostFiles = 32;
const longestName = 100;
const longestTexts = 1024 * 1024;
/** Milliseconds after which an upload is over in any case: the listener waits for no request that long. */
const oldest = 10 * 60_000;

/** Folders of calls that are being read by this process. */
const running = new Set<string>();

export function isUpload(headers: IncomingHttpHeaders): boolean {
  return /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

/** The whole form of a request. Throws where it is larger than `limit` bytes, has too many parts, or is no form. */
export async function readUpload(context: Context, limit: number, folder: string): Promise<Form> {
  if (Number(context.req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const name = `${process.pid}-${randomUUID()}`;
  const own = join(folder, name);
  running.add(name);
  try {
    await mkdir(own, { recursive: true, mode: folderMode });
    const form = await collect(context, await parse(context, limit, own));
    for (const { bytes } of form.files) releaseAfter(bytes.length);
    return form;
  } finally {
    await rm(own, { recursive: true, force: true, maxRetries: 3 });
    running.delete(name);
  }
}

/** Answers where the files were written, in the order in which they stand in the form: koa-body has them in that in which they were done. */
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
  const fileWriteStreamHandler = (): WriteStream => {
    const stream = createWriteStream(paths.at(-1) ?? '');
    written.push(stream);
    return failed ? stream.destroy() : stream;
  };
  // The parser hears of an error as well, and lets go of its files; not before it listens.
  const guard = new FormGuard(context.req.headers, limit, () => tooLarge(limit)).on('error', () => undefined);
  const guarded: Context = Object.create(context, { req: { value: guard } });
  try {
    const left = departure(context.req);
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
        fileWriteStreamHandler,
      },
    })(guarded, async () => undefined);
    context.req.pipe(guard);
    await Promise.race([parsing, left]);
    // The parser takes a file whose last write failed for a whole one.
    for (const { errored } of written) if (errored) throw errored;
    return paths;
  } catch (error) {
    const told = refusal(error, limit);
    guard.destroy(told);
    // The parser leaves a file open that it began as it heard of the error, or begins soon after.
    failed = true;
    for (const stream of written) stream.destroy();
    context.req.unpipe(guard).resume();
    throw told;
  }
}

/** What the parser knows of a part. */
interface Part {
  readonly name: string | null;
  readonly originalFilename: string | null;
  readonly mimetype: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A part is a file where it has a file's name, and else a text. The parser goes by the type alone, which many clients
 * leave out of a file and some state of a text. A text comes as its bytes: by the encoding that a client states the
 * parser would take it for another, or end the process where Node knows no such encoding. Names are marked, since the
 * parser keeps them where `__proto__` is no name.
 */
function onPart<Read extends Part>(part: Read, read: (part: Read) => void): void {
  const { name, originalFilename, mimetype, headers } = part;
  const isFile =
    originalFilename !== null || /;\s*filename\*?\s*=/i.test(headers?.['content-disposition'] ?? '');
  const kind = isFile
    ? { originalFilename: originalFilename ?? '', mimetype: mimetype || 'application/octet-stream' }
    : { mimetype: null, transferEncoding: 'latin1' };
  read(Object.assign(part, kind, { name: name === null ? '' : `=${name}` }));
}

/** Rejects when the client leaves before its request is read. The parser listens too late, and to the socket alone: it would wait for ever for one who has left by then. */
function departure(request: IncomingMessage): Promise<never> {
  return new Promise((_, reject) => {
    const leave = (): void => {
      if (!request.readableEnded) reject(clientGone());
    };
    if (request.destroyed) leave();
    else request.once('close', leave);
  });
}

/** Codes of a disk that is full or broken, and of a process out of descriptors: no fault of the client's. */
const ownFaults = new Set([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EIO',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOENT',
]);

function refusal(error: unknown, limit: number): GatewayError {
  if (isGatewayError(error)) return error;
  const told = typeof error === 'object' && error !== null ? error : {};
  if ('httpCode' in told && told.httpCode === 413) return tooLarge(limit, error);
  const message = error instanceof Error ? error.message : '';
  if (/aborted/i.test(message)) return clientGone(error);
  const fault = 'code' in told ? String(told.code) : '';
  if (ownFaults.has(fault))
    return new GatewayError(
      'internal',
      `The gateway could not store the upload (${fault}); it may be sent again later.`,
      { cause: error },
    );
  return new GatewayError('invalid_request', 'The body could not be read as multipart/form-data.', {
    cause: error,
  });
}

function tooLarge(limit: number, cause?: unknown): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The form is larger than this gateway accepts: ${limit} bytes in ${mostFiles} files and ${mostFields} fields at most.`,
    { cause },
  );
}

function listed<Value>(value: Value | Value[] | undefined): Value[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

async function collect({ request }: Context, paths: readonly string[]): Promise<Form> {
  const fields: [string, string][] = [];
  const files: FormFile[] = [];
  const texts: object = typeof request.body === 'object' && request.body !== null ? request.body : {};
  for (const [mark, value] of Object.entries(texts)) {
    const name = nameOf(mark);
    for (const text of listed<unknown>(value)) fields.push([name, decoded(name, String(text))]);
  }
  const parts = Object.entries(request.files ?? {}).flatMap(([mark, value]) =>
    listed(value).map((file) => ({ mark, file })),
  );
  for (const {
    mark,
    file: { filepath, originalFilename, mimetype },
  } of parts.toSorted(
    (one, other) => paths.indexOf(one.file.filepath) - paths.indexOf(other.file.filepath),
  )) {
    files.push({
      name: nameOf(mark),
      filename: originalFilename ?? '',
      mediaType: mimetype ?? 'application/octet-stream',
      bytes: await readFile(filepath),
    });
  }
  return new Form(fields, files);
}

function nameOf(mark: string): string {
  if (mark === '') throw new GatewayError('invalid_request', 'A part of the form has no name.');
  const name = mark.slice(1);
  // It would be lost as the field of an object.
  if (name === '__proto__')
    throw new GatewayError('invalid_request', '"__proto__" is no field of a form: leave it out.', {
      param: name,
    });
  if (name.length <= longestName) return name;
  throw new GatewayError(
    'invalid_request',
    `A part of the form has a name of more than ${longestName} characters.`,
  );
}

function decoded(name: string, text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  if (isUtf8(bytes)) return bytes.toString();
  throw new GatewayError('invalid_request', `"${name}" is not UTF-8: send its text encoded as UTF-8.`, {
    param: name,
  });
}

/** Removes what processes that are gone left in the folder; other gateways may be using it. */
export async function sweepUploads(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (running.has(name) || (isAlive(name) && (await ageOf(path)) < oldest)) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** Whether another process that runs now made this; in a container the one before this had the same number. */
function isAlive(name: string): boolean {
  const pid = Number(name.split('-')[0]);
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function ageOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found ? Date.now() - found.mtimeMs : Infinity;
}
