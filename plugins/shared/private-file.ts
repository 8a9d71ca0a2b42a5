/** Files with secrets that plugins make on the first start, readable by their owner only. */
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileMode, makeFolder, restrictAccess } from '../../core/index.ts';

/**
 * Written to another file and then linked into place. So two processes that start at once read the same
 * secret, and never a part of it.
 */
function makeFile(file: string, text: string): void {
  makeFolder(dirname(file));
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, `${text}\n`, { mode: fileMode, flush: true });
  try {
    linkSync(aside, file);
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (!isTaken) throw error;
  } finally {
    rmSync(aside);
  }
}

/** The text of a file, which is made with `create` if it is missing. Throws what `fault` finds in it. */
export function readPrivateFile(
  file: string,
  create: () => string,
  fault: (text: string) => string | undefined,
): string {
  if (!statSync(file, { throwIfNoEntry: false })) makeFile(file, create());
  const text = readFileSync(file, 'utf8').trim();
  const found = fault(text);
  if (found !== undefined) throw new Error(`${file} ${found}; delete the file to have one made`);
  restrictAccess(file);
  return text;
}
