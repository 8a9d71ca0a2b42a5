/**
 * Snapshots that a person has read: each is a checked-in file. A missing one fails the test, and none is
 * written without `UPDATE_GOLDEN=1`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';

const update = process.env.UPDATE_GOLDEN === '1';

/** Compares a text with its file, or writes the file if an update was requested. */
export function expectSnapshot(file: URL, text: string): void {
  if (update) return writeFileSync(file, text);
  const known = existsSync(file)
    ? readFileSync(file, 'utf8')
    : 'no snapshot: make it with UPDATE_GOLDEN=1, and read it';
  expect(text, file.pathname).toBe(known);
}
