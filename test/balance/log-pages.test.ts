/** How much a call writes: pages of SQLite's log, counted by the index beside the log. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { fill, reserveOne, settleOne } from '../bench/pairs.ts';

/** The offset of the number of pages in the header of the log's index. */
const pagesAt = 16;

it('a call that shares its commits with no other writes at most twelve pages to the log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pages-'));
  const file = join(folder, 'ledger.db');
  const store = await openSqlite({ file });
  const pages = (): number => readFileSync(`${file}-shm`).readUInt32LE(pagesAt);
  try {
    await fill(store);
    const calls = 100;
    const before = pages();
    for (let call = 0; call < calls; call += 1) await settleOne(store, await reserveOne(store));
    const written = pages() - before;
    // The log restarts after 4000 pages, which so few calls do not reach.
    expect(written).toBeGreaterThan(2 * calls);
    expect(written / calls).toBeLessThanOrEqual(12);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
