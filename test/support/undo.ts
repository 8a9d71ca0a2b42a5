/**
 * Restores the process after each test file: real time, its own environment, nothing watched or replaced, and
 * no folder left.
 */
import { afterAll, vi } from 'vitest';
import { removeFolders } from './folder.ts';

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  removeFolders();
});
