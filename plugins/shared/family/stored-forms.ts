/**
 * Forms with files that are too large for memory. Their contents go to a file in the data folder that has no
 * name, so that nothing of it is left when the call or the process ends. A form that is not large stays in
 * memory. What all forms and those of one key take on the disk is limited, and the ledger keeps its room.
 */
import { createHash, randomUUID, type Hash } from 'node:crypto';
import { readdirSync, rmSync, unlinkSync } from 'node:fs';
import { open, statfs, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BodyBudget,
  fileMode,
  GatewayError,
  isGatewayError,
  makeFolder,
  type BodySource,
  type LargeForms,
} from '../../../core/index.ts';
import { FormReader, hideBytes, type Contents, type FormFile } from '../forms.ts';

/** Bytes of a form, and of all on the disk at once. A key has a quarter of these, an account a half. */
export interface FileLimits {
  readonly most: number;
  readonly together: number;
}

/** Bytes of a form above which it goes to the disk, and those of a buffer on the way. */
const large = 1024 * 1024;
const bufferLength = large + 256 * 1024;
/** One buffer is filled while the other is written. The rest is on its way through the parser. */
const held = 3 * large;
/** Bytes that are read at once to be sent. */
const sliceLength = 64 * 1024;
/** Bytes of the disk that are left to the ledger. */
const spare = 256 * 1024 * 1024;
const prefix = '.form-';

type Share = ReturnType<BodyBudget['openShare']>;

/** A part of the file, which is read when it is sent. */
class StoredFile implements BodySource {
  readonly #file: FileHandle;
  readonly #start: number;
  readonly #digest: string;
  readonly length: number;

  constructor(file: FileHandle, [start, end]: readonly [number, number], digest: string) {
    this.#file = file;
    this.#start = start;
    this.#digest = digest;
    this.length = end - start;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < this.length;) {
      const bytes = Buffer.allocUnsafe(Math.min(sliceLength, this.length - at));
      const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, this.#start + at);
      if (bytesRead === 0) throw new Error('The file of a form ends too early.');
      yield bytes.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  /** Requests are compared as JSON, and files in memory by the same digest. */
  toJSON(): string {
    return this.#digest;
  }
}

class StoredContents implements Contents {
  readonly #folder: string;
  readonly #share: Share;
  #file: FileHandle | undefined;
  /** What is not in the file yet. */
  #bytes: Buffer = Buffer.allocUnsafe(sliceLength);
  #used = 0;
  /** What was written to the file last. */
  #spare: Buffer | undefined;
  /** Bytes in the file. */
  #written = 0;
  #closed = false;

  constructor(folder: string, share: Share) {
    this.#folder = folder;
    this.#share = share;
  }

  open(): ReturnType<Contents['open']> {
    const start = this.#written + this.#used;
    const hash = createHash('sha256');
    let end = start;
    return {
      add: (piece) => {
        this.#add(piece);
        hash.update(piece);
        end += piece.length;
      },
      read: () => this.#read(start, end, hash),
    };
  }

  #read(start: number, end: number, hash: Hash): FormFile['bytes'] {
    return this.#file
      ? new StoredFile(this.#file, [start, end], hash.digest('hex'))
      : hideBytes(this.#bytes.subarray(start, end));
  }

  #add(piece: Uint8Array): void {
    const used = this.#used + piece.length;
    if (used > this.#bytes.length) {
      const more = Buffer.allocUnsafe(Math.max(used, Math.min(2 * used, bufferLength)));
      more.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = more;
    }
    this.#bytes.set(piece, this.#used);
    this.#used = used;
  }

  flush(isEnd = false): Promise<void> | undefined {
    return this.#used > large || (isEnd && this.#file && this.#used > 0) ? this.#write() : undefined;
  }

  async #write(): Promise<void> {
    // The parser may add more meanwhile.
    const [whole, at] = [this.#bytes, this.#written];
    const bytes = whole.subarray(0, this.#used);
    this.#written += bytes.length;
    [this.#bytes, this.#used] = [this.#spare ?? Buffer.allocUnsafe(bufferLength), 0];
    this.#share.take(bytes.length);
    try {
      const { bavail, bsize } = await statfs(this.#folder);
      if (bavail * bsize < spare + bytes.length) throw toFullError();
      this.#file ??= await this.#openFile();
      for (let done = 0; done < bytes.length;)
        done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
    } catch (cause) {
      throw toDiskError(cause);
    }
    this.#spare = whole;
  }

  async #openFile(): Promise<FileHandle> {
    const path = join(this.#folder, `${prefix}${randomUUID()}`);
    const file = await open(path, 'wx+', fileMode);
    unlinkSync(path);
    // The client may have left meanwhile.
    if (this.#closed) await file.close();
    return file;
  }

  close(): void {
    this.#closed = true;
    this.#share.release();
    // It waits for what is being read or written.
    this.#file?.close().catch(() => undefined);
  }
}

const fullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

function toDiskError(cause: unknown): GatewayError {
  if (isGatewayError(cause)) return cause;
  if (cause instanceof Error && 'code' in cause && fullCodes.has(cause.code)) return toFullError(cause);
  return new GatewayError('internal', 'The gateway could not write the form to its disk.', { cause });
}

function toFullError(cause?: unknown): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway has no room on its disk for a form of this size; try again later, or send a smaller one.',
    { cause, retryAfter: 60 },
  );
}

/** Removes the names that a process left that was killed as it opened a file. */
function prepareFolder(folder: string): void {
  makeFolder(folder);
  for (const name of readdirSync(folder)) {
    if (name.startsWith(prefix)) rmSync(join(folder, name), { force: true });
  }
}

export function storeForms(folder: string, { most, together }: FileLimits): LargeForms {
  let isReady = false;
  const budget = new BodyBudget({ bodyLimit: most, bodiesLimit: together, bodyRate: 0 });
  return {
    most,
    held,
    open(contentType, owner) {
      if (!isReady) prepareFolder(folder);
      isReady = true;
      const contents = new StoredContents(folder, budget.openShare(owner));
      const reader = new FormReader(contentType, contents);
      return {
        write: (chunk) => reader.write(chunk),
        end: () => reader.end(),
        close: () => contents.close(),
      };
    },
  };
}
