/** Which ledgers a program opens: new ones, its own version, and those that a step leads to it from. */
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { selectSteps, computeNewest } from '../../plugins/meters/balance/versions.ts';
import { request } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';
import { price, quote, settlement } from './calls.ts';
import { makeTemporaryFolder, withDatabase } from './ledger-file.ts';
import { queryDatabase } from './postgres-database.ts';

const migrations = { first: 5, steps: ['make', 'change', 'add'] };

it.each([
  [0, ['make', 'change', 'add']],
  [5, ['change', 'add']],
  [6, ['add']],
  [7, []],
])('a database of version %i takes the steps that it lacks, in their order', (version, steps) => {
  expect(computeNewest(migrations)).toBe(7);
  expect(selectSteps(migrations, version)).toEqual(steps);
});

it.each([
  [1, /version 1, which was never released, and this program reads versions from 5: start with a new ledger/],
  [4, /version 4, which was never released/],
  [8, /version 8 and this program knows up to 7: a newer one wrote it/],
])('a database of version %i takes no step, and the error says what to do', (version, message) => {
  expect(() => selectSteps(migrations, version)).toThrow(message);
});

interface OldLedger {
  /** Writes a version into the ledger, and returns all its accounts. */
  setVersion(version: number): Promise<unknown>;
  open(): Promise<Store>;
  run(sql: string): Promise<unknown>;
  /** The version, and how many entries there are. */
  readFigures(): Promise<unknown[]>;
  remove(): Promise<void>;
}

async function createSqliteLedger(): Promise<OldLedger> {
  const folder = makeTemporaryFolder();
  const file = `${folder.path}/ledger.db`;
  return {
    setVersion: async (version) =>
      withDatabase(file, (database) => {
        database.exec(`PRAGMA user_version = ${version}`);
        return database.prepare('SELECT * FROM accounts').all();
      }),
    open: () => openSqlite({ file }),
    run: async (sql) => withDatabase(file, (database) => database.exec(sql)),
    readFigures: async () =>
      withDatabase(file, (database) =>
        ['PRAGMA user_version', 'SELECT count(*) AS entries FROM entries'].flatMap((sql) =>
          Object.values(database.prepare(sql).get() ?? {}),
        ),
      ),
    remove: async () => folder.remove(),
  };
}

async function createPostgresLedger(): Promise<OldLedger> {
  const { url, drop } = await openDatabase();
  return {
    async setVersion(version) {
      await queryDatabase(url, `UPDATE steps SET count = ${version}`);
      return queryDatabase(url, 'SELECT * FROM accounts');
    },
    open: () => openPostgres({ url }),
    run: (sql) => queryDatabase(url, sql),
    readFigures: async () =>
      (
        await queryDatabase(url, 'SELECT count, (SELECT count(*) FROM entries) AS entries FROM steps')
      ).flatMap((row) => Object.values(row)),
    remove: drop,
  };
}

it.each([
  ['SQLite', createSqliteLedger, 11],
  ['PostgreSQL', createPostgresLedger, 9],
] as const)('a %s ledger that an earlier checkout wrote is refused as it is', async (_, make, first) => {
  const ledger = await make();
  const store = await ledger.open();
  await store.createAccount({ name: 'acme', at: 1 });
  await store.close();
  const before = await ledger.setVersion(first - 1);
  await expect(ledger.open()).rejects.toThrow(
    `it has version ${first - 1}, which was never released, and this program reads versions from ${first}: ` +
      'start with a new ledger, or open it with the program that wrote it',
  );
  expect(await ledger.setVersion(first)).toEqual(before);
  const again = await ledger.open();
  expect(await again.readBalance('acme')).toMatchObject({ total: 0n });
  await again.close();
  await ledger.remove();
});

it('a SQLite ledger of version 11, with calls on reservations alone, gets them on all entries', async () => {
  const folder = makeTemporaryFolder();
  const file = `${folder.path}/ledger.db`;
  const first = await openSqlite({ file });
  await first.definePrice(price);
  await first.createAccount({ name: 'a', at: 1 });
  await first.addCredit({ account: 'a', amount: 1000n, kind: 'bonus', reference: undefined, at: 1 });
  await first.reserve(request('call', 'a'));
  await first.settle(settlement('call', 8n));
  const before = await first.listEntries({ limit: 10 });
  await first.close();
  withDatabase(file, (database) =>
    database.exec(`
      DROP TRIGGER entries_stay; UPDATE entries SET call = NULL WHERE kind <> 'reserve';
      CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT 1; END; PRAGMA user_version = 11`),
  );
  const older = new DatabaseSync(file);
  older.exec('SELECT * FROM entries');
  await expect(openSqlite({ file, busyTimeout: 1 })).rejects.toThrow(
    'it has version 11, and a gateway of an older program uses it: stop that gateway first',
  );
  older.close();
  const second = await openSqlite({ file });
  expect(await second.listEntries({ limit: 10 })).toEqual(before);
  expect(before.map(({ call }) => call)).toEqual([undefined, 'call', 'call']);
  expect(await second.audit()).toMatchObject({ ok: true, entries: 3 });
  await second.close();
  expect(() => withDatabase(file, (database) => database.exec('UPDATE entries SET at = 2'))).toThrow(
    'entries are never changed',
  );
  folder.remove();
});

it.each([
  ['SQLite', createSqliteLedger],
  ['PostgreSQL', createPostgresLedger],
] as const)(
  'a %s ledger of the version before extensions keeps its number, and its calls can reserve more',
  async (_, make) => {
    const ledger = await make();
    const first = await ledger.open();
    const [version] = await ledger.readFigures();
    await first.close();
    await ledger.run(
      `DROP INDEX one_reservation_each;
       CREATE UNIQUE INDEX one_reservation ON entries (call) WHERE kind = 'reserve'`,
    );
    const second = await ledger.open();
    await second.definePrice(price);
    await second.createAccount({ name: 'a', at: 1 });
    await second.addCredit({ account: 'a', amount: 1000n, kind: 'bonus', reference: undefined, at: 1 });
    await second.reserve(request('call', 'a'));
    const more = { id: 'call', account: 'a', key: 'key-1', quote: quote(50n), attempts: 1, at: 2 };
    expect(await second.extend(more)).toEqual({ status: 'extended', amount: 50n });
    // Twice before the same attempt would be a mistake, and so is a second reservation of a call.
    await expect(second.extend({ ...more, quote: quote(60n) })).rejects.toThrow(/unique/i);
    await expect(second.reserve(request('call', 'a'))).rejects.toThrow(/unique/i);
    await second.settle(settlement('call', 45n));
    expect(await second.audit()).toMatchObject({ ok: true, entries: 5 });
    await second.close();
    expect(await ledger.readFigures()).toEqual([version, 5n]);
    await ledger.remove();
  },
);
