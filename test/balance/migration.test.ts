/**
 * Ledgers that the first released versions wrote, with entries of every kind, a rotated key, a stored outcome
 * and a running call: a newer version opens them with the same contents.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import type { Row } from '../../plugins/meters/balance/rows.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { freshDatabase } from '../support/database.ts';
import { quote, settlement } from './calls.ts';
import { temporaryFolder, withDatabase } from './ledger-file.ts';
import { inDatabase } from './postgres-database.ts';

const tables = ['accounts', 'keys', 'prices', 'entries', 'pending', 'owners', 'claims'];

interface OldLedger {
  /** All rows of a table. */
  rows(table: string): Promise<readonly Row[]>;
  open(): Promise<Store>;
  remove(): Promise<void>;
}

function written(version: string): string {
  return readFileSync(join(import.meta.dirname, 'versions', `${version}.sql`), 'utf8');
}

async function sqlite3(): Promise<OldLedger> {
  const folder = temporaryFolder();
  const file = join(folder.path, 'ledger.db');
  const database = new DatabaseSync(file);
  database.exec(written('sqlite-3'));
  database.close();
  return {
    rows: async (table) => withDatabase(file, (each) => each.prepare(`SELECT * FROM ${table}`).all()),
    open: () => openSqlite({ file }),
    remove: async () => folder.remove(),
  };
}

async function postgres2(): Promise<OldLedger> {
  const { url, drop } = await freshDatabase();
  await inDatabase(url, written('postgres-2'));
  return {
    rows: (table) => inDatabase(url, `SELECT * FROM ${table} ORDER BY 1`),
    open: () => openPostgres({ url }),
    remove: drop,
  };
}

/** The columns of each row that the old version wrote too. */
function only(columns: readonly string[], rows: readonly Row[]): Row[] {
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]])));
}

it.each([
  ['SQLite', sqlite3],
  ['PostgreSQL', postgres2],
] as const)('a %s ledger of the first version keeps every row, and passes the audit', async (_, make) => {
  const old = await make();
  const before = new Map<string, readonly Row[]>();
  for (const table of tables) before.set(table, await old.rows(table));
  const store = await old.open();
  for (const [table, rows] of before) {
    const columns = Object.keys(rows[0] ?? {});
    expect(columns).not.toEqual([]);
    expect(only(columns, await old.rows(table))).toEqual(rows);
  }
  const entries = await store.entries({ limit: 1000 });
  expect(entries).toHaveLength(17);
  expect(new Set(entries.map(({ kind }) => kind)).size).toBe(7);
  expect(await store.audit()).toMatchObject({ ok: true, entries: 17, accounts: 2, pending: 1, findings: [] });

  // Calls that began before continue, and new ones count in budgets.
  expect(await store.settle(settlement('running', 70n))).toMatchObject({ status: 'posted', posted: 70n });
  const counted = { scope: 'account', subject: 'acme', per: 'total', zone: 'UTC' } as const;
  await store.createBudget({ ...counted, limit: 50n, hard: true, thresholds: [], at: 3000 });
  const ask = (id: string, cost: bigint) =>
    store.reserve({ id, account: 'acme', key: 'aaaaaaaaaaaa0002', quotes: [quote(cost)], at: 3000 });
  expect(await ask('first', 40n)).toMatchObject({ status: 'reserved' });
  expect(await ask('second', 40n)).toMatchObject({ status: 'short', by: 'budget' });
  expect(await store.audit()).toMatchObject({ ok: true, entries: 19, findings: [] });
  await store.close();
  await old.remove();
});
