/** A ledger on disks that fail or are slow, which needs strace: the long form of `test/balance/slow-disk`. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type * as threads from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { readBooks } from '../balance/ledger-file.ts';
import { runSlowDisk } from '../balance/slow-disk.ts';
import { expectSound } from '../contract/books.ts';
import { makeFolder } from '../support/folder.ts';

vi.mock('node:worker_threads', async (original: () => Promise<typeof threads>) =>
  (await import('../balance/disk-faults.ts')).wrapThreads(await original()),
);

/** Fills a ledger while strace injects a fault into some of these system calls, and returns what was seen. */
async function fill(file: string, calls: string, fault: string) {
  const options = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${fault}`];
  const command = [process.execPath, 'test/balance/fill-disk.ts', file];
  const { stdout } = await promisify(execFile)('strace', [...options, ...command]);
  return JSON.parse(stdout);
}

it.each([
  ['to flush', 'fsync,fdatasync:error=EIO:when=10..20'],
  ['to write', 'pwrite64:error=ENOSPC:when=200..230'],
])('a disk that %s costs those calls a refusal, and nothing that was acknowledged', async (_, fault) => {
  const folder = makeFolder();
  const file = join(folder, 'ledger.db');
  const { reserved, refusals } = await fill(file, 'fsync,fdatasync,pwrite64', fault);
  expect(refusals).toEqual(['ledger_unavailable']);
  expect(reserved).toBeGreaterThan(64);
  expect(readBooks(file).entries.filter(({ kind }) => kind === 'reserve')).toHaveLength(reserved);
  expectSound(readBooks(file));
});

it('a slow disk makes calls wait for their commits and those before, never the event loop', async () => {
  const { calls, slowest, lag } = await runSlowDisk({
    commit: 200,
    milliseconds: 60_000,
    atOnce: 100,
  });
  process.stdout.write(
    `${calls} calls, of which 99 of 100 took ${slowest.toFixed(0)} ` +
      `ms at most, the event loop came ${lag.toFixed(0)} ms late\n`,
  );
  expect(slowest).toBeLessThan(8000);
  expect(lag).toBeLessThan(500);
});

it('a slow disk delays nothing else while it flushes', async () => {
  const folder = makeFolder();
  const { reserved, refusals, longest, lag } = await fill(
    join(folder, 'ledger.db'),
    'fsync,fdatasync',
    'fsync,fdatasync:delay_enter=200000',
  );
  process.stdout.write(
    `a turn took ${longest.toFixed(0)} ms at most, the event loop came ${lag.toFixed(0)} ms late\n`,
  );
  expect({ reserved, refusals }).toEqual({ reserved: 60 * 64, refusals: [] });
  expect(longest).toBeGreaterThan(200);
  expect(longest).toBeLessThan(4000);
  expect(lag).toBeLessThan(500);
});
