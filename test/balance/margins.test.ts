/** Roll-ups know what was charged above the vendors' bills, and the audit finds a wrong sum. */
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { OverviewQuery, Store } from '../../plugins/meters/balance/store.ts';
import { sumUpAll } from '../contract/sum-up-all.ts';
import { openDatabase } from '../support/database.ts';
import { newKey, price, quote, settlement } from './calls.ts';
import { makeTemporaryFolder } from './ledger-file.ts';
import { queryDatabase } from './postgres-database.ts';

interface Ledger {
  open(): Promise<Store>;
  run(sql: string): Promise<unknown>;
  remove(): Promise<void>;
}

async function createSqliteLedger(): Promise<Ledger> {
  const folder = makeTemporaryFolder();
  const file = `${folder.path}/ledger.db`;
  return {
    open: () => openSqlite({ file }),
    async run(sql) {
      const database = new DatabaseSync(file);
      database.exec(sql);
      database.close();
    },
    remove: async () => folder.remove(),
  };
}

async function createPostgresLedger(): Promise<Ledger> {
  const { url, drop } = await openDatabase();
  return {
    open: () => openPostgres({ url }),
    run: (sql) => queryDatabase(url, sql),
    remove: drop,
  };
}

const hour = 3_600_000;

/** Calls charged above, below and at the vendor's bill, in several hours; the last is beyond the roll-ups. */
async function makeCalls(store: Store): Promise<void> {
  await store.definePrice(price);
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 1000n, kind: 'bonus', reference: undefined, at: 1 });
  await store.createKey(newKey('aaaaaaaaaaaa0001', 'a'));
  for (const [index, vendor] of [5n, 12n, undefined, 10n, 4n].entries()) {
    if (index === 4) await sumUpAll(store);
    const at = 1 + Math.floor(index / 2) * hour;
    const id = `call-${index}`;
    await store.reserve({ id, account: 'a', key: 'aaaaaaaaaaaa0001', quotes: [quote(10n)], at });
    // The first owes more than it reserved.
    await store.settle(settlement(id, index === 0 ? 14n : 10n, { at, vendor }));
  }
}

const query: OverviewQuery = { from: 0, to: 10 * hour, by: 'model', unit: '1h', top: 5 };

async function listMargins(store: Store): Promise<string[]> {
  const [all, own] = [await store.sumCalls(query), await store.sumCalls({ ...query, account: 'a' })];
  return [all, own].map((rows) => rows.map(({ start, margin }) => `${start / hour}: ${margin}`).join(', '));
}

it.each([
  ['SQLite', createSqliteLedger],
  ['PostgreSQL', createPostgresLedger],
] as const)('roll-ups of %s sum up margins, and the audit finds one that is wrong', async (_, make) => {
  const ledger = await make();
  let store = await ledger.open();
  await makeCalls(store);
  const margins = await listMargins(store);
  expect(margins).toEqual(['0: 7, 1: 0, 2: 6', '0: 7, 1: 0, 2: 6']);
  await store.close();

  store = await ledger.open();
  expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
  await store.close();

  await ledger.run("UPDATE series_sums SET margin = margin + 1 WHERE dimension = 'provider' AND start = 0");
  store = await ledger.open();
  const { findings } = await store.audit();
  expect(findings.map((each) => JSON.stringify(each)).join()).toContain('margin 0.000000008');
  await store.close();
  await ledger.remove();
});
