/**
 * Forms, multipart/form-data: a protocol reads one from an upload, and writes one for a provider that takes
 * files. Texts and files are in order; names may repeat. koa-body's parser splits a body into its parts as it
 * arrives; where the contents of files go is the caller's choice.
 */
import { isUtf8 } from 'node:buffer';
import { createHash, hash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { koaBody } from 'koa-body';
import { GatewayError, isGatewayError, type BodySource, type FormReading } from '../../core/index.ts';

export interface FormFile {
  readonly name: string;
  readonly filename: string;
  readonly mediaType: string;
  /** Not in memory if its wire takes large files. */
  readonly bytes: Uint8Array | BodySource;
}

/** The bytes of a file, for a wire that needs all of them at once. */
export function requireBytes({ name, bytes }: FormFile): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes;
  throw new GatewayError(
    'body_too_large',
    `"${name}" has ${bytes.length} bytes, more than this model takes; send a smaller file.`,
    { param: name },
  );
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

type Segment = FormFile['bytes'];

async function* readSegments(segments: readonly Segment[]): AsyncGenerator<Uint8Array> {
  for (const each of segments) {
    if (each instanceof Uint8Array) yield each;
    else yield* each.read();
  }
}

/** All of it in memory, unless a file is not. */
function joinSegments(segments: readonly Segment[]): Segment {
  const inMemory = segments.filter((each) => each instanceof Uint8Array);
  if (inMemory.length === segments.length) return Buffer.concat(inMemory);
  const length = segments.reduce((sum, each) => sum + each.length, 0);
  return { length, read: () => readSegments(segments) };
}

/** Encodes a form as multipart bytes, with the content type that names their boundary. */
export function encodeForm(
  { fields, files }: Form,
  boundary = createBoundary(),
): { readonly body: Segment; readonly contentType: string } {
  const texts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name=${quoteName(name)}\r\n\r\n${value}\r\n`,
  );
  const parts = files.flatMap(({ name, filename, mediaType, bytes }): Segment[] => {
    const disposition = `form-data; name=${quoteName(name)}; filename=${quoteName(filename)}`;
    const head = `--${boundary}\r\ncontent-disposition: ${disposition}\r\ncontent-type: ${mediaType}\r\n\r\n`;
    return [Buffer.from(head), bytes, Buffer.from('\r\n')];
  });
  return {
    body: joinSegments([Buffer.from(texts.join('')), ...parts, Buffer.from(`--${boundary}--\r\n`)]),
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
  const reader = new FormReader(contentType, body.length);
  for (let at = 0; at < body.length; at += sliceLength) {
    await reader.write(body.subarray(at, at + sliceLength));
    await nextTurn();
  }
  return reader.end();
}

/** Takes what is too much for memory. */
export interface Disk {
  write(bytes: Uint8Array, at: number): Promise<void>;
  find(start: number, end: number): BodySource;
  close(): void;
}

/** Bytes in memory above which contents go to the disk, and those of a buffer on the way there. */
const mostInMemory = 1024 * 1024;
const bufferLength = 1.25 * mostInMemory;
/** One buffer is filled while another is written. The rest is on its way through the parser. */
export const mostBuffered = 3 * mostInMemory;

/**
 * The contents of parts, one behind the other, in one buffer: the parser emits any number of small pieces,
 * which would take much memory.
 */
class Contents {
  readonly #disk: Disk | undefined;
  #bytes: Buffer;
  #used = 0;
  #onDisk = 0;
  #spare: Buffer | undefined;

  constructor(size: number, disk?: Disk) {
    this.#bytes = Buffer.allocUnsafe(size);
    this.#disk = disk;
  }

  get length(): number {
    return this.#onDisk + this.#used;
  }

  /** Begins a part, of which `add` keeps copies. It is read when the form is complete. */
  open() {
    const digest = this.#disk && createHash('sha256');
    const start = this.length;
    let end = start;
    return {
      add: (piece: Uint8Array): void => {
        this.#makeRoom(piece.length);
        this.#bytes.set(piece, this.#used);
        this.#used += piece.length;
        end = this.length;
        digest?.update(piece);
      },
      read: (): FormFile['bytes'] => {
        const isKept = this.#disk && this.#onDisk > 0;
        const bytes = isKept ? this.#disk.find(start, end) : this.#bytes.subarray(start, end);
        // Requests are compared as JSON, in which bytes as they are would be many times as long.
        const toJSON = (): string =>
          digest?.copy().digest('hex') ?? hash('sha256', this.#bytes.subarray(start, end));
        return Object.defineProperty(bytes, 'toJSON', { value: toJSON });
      },
    };
  }

  #makeRoom(bytes: number): void {
    const needed = this.#used + bytes;
    if (needed <= this.#bytes.length) return;
    const more = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * needed, bufferLength)));
    more.set(this.#bytes.subarray(0, this.#used));
    this.#bytes = more;
  }

  /** Makes room in memory. `isEnd`: what is on the disk is complete after it. */
  async flush(isEnd = false): Promise<void> {
    if (!this.#disk || this.#used <= (isEnd && this.#onDisk > 0 ? 0 : mostInMemory)) return;
    const [buffer, length, at] = [this.#bytes, this.#used, this.#onDisk];
    // The parser may add more meanwhile.
    [this.#bytes, this.#used] = [this.#spare ?? Buffer.allocUnsafe(bufferLength), 0];
    this.#onDisk += length;
    await this.#disk.write(buffer.subarray(0, length), at);
    this.#spare = buffer;
  }

  close(): void {
    this.#disk?.close();
  }
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
  readonly content: ReturnType<Contents['open']>;
}

/** Bytes that the parser reads at once, so that a large form does not hold up the event loop. */
const sliceLength = 64 * 1024;

function getType(): string {
  return 'multipart/form-data';
}

/** Reads a form piece by piece. Each piece is parsed before the next is taken. */
export class FormReader implements FormReading {
  readonly #contents: Contents;
  readonly #heads: HeadCheck;
  readonly #parts: Part[] = [];
  readonly #texts = new Contents(0);
  #wanted = Promise.withResolvers<void>();
  #failure: unknown;
  // The parser handles errors too, but it starts to listen only later.
  readonly #body = new Readable({ read: () => this.#wanted.resolve() }).on('error', () => undefined);
  readonly #parsing: Promise<void>;

  constructor(contentType: string, size: number, disk?: Disk) {
    this.#contents = new Contents(size, disk);
    this.#heads = new HeadCheck(contentType);
    this.#parsing = this.#parse(contentType);
    this.#parsing.catch((error: unknown) => {
      this.#failure = error;
      this.#wanted.resolve();
    });
  }

  async write(piece: Buffer): Promise<void> {
    this.#heads.check(piece);
    if (this.#failure === undefined) {
      this.#wanted = Promise.withResolvers();
      this.#body.push(piece);
      await this.#wanted.promise;
    }
    if (this.#failure !== undefined) throw this.#failure;
    await this.#contents.flush();
  }

  async end(): Promise<Form> {
    this.#body.push(null);
    await this.#parsing;
    // The parser may have had the whole form by then.
    if (this.#hasTooMuch()) throw toTooLargeError();
    await this.#contents.flush(true);
    const texts = this.#parts.filter(({ isFile }) => !isFile);
    return new Form(
      texts.map((part) => [readName(part), readText(part)]),
      this.#parts.filter(({ isFile }) => isFile).map(readFile),
    );
  }

  close(): void {
    this.#contents.close();
  }

  async #parse(contentType: string): Promise<void> {
    const { koaBody: bodyParser } = await import('koa-body');
    const headers = { 'content-type': contentType, 'transfer-encoding': 'chunked' };
    const req = Object.assign(this.#body, { headers });
    const context: Context = Object.assign(Object.create(null), {
      req,
      request: {},
      method: 'POST',
      is: getType,
    });
    const onPart = (head: PartHead & NodeJS.EventEmitter): void => this.#takePart(head);
    const options = { json: false, urlencoded: false, text: false, multipart: true, formidable: { onPart } };
    try {
      await bodyParser(options)(context, async () => undefined);
    } catch (error) {
      if (isGatewayError(error)) throw error;
      throw new GatewayError('invalid_request', 'The body could not be read as multipart/form-data.', {
        cause: error,
      });
    }
  }

  #takePart(head: PartHead & NodeJS.EventEmitter): void {
    const isFile = isFileHead(head);
    const content = (isFile ? this.#contents : this.#texts).open();
    this.#parts.push({ head, isFile, content });
    const check = (): void => {
      if (this.#hasTooMuch()) this.#body.destroy(toTooLargeError());
    };
    check();
    head.on('data', (piece: Buffer) => {
      content.add(piece);
      if (!isFile) check();
    });
  }

  #hasTooMuch(): boolean {
    const files = this.#parts.filter(({ isFile }) => isFile).length;
    return files > mostFiles || this.#parts.length - files > mostFields || this.#texts.length > longestTexts;
  }
}

/**
 * Whether a part is a file: it has a file name, or its type is bytes or a picture, since some SDKs know no
 * name for what they read from a stream. The parser looks at the content type alone, which many clients omit
 * for files, and some send for texts.
 */
function isFileHead({ originalFilename, mimetype, headers }: PartHead): boolean {
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
  const bytes = part.content.read();
  if (bytes instanceof Uint8Array && isUtf8(bytes)) return Buffer.from(bytes).toString();
  const name = readName(part);
  throw new GatewayError('invalid_request', `"${name}" is not UTF-8: send its text encoded as UTF-8.`, {
    param: name,
  });
}

function readFile(part: Part): FormFile {
  const { originalFilename, mimetype } = part.head;
  return {
    name: readName(part),
    filename: originalFilename ?? '',
    mediaType: mimetype || 'application/octet-stream',
    bytes: part.content.read(),
  };
}

const longestHead = 4096;
const endOfHead = Buffer.from('\r\n\r\n');

/**
 * Checks the heads of a form's parts before its parser sees them: it would keep a head however long it is,
 * and its patterns take quadratic time. Counts more bytes as a head than the parser does, never fewer.
 */
class HeadCheck {
  readonly #delimiter: Buffer;
  /** The end of what was seen, which may begin a delimiter or a head. */
  #seen: Buffer = Buffer.alloc(0);

  constructor(contentType: string) {
    // The same pattern as in the parser.
    const [, quoted, plain = ''] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType) ?? [];
    this.#delimiter = Buffer.from(`--${quoted ?? plain}`);
  }

  check(piece: Buffer): void {
    const bytes = Buffer.concat([this.#seen, piece]);
    let from = 0;
    for (let at; (at = bytes.indexOf(this.#delimiter, from)) >= 0;) {
      const start = at + this.#delimiter.length;
      const head = bytes.subarray(start, start + longestHead + endOfHead.length);
      const length = head.indexOf(endOfHead);
      if (length < 0 && head.length > longestHead)
        throw new GatewayError(
          'invalid_request',
          'A part of the form has a name of more than 100 characters, ' +
            `or a head of more than ${longestHead} bytes.`,
        );
      if (length < 0) return void (this.#seen = bytes.subarray(at));
      from = start + length + endOfHead.length;
    }
    this.#seen = bytes.subarray(Math.max(from, bytes.length - this.#delimiter.length + 1));
  }
}
