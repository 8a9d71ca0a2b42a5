/**
 * The secret that opens the operators' door: made on the first start, in a file that only its owner can read. There
 * is no default one, and the gateway shows where it is and never what it is.
 */
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createSecret } from '../../shared/secret.ts';

const ownerOnly = 0o600;
/** Characters below which a secret somebody wrote into the file could be guessed. */
const shortest = 32;

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** Written aside and linked into place: of two processes that start at once both read the same, and never half of it. */
function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, `${createSecret('operator')}\n`, { mode: ownerOnly, flush: true });
  try {
    linkSync(aside, file);
  } catch (error) {
    if (!isTaken(error)) throw error;
  } finally {
    rmSync(aside);
  }
}

/** Throws where the file holds nothing that could be a secret: an empty one would let everybody in. */
export function readSecret(file: string): string {
  if (!statSync(file, { throwIfNoEntry: false })) makeFile(file);
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length < shortest || /\s/.test(secret)) {
    throw new Error(`${file} has to hold a secret of at least ${shortest} characters in one word; delete the file to have one made`);
  }
  close(file);
  return secret;
}

/** Takes the file away from others' eyes. One that is mounted and cannot be changed is as its owner wants it. */
function close(file: string): void {
  if ((statSync(file).mode & 0o077) === 0) return;
  try {
    chmodSync(file, ownerOnly);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'EROFS' || error.code === 'EPERM'))) throw error;
  }
}
