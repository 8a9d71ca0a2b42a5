/**
 * The PostgreSQL store: the contract, what shares a transaction, and how it handles faults of the database
 * and the network.
 */
import { describe, expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import type { ReserveRequest } from '../../plugins/meters/balance/store.ts';
import { expectSound } from '../contract/books.ts';
import { request, testStore } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';
import { newKey, quote, settlement } from './calls.ts';
import { queryDatabase, openFresh, startHolder } from './postgres-database.ts';
import { closeStores, closers, open, waitForRecovery, waitForLocks } from './postgres-stores.ts';

closeStores();

testStore('PostgreSQL', () => openFresh());

it('a group is written in one transaction, however many operations share the turn', async () => {
  const groups: number[] = [];
  const { store, url } = await open({ onGroup: ({ operations }) => groups.push(operations) });
  groups.length = 0;
  await Promise.all(Array.from({ length: 64 }, (_, index) => store.reserve(request(`r${index}`, 'a'))));
  expect(groups).toEqual([64]);
  expect(
    await queryDatabase(url, "SELECT DISTINCT written FROM entries WHERE kind = 'reserve'"),
  ).toHaveLength(1);
});

it('a group keeps the other operations if one is refused and one breaks a rule of the tables', async () => {
  const { store, books } = await open();
  const answers = await Promise.allSettled([
    store.reserve(request('r1', 'a')),
    store.reserve(request('too-much', 'a', { quotes: [quote(5000n)] })),
    store.settle(settlement('unknown', 1n)),
    store.reserve(request('r1', 'a')),
    store.addCredit({ account: 'a', amount: 2n ** 63n, kind: 'bonus', reference: undefined, at: 1 }),
    store.settle(settlement('r1', 4n)),
  ]);
  expect(answers).toMatchObject([
    { value: { status: 'reserved' } },
    { value: { status: 'short' } },
    { value: { status: 'not_found' } },
    { reason: { code: '23505' } },
    { reason: { code: '22003' } },
    { value: { status: 'posted' } },
  ]);
  expect(store.findFault()).toBeUndefined();
  expectSound(await books());
});

it('a group is written again after a deadlock with another transaction', async () => {
  const { store, url, books } = await open();
  await store.createAccount({ name: 'b', at: 1 });
  const holder = await startHolder(url);
  await holder.take('b');
  const answers = Promise.all([
    store.addCredit({ account: 'a', amount: 1n, kind: 'bonus', reference: undefined, at: 1 }),
    store.reserve(request('r1', 'b', { quotes: [quote(0n)] })),
  ]);
  await waitForLocks(url, 1);
  // Each wants what the other has: the database ends the one that waited longer.
  await holder.take('a');
  await holder.release();
  expect(await answers).toMatchObject(['credited', { status: 'reserved' }]);
  expectSound(await books());
});

describe('a plugin whose table someone locks for long', () => {
  it('makes only its own call fail, and is written with the next', async () => {
    const { store, url, books } = await open();
    const migrations = ['CREATE TABLE plugin_slow_calls (call text PRIMARY KEY)'];
    await store.migrateTables({ name: 'slow', migrations });
    const holder = await startHolder(url);
    await holder.freeze('plugin_slow_calls');
    const sql = 'INSERT INTO plugin_slow_calls VALUES ($1)';
    const slow = (id: string): ReserveRequest =>
      request(id, 'a', { also: [{ name: 'slow', statements: [{ sql, values: [id] }] }] });
    const replies = await Promise.allSettled([
      store.reserve(slow('r1')),
      store.reserve(request('r2', 'a')),
      store.reserve(request('r3', 'a')),
    ]);
    expect(replies).toMatchObject([
      { reason: { name: 'TableFault', plugin: 'slow' } },
      { value: { status: 'reserved' } },
      { value: { status: 'reserved' } },
    ]);
    expect(store.findFault()).toBeUndefined();
    await holder.release();
    expect(await store.reserve(slow('r4'))).toMatchObject({ status: 'reserved' });
    expect(await store.readTables({ name: 'slow', sql: 'SELECT call FROM plugin_slow_calls' })).toEqual([
      { call: 'r4' },
    ]);
    expectSound(await books());
  });
});

describe('a batch that the server undid', () => {
  it.each([
    ['its wait for a lock was canceled', 'pg_cancel_backend(pid)'],
    ['its connection was ended', 'pg_terminate_backend(pid)'],
  ])('is written again if %s', async (_, undo) => {
    const { store, url, books } = await open();
    const holder = await startHolder(url);
    await holder.take('a');
    const reply = store.reserve(request('r1', 'a'));
    await waitForLocks(url, 1);
    await queryDatabase(
      url,
      `SELECT ${undo} FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    await holder.release();
    expect(await reply).toMatchObject({ status: 'reserved' });
    expectSound(await books());
  });

  it('is written again if the process was too slow between two statements', async () => {
    const { store, url, books } = await open();
    const holder = await startHolder(url);
    await holder.take('a');
    const reply = store.reserve(request('r1', 'a'));
    await waitForLocks(url, 1);
    const gone = holder.release();
    // Longer than the server lets a transaction be idle.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
    await gone;
    expect(await reply).toMatchObject({ status: 'reserved' });
    expectSound(await books());
  });
});

describe('the database', () => {
  it('refuses to change or delete an entry', async () => {
    const { url } = await open();
    for (const statement of ['UPDATE entries SET at = 0', 'DELETE FROM entries', 'TRUNCATE entries']) {
      await expect(queryDatabase(url, statement), statement).rejects.toThrow('never changed or deleted');
    }
  });

  it('refuses a character that it cannot store as a fault of the request', async () => {
    const { store } = await open();
    await expect(store.createAccount({ name: 'a\0', at: 1 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(store.readBalance('a\0')).rejects.toMatchObject({ code: 'invalid_request' });
    expect(store.findFault()).toBeUndefined();
  });

  it('is audited to the last entry, even if a lower number appears after higher ones', async () => {
    const { store, url, another } = await open();
    await store.createAccount({ name: 'b', at: 1 });
    const other = await another();
    closers.push(() => other.close());
    const holder = await startHolder(url);
    // Its numbers are taken, and it waits for the key's row to write its sums.
    await store.createKey(newKey('00000000000000a1', 'a'));
    await holder.takeKey('00000000000000a1');
    const early = store.reserve(request('early', 'a', { key: '00000000000000a1' }));
    await waitForLocks(url, 1);
    await other.reserve(request('late', 'b', { quotes: [quote(0n)] }));
    const { entries } = await store.audit();
    await holder.release();
    await early;
    expect(await store.audit()).toMatchObject({ ok: true, entries: entries + 1, findings: [] });
    expect((await store.listEntries({ limit: 100 })).map(({ call }) => call)).toEqual([
      undefined,
      'early',
      'late',
    ]);
  });

  it('is audited once if pg_dump copied it from a server that counts transactions from higher', async () => {
    const { store, url } = await open();
    await queryDatabase(
      url,
      `ALTER TABLE entries DISABLE TRIGGER entries_stay;
       UPDATE entries SET written = (written::text::bigint + 1000000)::text::xid8;
       ALTER TABLE entries ENABLE TRIGGER entries_stay`,
    );
    const { entries } = await store.audit();
    await store.addCredit({ account: 'a', amount: 1n, kind: 'bonus', reference: undefined, at: 1 });
    expect(await store.audit()).toMatchObject({ ok: true, entries: entries + 1 });
    expect(await store.audit()).toMatchObject({ ok: true, entries: entries + 1 });
  });

  it('accepts one end of a reservation, even from another program', async () => {
    const { store, url } = await open();
    await store.reserve(request('r1', 'a'));
    await store.settle(settlement('r1', 3n));
    const another = `
      INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue,
        call, key, reservation, input, output, attempts, flags)
      SELECT number + 100, 'void', account, at, 0, 0, 0, 0,
        call, key, reservation, 0, 0, 0, '' FROM entries WHERE kind = 'post'`;
    await expect(queryDatabase(url, another)).rejects.toThrow('one_end');
  });

  it('can be opened by several processes at once when it is new', async () => {
    const { url, drop } = await openDatabase();
    closers.push(drop);
    const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgres({ url })));
    const made = await Promise.all(stores.map((store) => store.createAccount({ name: 'a', at: 1 })));
    expect(made.filter(Boolean)).toHaveLength(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('can be changed by a newer program while an older one runs', async () => {
    const { store, url } = await open();
    await store.reserve(request('r1', 'a'));
    await store.reserve(request('r2', 'a'));
    await store.settle(settlement('r1', 3n));
    for (const table of ['accounts', 'keys', 'entries', 'pending', 'claims', 'budgets', 'budget_periods'])
      await queryDatabase(url, `ALTER TABLE ${table} ADD COLUMN later text`);
    await store.settle(settlement('r2', 3n)).catch(() => waitForRecovery(store));
    await expect
      .poll(() => store.settle(settlement('r2', 3n)).catch(() => undefined))
      .toMatchObject({ status: expect.stringMatching(/^(already_)?posted$/) });
    expect(await store.audit()).toMatchObject({ ok: true, pending: 0 });
  });

  it('is refused if it has version 1, which was never released', async () => {
    const { store, url } = await open();
    await store.close();
    await queryDatabase(url, 'UPDATE steps SET count = 1');
    await expect(openPostgres({ url })).rejects.toThrow(
      'cannot be opened: it has version 1, which was never released',
    );
  });

  it('is refused if newer, not durable or unreachable, and the error hides the password', async () => {
    const { store, url } = await open();
    await store.close();
    await queryDatabase(url, 'UPDATE steps SET count = 99');
    await expect(openPostgres({ url })).rejects.toThrow(
      /the ledger 127\.0\.0\.1:\d+\/\w+ cannot be opened: it has version 99 .* newer/,
    );
    await queryDatabase(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`);
    await expect(openPostgres({ url })).rejects.toThrow('synchronous_commit is off');
    await expect(openPostgres({ url: 'postgres://someone:secret@127.0.0.1:1/ledger' })).rejects.toThrow(
      /^the ledger 127\.0\.0\.1:1\/ledger cannot be opened: (?!.*secret)/,
    );
  });
});
