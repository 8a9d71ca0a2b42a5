/** Which ledgers a program opens: new ones, and those of its own version. */
import { expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { request } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';
import { price, quote, settlement } from './calls.ts';
import { makeTemporaryFolder, withDatabase } from './ledger-file.ts';
import { queryDatabase } from './postgres-database.ts';

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
  ['SQLite', createSqliteLedger, 12],
  ['PostgreSQL', createPostgresLedger, 9],
] as const)('a %s ledger of another version is refused as it is', async (_, make, known) => {
  const ledger = await make();
  const store = await ledger.open();
  await store.createAccount({ name: 'acme', at: 1 });
  await store.close();
  const before = await ledger.setVersion(known - 1);
  await expect(ledger.open()).rejects.toThrow(
    `it has version ${known - 1}, which was never released, and this program reads versions from ${known}: ` +
      'start with a new ledger, or open it with the program that wrote it',
  );
  expect(await ledger.setVersion(known + 1)).toEqual(before);
  await expect(ledger.open()).rejects.toThrow(
    `it has version ${known + 1} and this program knows up to ${known}: a newer one wrote it`,
  );
  expect(await ledger.setVersion(known)).toEqual(before);
  const again = await ledger.open();
  expect(await again.readBalance('acme')).toMatchObject({ total: 0n });
  await again.close();
  await ledger.remove();
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
