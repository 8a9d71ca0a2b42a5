/**
 * Ledgers that the version before budgets wrote, with entries of every kind, a rotated key, a stored outcome,
 * a running call, and calls that its gateway made at prices of every shape: a newer version opens them with
 * the same contents.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { count, integer, maybe, text, texts, type Row } from '../../plugins/meters/balance/rows.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Entry, Store } from '../../plugins/meters/balance/store.ts';
import { foldAll } from '../contract/fold-all.ts';
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
    rows: async (table) =>
      withDatabase(file, (each) => each.prepare(`SELECT * FROM ${table} ORDER BY 1`).all()),
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

/** Expects that the store reads what the old tables hold, and returns its entries. */
async function expectRead(
  store: Store,
  before: ReadonlyMap<string, readonly Row[]>,
): Promise<readonly Entry[]> {
  const rows = (table: string): Row[] =>
    // What one database has as 1 and 0, the other has as true and false.
    (before.get(table) ?? []).map((row) =>
      'disabled' in row ? { ...row, disabled: row.disabled === true || row.disabled === 1n } : row,
    );
  const entries = await store.entries({ limit: 1000 });
  const numbers = entries.map((entry) => ({ ...entry, number: BigInt(entry.number), at: BigInt(entry.at) }));
  const byNumber = rows('entries').toSorted((one, other) =>
    Number(integer(one, 'number') - integer(other, 'number')),
  );
  const shown = [
    'number',
    'at',
    'kind',
    'credits',
    'available',
    'reserved',
    'revenue',
    'key',
    'price',
    'usage',
    'costs',
  ];
  const orNull = (list: readonly Row[]): Row[] =>
    only(shown, list).map((row) => Object.fromEntries(shown.map((name) => [name, row[name] ?? null])));
  expect(orNull(numbers.map((entry) => ({ ...entry })))).toEqual(orNull(byNumber));
  for (const row of rows('accounts'))
    expect(await store.balance(text(row, 'name'))).toEqual(only(['total', 'used', 'pending'], [row])[0]);
  for (const row of rows('keys'))
    expect(await store.findKey(text(row, 'hash'))).toMatchObject({
      id: row.id,
      name: row.name,
      kind: row.kind,
      disabled: row.disabled,
      spendCap: row.spend_cap ?? undefined,
      models: maybe(row, 'models', texts),
      expires: maybe(row, 'expires', count),
      callsPerMinute: maybe(row, 'calls_per_minute', count),
      rotatedTo: row.rotated_to ?? undefined,
      tags: [],
      readOnly: false,
      accountState: 'open',
    });
  const { text: lines } = await store.exportEntries({ format: 'jsonl', after: 0, last: 1000 });
  expect(
    lines
      .trimEnd()
      .split('\n')
      .map((line) => BigInt(JSON.parse(line).number)),
  ).toEqual(byNumber.map((row) => row.number));
  return entries;
}

it.each([
  ['SQLite', sqlite3],
  ['PostgreSQL', postgres2],
] as const)(
  'a %s ledger of the version before budgets keeps every entry, balance and key, and passes the audit',
  async (_, make) => {
    const old = await make();
    const before = new Map<string, readonly Row[]>();
    for (const table of tables) before.set(table, await old.rows(table));
    const store = await old.open();
    for (const [table, rows] of before) {
      const columns = Object.keys(rows[0] ?? {});
      expect(columns).not.toEqual([]);
      expect(only(columns, await old.rows(table))).toEqual(rows);
    }
    const entries = await expectRead(store, before);
    expect(new Set(entries.map(({ kind }) => kind)).size).toBe(7);
    const sound = { ok: true, accounts: 3, pending: 1, findings: [] };
    expect(await store.audit()).toMatchObject({ ...sound, entries: entries.length });
    await foldAll(store);
    expect(await store.audit()).toMatchObject(sound);

    // Calls that began before continue, and new ones count in budgets.
    expect(await store.settle(settlement('running', 70n))).toMatchObject({ status: 'posted', posted: 70n });
    const counted = { scope: 'account', subject: 'acme', per: 'total', zone: 'UTC' } as const;
    await store.createBudget({ ...counted, limit: 50n, hard: true, thresholds: [], at: 3000 });
    const ask = (id: string, cost: bigint) =>
      store.reserve({ id, account: 'acme', key: 'aaaaaaaaaaaa0002', quotes: [quote(cost)], at: 3000 });
    expect(await ask('first', 40n)).toMatchObject({ status: 'reserved' });
    expect(await ask('second', 40n)).toMatchObject({ status: 'short', by: 'budget' });
    const later = entries.length + 2;
    expect(await store.audit()).toMatchObject({ ok: true, entries: later, findings: [] });
    await store.close();
    await old.remove();
  },
);
