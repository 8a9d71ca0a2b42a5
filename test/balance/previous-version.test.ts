/**
 * The version before this one, on the same ledger: migrations only expand, so it reads and writes what this
 * one has opened, at the same time. Its store is in `fixtures`, with a ledger that it wrote.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { amountParts, listBuckets } from '../../plugins/meters/balance/calls/figures.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { OverviewQuery, OverviewRow, Store } from '../../plugins/meters/balance/store.ts';
import { add, buildCall } from '../contract/made-calls.ts';
import { request } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { price, quote, settlement } from './calls.ts';
import { withDatabase } from './ledger-file.ts';
import { queryDatabase } from './postgres-database.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
type FormerStore = Omit<Store, 'sumCalls'> & {
  sumCalls(query: OverviewQuery): Promise<readonly FormerRow[]>;
};
const previous: { openSqlite(...options: Parameters<typeof openSqlite>): Promise<FormerStore> } =
  await import(join(fixtures, 'store-d2dc27a7.mjs'));

let folder: string;
let file: string;

beforeEach(() => {
  folder = makeFolder();
  file = join(folder, 'ledger.db');
  withDatabase(file, (database) =>
    database.exec(readFileSync(join(fixtures, 'ledger-d2dc27a7.sql'), 'utf8')),
  );
});

/** Tables with their columns: type, whether null is allowed, default, place in the primary key. */
function readTables(): Map<string, string> {
  return withDatabase(file, (database) => {
    const rows = database
      .prepare(
        `SELECT tables.name || '.' || columns.name AS name,
           concat_ws(' ', columns.type, columns."notnull", columns.dflt_value, columns.pk) AS made
         FROM sqlite_master tables, pragma_table_info(tables.name) columns WHERE tables.type = 'table'`,
      )
      .all();
    return new Map(rows.map(({ name, made }) => [String(name), String(made)]));
  });
}

function readVersion(): unknown {
  return withDatabase(file, (database) => database.prepare('PRAGMA user_version').get()?.user_version);
}

/** What each list of the books says. */
async function readLists(store: Omit<Store, 'sumCalls'>): Promise<unknown[]> {
  const page = { limit: 100 };
  const [accounts, keys] = [await store.listAccounts(page), await store.listKeys(page)];
  return Promise.all([
    // The version before knows no terms, and no teams of keys.
    accounts.map((account) => ({ ...account, terms: undefined })),
    keys.map((key) => ({ ...key, teams: undefined })),
    store.listEntries(page),
    store.listPending(page),
    store.listBudgets({ ...page, at: Date.parse('2026-11-22T12:00:00Z') }),
    store.listWarnings(page),
    store.listActions(page),
    store.listCalls(page),
    store.sumTotals(),
    store.readDocument('prices'),
    store.exportEntries({ format: 'jsonl', after: 0, last: 100 }),
  ]);
}

it('opens a ledger of the version before, and ends the calls that it left running', async () => {
  const [tables, version] = [readTables(), readVersion()];
  const store = await openSqlite({ file });
  expect(await store.audit()).toMatchObject({ ok: true, entries: 14, pending: 2, findings: [] });
  expect(await store.settle(settlement('call-5', 41n))).toMatchObject({ status: 'posted' });
  await store.reserve(request('new-1', 'globex'));
  await store.settle(settlement('new-1', 8n));
  await store.changeKey({ id: 'key-1', changes: { holder: 'ada' } });
  expect(await store.listKeys({ holder: 'ada', limit: 10 })).toMatchObject([{ id: 'key-1' }]);
  expect(await store.readBalance('acme')).toEqual({ total: 10_000n, used: 561n, pending: 0n });
  expect(await store.audit()).toMatchObject({ ok: true, entries: 17, pending: 1, findings: [] });
  await store.close();
  expect(readVersion()).toBe(version);
  expect(Object.fromEntries(readTables())).toMatchObject(Object.fromEntries(tables));
});

/** A row of the version before, which has a column for each kind of token. */
interface FormerRow extends Pick<OverviewRow, 'name' | 'start' | 'cost' | 'margin' | 'posts'> {
  readonly counts: Readonly<Record<'calls' | 'errors' | 'cache_hits' | 'input' | 'output', number>>;
  readonly buckets: readonly number[];
}

/** What an overview of this version says, in the words of the one before. */
function toFormer({ calls, counts, ...row }: OverviewRow): FormerRow {
  const { errors = 0, cache_hits = 0, input = 0, output = 0 } = counts;
  const tokens = { input: input / amountParts, output: output / amountParts };
  return { ...row, counts: { calls, errors, cache_hits, ...tokens }, buckets: listBuckets(counts) };
}

