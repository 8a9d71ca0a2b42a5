/** How much a call writes: pages of SQLite's log, counted by the index beside the log. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { startMeasured } from '../bench/measured.ts';
import { fill, reserveOne, settleOne } from '../bench/pairs.ts';
import { calls as examples } from '../bench/payload.ts';
import { openWorld } from '../bench/world.ts';
import { makeFolder } from '../support/folder.ts';
import { withDatabase } from './ledger-file.ts';

/** The offset of the number of pages in the header of the log's index. */
const pagesAt = 16;
/** So few that the log does not reach the 4000 pages after which it restarts. */
const calls = 150;

function readPages(file: string): number {
  return readFileSync(`${file}-shm`).readUInt32LE(pagesAt);
}

it('a call that shares its commits with no other writes at most twelve pages to the log', async () => {
  const file = join(makeFolder(), 'ledger.db');
  const store = await openSqlite({ file });
  try {
    await fill(store);
    const before = readPages(file);
    for (let call = 0; call < calls; call += 1) await settleOne(store, await reserveOne(store));
    const written = readPages(file) - before;
    expect(written).toBeGreaterThan(2 * calls);
    // One of them notes the entry, which the roll-ups add with the record of the call.
    expect(written / calls).toBeLessThanOrEqual(12);
  } finally {
    await store.close();
  }
});

const unfinished = `
  SELECT (SELECT count(*) FROM calls) AS stored, (SELECT count(*) FROM unsummed) AS unsummed`;

it('a call of the delivered gateway writes at most thirteen, with its record and roll-ups', async () => {
  const world = await openWorld();
  const gateway = await startMeasured('rest', world.origin);
  try {
    const file = join(gateway.folder, 'ledger.db');
    const before = readPages(file);
    await gateway.work(examples.json, calls, 1);
    const isDone = (): boolean => {
      const row = withDatabase(file, (database) => database.prepare(unfinished).get());
      return Number(row?.stored) >= calls && Number(row?.unsummed) === 0;
    };
    await vi.waitFor(() => expect(isDone()).toBe(true), { timeout: 90_000, interval: 500 });
    const written = readPages(file) - before;
    expect(written).toBeGreaterThan(2 * calls);
    expect(written / calls).toBeLessThanOrEqual(13);
  } finally {
    gateway.stop();
    world.close();
  }
});
