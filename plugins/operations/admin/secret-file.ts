/**
 * The secret of the admin listener. It is made on the first start, in a file that only its owner can read.
 * There is no default secret, and the gateway shows where the file is but never what is in it.
 */
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileMode, folderMode, tighten } from '../../../core/index.ts';
import { createSecret } from '../../shared/secret.ts';

/** The least characters of a secret that somebody wrote into the file: a shorter one could be guessed. */
const shortest = 32;

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/**
 * Written to another file and then linked into place. So two processes that start at once read the same
 * secret, and never a part of it.
 */
function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: folderMode });
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, `${createSecret('operator')}\n`, { mode: fileMode, flush: true });
  try {
    linkSync(aside, file);
  } catch (error) {
    if (!isTaken(error)) throw error;
  } finally {
    rmSync(aside);
  }
}

/** Throws if the file holds no usable secret: an empty one would admit everybody. */
export function readSecret(file: string): string {
  if (!statSync(file, { throwIfNoEntry: false })) makeFile(file);
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length < shortest || /\s/.test(secret)) {
    throw new Error(
      `${file} has to hold a secret of at least ${shortest} characters in one word; delete the file to have one made`,
    );
  }
  tighten(file);
  return secret;
}
