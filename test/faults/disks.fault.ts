/** A ledger on disks that fail or are slow, which needs strace: the long form of `test/balance/slow-disk`. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type * as threads from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import { readBooks, temporaryFolder } from '../balance/ledger-file.ts';
import { runSlowDisk } from '../balance/slow-disk.ts';
import { expectSound } from '../contract/books.ts';

vi.mock('node:worker_threads', async (original: () => Promise<typeof threads>) =>
  (await import('../balance/weather.ts')).weathered(await original()),
);

describe('a disk that fails', () => {
  it.each([
    ['to flush', 'fsync,fdatasync:error=EIO:when=10..20'],
    ['to write', 'pwrite64:error=ENOSPC:when=200..230'],
  ])('%s costs those calls a refusal, and nothing that was acknowledged', async (_, fault) => {
    const folder = temporaryFolder();
    const file = join(folder.path, 'ledger.db');
    const traced = [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=fsync,fdatasync,pwrite64',
      '-e',
      `inject=${fault}`,
    ];
    const { stdout } = await promisify(execFile)('strace', [
      ...traced,
      process.execPath,
      'test/balance/filler.ts',
      file,
    ]);
    const { reserved, refusals } = JSON.parse(stdout);
    expect(refusals).toEqual(['ledger_unavailable']);
    expect(reserved).toBeGreaterThan(64);
    expect(readBooks(file).entries.filter(({ kind }) => kind === 'reserve')).toHaveLength(reserved);
    expectSound(readBooks(file));
    folder.remove();
  });
});

describe('a disk that is slow', () => {
  it('makes calls wait for their two commits and the two before, and never the event loop', async () => {
    const { statuses, slowest, lag, audit } = await runSlowDisk({
      commit: 200,
      milliseconds: 60_000,
      atOnce: 100,
    });
    process.stdout.write(
      `${JSON.stringify(statuses)}; 99 of 100 calls took ${slowest.toFixed(0)} ` +
        `ms at most, the event loop came ${lag.toFixed(0)} ms late\n`,
    );
    expect(Object.keys(statuses)).toEqual(['200']);
    expect(slowest).toBeLessThan(8000);
    expect(lag).toBeLessThan(500);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  });

  it('delays nothing else while it flushes', async () => {
    const folder = temporaryFolder();
    const traced = [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=fsync,fdatasync',
      '-e',
      'inject=fsync,fdatasync:delay_enter=200000',
    ];
    const { stdout } = await promisify(execFile)('strace', [
      ...traced,
      process.execPath,
      'test/balance/filler.ts',
      join(folder.path, 'ledger.db'),
    ]);
    const { reserved, refusals, longest, lag } = JSON.parse(stdout);
    process.stdout.write(
      `a turn took ${longest.toFixed(0)} ms at most, the event loop came ${lag.toFixed(0)} ms late\n`,
    );
    expect({ reserved, refusals }).toEqual({ reserved: 60 * 64, refusals: [] });
    expect(longest).toBeGreaterThan(200);
    expect(longest).toBeLessThan(4000);
    expect(lag).toBeLessThan(500);
    folder.remove();
  });
});
