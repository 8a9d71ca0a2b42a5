/** Which ledgers a program opens: new ones, and those of its own version. */
import { expect, it } from 'vitest';
import { request } from '../contract/store.ts';
import { openAccount, quote, settlement } from './calls.ts';
import { openTemporary } from './ledger-file.ts';
import { openFresh, queryDatabase, startHolder, waitForLocks } from './postgres-database.ts';

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

it('tables are brought up to date although the server undoes that, to end a deadlock', async () => {
  const { store, url, another, dispose } = await openFresh();
  await openAccount(store, 'a', 1000n);
  await store.close();
  // Something is missing, so every table with columns of a newer version is locked in turn.
  await queryDatabase(url, 'DROP TABLE invitations');
  const [call, reader] = [await startHolder(url), await startHolder(url)];
  await call.freeze('entries');
  await reader.take('a');
  const opening = another();
  // The migration has the keys now, and waits for the reader of the accounts.
  await waitForLocks(url, 1);
  const waiting = call.takeKey('key-1');
  await waitForLocks(url, 2);
  // It goes on to the entries, which the call has, while the call waits for the keys.
  await reader.release();
  await waiting;
  await call.release();
  const opened = await opening;
  expect(await opened.audit()).toMatchObject({ ok: true, findings: [] });
  await opened.close();
  const undone = 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()';
  await expect.poll(() => queryDatabase(url, undone), { timeout: 60_000 }).toEqual([{ deadlocks: 1n }]);
  expect(await queryDatabase(url, 'SELECT FROM invitations')).toEqual([]);
  await dispose();
});
