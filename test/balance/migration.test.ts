/** Which ledgers a program opens: new ones, and those of its own version. */
import { expect, it } from 'vitest';
import { request } from '../contract/store.ts';
import { openAccount, quote, settlement } from './calls.ts';
import { openTemporary } from './ledger-file.ts';
import { openFresh } from './postgres-database.ts';

/** How each database keeps its version, and the version that this program knows. */
const versions = [
  ['SQLite', openTemporary, 'PRAGMA user_version', 'PRAGMA user_version =', 12],
  ['PostgreSQL', openFresh, 'SELECT count FROM steps', 'UPDATE steps SET count =', 9],
] as const;

it.each(versions)(
  'a %s ledger of another version is refused as it is',
  async (_, open, _read, write, known) => {
    const { store, another, run, query, dispose } = await open();
    await store.createAccount({ name: 'acme', at: 1 });
    await store.close();
    const before = await query('SELECT * FROM accounts');
    await run(`${write} ${known - 1}`);
    await expect(another()).rejects.toThrow(
      `it has version ${known - 1}, which was never released, and this program reads versions from ` +
        `${known}: start with a new ledger, or open it with the program that wrote it`,
    );
    await run(`${write} ${known + 1}`);
    await expect(another()).rejects.toThrow(
      `it has version ${known + 1} and this program knows up to ${known}: a newer one wrote it`,
    );
    expect(await query('SELECT * FROM accounts')).toEqual(before);
    await run(`${write} ${known}`);
    const again = await another();
    expect(await again.readBalance('acme')).toMatchObject({ total: 0n });
    await again.close();
    await dispose();
  },
);

it.each(versions)(
  'a %s ledger of the version before extensions keeps its number, and its calls can reserve more',
  async (_, open, read) => {
    const { store, another, run, query, dispose } = await open();
    const version = await query(read);
    await store.close();
    await run(
      `DROP INDEX one_reservation_each;
       CREATE UNIQUE INDEX one_reservation ON entries (call) WHERE kind = 'reserve'`,
    );
    const second = await another();
    await openAccount(second, 'a', 1000n);
    await second.reserve(request('call', 'a'));
    const more = { id: 'call', account: 'a', key: 'key-1', quote: quote(50n), attempts: 1, at: 2 };
    expect(await second.extend(more)).toEqual({ status: 'extended', amount: 50n });
    // Twice before the same attempt would be a mistake, and so is a second reservation of a call.
    await expect(second.extend({ ...more, quote: quote(60n) })).rejects.toThrow(/unique/i);
    await expect(second.reserve(request('call', 'a'))).rejects.toThrow(/unique/i);
    await second.settle(settlement('call', 45n));
    expect(await second.audit()).toMatchObject({ ok: true, entries: 5 });
    await second.close();
    expect([await query(read), await query('SELECT count(*) FROM entries')]).toEqual([version, [[5n]]]);
    await dispose();
  },
);
