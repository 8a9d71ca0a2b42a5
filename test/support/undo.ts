/**
 * Restores the process after each test file: real time, its own environment, nothing watched or replaced, and
 * no folder left. What a test opened closes when it ends, what a hook opened with the file.
 */
import { afterAll, afterEach, beforeEach, vi } from 'vitest';
import { beginScope, endScope } from './closing.ts';
import { removeFolders } from './folder.ts';

let running = 0;
beforeEach(() => {
  if (running === 0) beginScope();
  running += 1;
});
afterEach(async () => {
  running -= 1;
  if (running === 0) await endScope();
});

afterAll(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  await endScope();
  removeFolders();
});
