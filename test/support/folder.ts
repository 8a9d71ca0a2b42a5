/**
 * Folders for tests, removed when their test file ends. `TEST_FOLDER` names the folder they are made in; the
 * configuration of `npm test` chooses memory, because every commit of a ledger on a disk waits for it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

export function makeFolder(): string {
  const folder = mkdtempSync(join(process.env.TEST_FOLDER || tmpdir(), 'tollgate-'));
  made.push(folder);
  return folder;
}

export function removeFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
