/**
 * Forms with files that are too large for memory. Their contents go to a file in the data folder that has no
 * name, so that nothing of it is left when the call or the process ends. A form that is not large stays in
 * memory. What all forms and those of one key take on the disk is limited, and the ledger keeps its room.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, unlinkSync } from 'node:fs';
import { open, statfs, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BodyBudget,
  fileMode,
  GatewayError,
  makeFolder,
  type BodySource,
  type LargeForms,
} from '../../../core/index.ts';
import { FormReader, mostBuffered, type Disk } from '../forms.ts';

/** Bytes of a form, and of all on the disk at once. A key has a quarter of these, an account a half. */
export interface FileLimits {
  readonly most: number;
  readonly together: number;
}

/** Bytes that are read at once to be sent. */
const sliceLength = 64 * 1024;
/** Bytes of the disk that are left to the ledger. */
const spare = 256 * 1024 * 1024;
const prefix = '.form-';

type Share = ReturnType<BodyBudget['openShare']>;

class UnnamedFile implements Disk {
  readonly #folder: string;
  readonly #share: Share;
  #file: FileHandle | undefined;
  #closed = false;

  constructor(folder: string, share: Share) {
    this.#folder = folder;
    this.#share = share;
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    this.#share.take(bytes.length);
    try {
      const { bavail, bsize } = await statfs(this.#folder);
      if (bavail * bsize < spare + bytes.length) throw toFullError();
      this.#file ??= await this.#open();
      for (let done = 0; done < bytes.length;)
        done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
    } catch (cause) {
      const isFull = cause instanceof Error && 'code' in cause && fullCodes.has(cause.code);
      throw isFull ? toFullError(cause) : cause;
    }
  }

  async #open(): Promise<FileHandle> {
    const path = join(this.#folder, `${prefix}${randomUUID()}`);
    const file = await open(path, 'wx+', fileMode);
    unlinkSync(path);
    // The client may have left meanwhile.
    if (this.#closed) await file.close();
    return file;
  }

  find(start: number, end: number): BodySource {
    return { length: end - start, read: () => this.#read(start, end) };
  }

  async *#read(start: number, end: number): AsyncGenerator<Uint8Array> {
    for (let at = start; at < end;) {
      const bytes = Buffer.allocUnsafe(Math.min(sliceLength, end - at));
      const read = await this.#file?.read(bytes, 0, bytes.length, at);
      if (!read?.bytesRead) throw new Error('The file of a form ends too early.');
      yield bytes.subarray(0, read.bytesRead);
      at += read.bytesRead;
    }
  }

  close(): void {
    this.#closed = true;
    this.#share.release();
    // It waits for what is being read or written.
    this.#file?.close().catch(() => undefined);
  }
}

const fullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

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
    held: mostBuffered,
    open(contentType, owner) {
      if (!isReady) prepareFolder(folder);
      isReady = true;
      return new FormReader(contentType, 0, new UnnamedFile(folder, budget.openShare(owner)));
    },
  };
}