async function readOverview<Row>(
  { sumCalls }: { sumCalls(query: OverviewQuery): Promise<readonly Row[]> },
  by: 'model' | 'account',
  toFormerRow: (row: Row) => FormerRow,
): Promise<unknown[]> {
  const rows = await sumCalls({ from: 0, to: 2 ** 42, by, unit: '1d', top: 100 });
  return rows
    .map(toFormerRow)
    .filter(({ counts, posts }) => counts.calls + posts > 0)
    .map(({ name, start, cost, margin, posts, counts, buckets }) => {
      const { calls, errors, cache_hits: hits, input, output } = counts;
      return { name, start, cost, margin, posts, buckets, calls, errors, hits, input, output };
    });
}

it.each(['model', 'account'] as const)('keeps every sum of the version before by %s', async (by) => {
  const old = await previous.openSqlite({ file, threads: false });
  await old.definePrice(price);
  await old.reserve(request('old-1', 'acme', { key: 'key-1' }));
  await old.settle(settlement('old-1', 9n));
  const call = buildCall('old-1', 'acme', 2000, { usage: undefined, input: 7, output: 3 });
  await add(old, call);
  const before = await readOverview(old, by, (row) => row);
  expect(before).not.toEqual([]);
  const young = await openSqlite({ file });
  // Its calls are summed up from their records, those of the version before from their columns too.
  await add(young, buildCall('young-1', 'acme', 2000, { usage: { input: 2 }, input: 2, output: 0 }));
  await old.reserve(request('old-2', 'acme', { key: 'key-1' }));
  await old.settle(settlement('old-2', 5n));
  expect(await readOverview(young, by, toFormer)).toEqual(await readOverview(old, by, (row) => row));
  expect(await young.audit()).toMatchObject({ ok: true, findings: [] });
  await young.close();
  await old.close();
});

it('shares a ledger with the version before: each ends calls of the other', async () => {
  const stores = [await previous.openSqlite({ file, threads: false }), await openSqlite({ file })] as const;
  const [old, young] = stores;
  await old.definePrice(price);
  for (const turn of [1, 2, 3]) {
    await old.reserve(request(`old-${turn}`, 'acme', { key: 'key-1', tags: ['research'] }));
    await young.reserve(request(`young-${turn}`, 'acme', { key: 'key-1', tags: ['research'] }));
    // Before an attempt at a dearer target.
    await young.extend({
      id: `young-${turn}`,
      account: 'acme',
      key: 'key-1',
      quote: quote(50n),
      attempts: 1,
      at: 2,
    });
    expect(await old.settle(settlement(`young-${turn}`, 45n))).toMatchObject({ status: 'posted' });
    expect(await young.settle(settlement(`old-${turn}`, 9n))).toMatchObject({ status: 'posted' });
  }
  for (const store of stores)
    expect(await store.audit()).toMatchObject({ ok: true, entries: 32, pending: 2, findings: [] });
  const [before, now] = [await readLists(old), await readLists(young)];
  expect(before).toEqual(now);
  for (const store of stores) await store.close();
});

it('shows the version before allowances as kinds that it knows, and its audit finds nothing', async () => {
  const [old, young] = [await previous.openSqlite({ file, threads: false }), await openSqlite({ file })];
  const [noon, month] = [Date.parse('2026-11-22T12:00:00Z'), Date.parse('2026-12-01T00:00:00Z')];
  await young.createAccount({ name: 'design', at: 1 });
  const allowance = { amount: 100n, mode: 'reset' } as const;
  await young.setTerms({ account: 'design', changes: { allowance }, at: noon });
  await old.reserve(request('old-1', 'design', { quotes: [quote(30n)], at: noon }));
  expect(await young.creditAllowances({ at: month, limit: 10 })).toBe(1);
  await old.settle(settlement('old-1', 30n));
  const query = { account: 'design', kinds: ['credit'], limit: 10 } as const;
  const listSources = async ({ listEntries }: Pick<Store, 'listEntries'>) =>
    (await listEntries(query)).map(({ source, available }) => [source, available]);
  expect(await listSources(old)).toEqual([
    ['bonus', 100n],
    ['adjustment', -70n],
    ['bonus', 100n],
  ]);
  expect(await listSources(young)).toEqual([
    ['allowance', 100n],
    ['allowance-reset', -70n],
    ['allowance', 100n],
  ]);
  for (const store of [old, young]) {
    expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
    await store.close();
  }
});

it('makes new ledgers with every column that the version before knows, in both databases', async () => {
  const known = readTables();
  const store = await openSqlite({ file: `${file}-new` });
  await store.close();
  file = `${file}-new`;
  expect(Object.fromEntries(readTables())).toMatchObject(Object.fromEntries(known));
  const { url, drop } = await openDatabase();
  await (await openPostgres({ url })).close();
  const columns = await queryDatabase(
    url,
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
     WHERE table_schema = 'tollgate'`,
  );
  // The program before this one refuses a higher number.
  expect(await queryDatabase(url, 'SELECT count FROM steps')).toEqual([{ count: 9n }]);
  await drop();
  const names = [...known.keys()].filter((name) => !name.startsWith('sqlite_'));
  expect(columns.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
});
