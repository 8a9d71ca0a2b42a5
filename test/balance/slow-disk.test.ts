/** A disk that takes long for each commit; `npm run faults` has the same for a minute. */
import type * as threads from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { runSlowDisk } from './slow-disk.ts';

vi.mock('node:worker_threads', async (original: () => Promise<typeof threads>) =>
  (await import('./disk-faults.ts')).wrapThreads(await original()),
);

it('a disk that takes 700 ms for each commit delays calls, but not the event loop', async () => {
  const { slowest, early } = await runSlowDisk({ commit: 700, milliseconds: 1000, atOnce: 20 });
  // Two commits of its own, each after one that is running.
  expect(slowest).toBeGreaterThan(1400);
  expect(early).toBe(0);
});
