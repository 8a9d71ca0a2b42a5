/**
 * The PostgreSQL store: the contract, what shares a transaction, and how it handles faults of the database
 * and the network.
 */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import type { Store, ReserveRequest } from '../../plugins/meters/balance/store.ts';
import { expectSound } from '../contract/books.ts';
import { add, buildCall } from '../contract/made-calls.ts';
import { request, testStore } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';
import { startPostgres } from '../support/postgres.ts';
import { startTcpLink, type TcpLink } from '../support/tcp-link.ts';
import { openAccount, newKey, quote, settlement } from './calls.ts';
import {
  queryDatabase,
  openFresh,
  type OpenedDatabase,
  startHolder,
  waitForLocks,
} from './postgres-database.ts';

const warnings: string[] = [];
process.on('warning', ({ message }) => warnings.push(message));

const closers: (() => Promise<void>)[] = [];

async function fill(store: Store): Promise<void> {
  await openAccount(store, 'a', 1000n);
}

async function open(options: Parameters<typeof openFresh>[0] = {}): Promise<OpenedDatabase> {
  const opened = await openFresh(options);
  closers.push(() => opened.dispose());
  await fill(opened.store);
  return opened;
}

async function waitForRecovery(store: Store): Promise<void> {
  while (store.findFault()) await sleep(20);
}

/** Ends connections while this process waits, so that nothing reads of their end. */
function endConnections(url: string, name: string): void {
  const end = `SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity
    WHERE application_name LIKE '${name}' AND datname = current_database()`;
  const script =
    "const client = new (require('pg').Client)(process.argv[1]); " +
    'client.connect().then(() => client.query(process.argv[2])).then(() => client.end())';
  execFileSync(process.execPath, ['-e', script, url, end]);
}

function closeStores(): void {
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });
}

closeStores();

// Half as many as of SQLite, whose store has the same rules: each takes PostgreSQL five times as long.
testStore('PostgreSQL', () => openFresh(), Number(process.env.HISTORIES ?? 30));

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

const refused = { code: 'ledger_unavailable', status: 503, details: { retryAfter: 1 } };

describe('a database that is stopped', () => {
  it('is reported at once, and is used again once it is back, with nothing lost or done twice', async () => {
    const server = await startPostgres();
    closers.push(() => server.end());
    const store = await openPostgres({ url: server.url });
    closers.push(() => store.close());
    await fill(store);
    await store.reserve(request('before', 'a'));
    await server.stop();
    await expect(store.reserve(request('meanwhile', 'a'))).rejects.toMatchObject(refused);
    await expect(store.settle(settlement('before', 4n))).rejects.toMatchObject(refused);
    await expect(store.findKey('a'.repeat(64))).rejects.toMatchObject(refused);
    expect(store.findFault()).toBeInstanceOf(Error);
    await server.start();
    await waitForRecovery(store);
    expect(await store.settle(settlement('before', 4n))).toEqual({
      status: 'posted',
      posted: 4n,
      overage: 0n,
    });
    expect(await store.reserve(request('meanwhile', 'a'))).toMatchObject({ status: 'reserved' });
    expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 4n, pending: 10n });
    expect(await store.audit()).toMatchObject({ ok: true });
  });
});

describe('a network that fails', () => {
  async function openThroughLink(): Promise<{ link: TcpLink; store: Store; url: string }> {
    const { url, drop } = await openDatabase();
    closers.push(drop);
    const link = await startTcpLink(Number(new URL(url).port));
    closers.push(() => link.close());
    const through = new URL(url);
    through.port = String(link.port);
    const store = await openPostgres({ url: through.href });
    closers.push(() => store.close());
    await fill(store);
    return { link, store, url };
  }

  it('is noticed if answers stop, within the time a reply waits for its entry', async () => {
    const { link, store } = await openThroughLink();
    link.hold();
    const answers = await Promise.allSettled([
      store.reserve(request('r1', 'a')),
      store.settle(settlement('r0', 1n)),
      store.readBalance('a'),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 'rejected', reason: refused });
    expect(store.findFault()).toBeInstanceOf(Error);
    link.release();
    await waitForRecovery(store);
    expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
  });

  it('leaves no late write: afterwards, reservations without an answer can be voided', async () => {
    const { link, store, url } = await openThroughLink();
    link.holdAfter('session commit');
    const reply = store.reserve(request('r1', 'a'));
    reply.catch(() => undefined);
    while ((await queryDatabase(url, 'SELECT FROM pending')).length === 0) await sleep(20);
    link.cut();
    link.release();
    await expect(reply).rejects.toMatchObject(refused);
    await waitForRecovery(store);
    expect(await store.settle(settlement('r1', undefined))).toEqual({ status: 'voided' });
    expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
  });

  it("makes the store end the server's unfinished work first when it reconnects", async () => {
    const { link, store, url } = await openThroughLink();
    const holder = await startHolder(url);
    await holder.freeze('pending');
    const reply = store.reserve(request('r1', 'a'));
    reply.catch(() => undefined);
    await waitForLocks(url, 1);
    link.cut();
    await expect(reply).rejects.toMatchObject(refused);
    await waitForRecovery(store);
    expect(await store.settle(settlement('r1', undefined))).toEqual({ status: 'not_found' });
    await holder.release();
    await sleep(200);
    expect(await queryDatabase(url, 'SELECT FROM pending')).toEqual([]);
    expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
  });

  it('repeats a batch whose connection was reset before its commit', async () => {
    const { link, store, url } = await openThroughLink();
    const holder = await startHolder(url);
    await holder.take('a');
    const reply = store.reserve(request('r1', 'a'));
    await waitForLocks(url, 1);
    link.reset();
    await waitForRecovery(store);
    await holder.release();
    expect(await reply).toMatchObject({ status: 'reserved' });
    expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 0n, pending: 10n });
  });

  it('repeats a batch that is sent on a connection that the server has ended', async () => {
    const { store, url } = await open();
    await store.readBalance('a');
    // What follows a read of a file is sent before the connection is read.
    await readFile(import.meta.filename);
    endConnections(url, 'tollgate %-%');
    expect(await store.reserve(request('r1', 'a'))).toMatchObject({ status: 'reserved' });
  });

  it('ends no process if a connection closes after an answer', async () => {
    const { store, url } = await open();
    await store.readBalance('a');
    const reply = store.readBalance('a');
    await new Promise((resolve) => setImmediate(resolve));
    // Nothing is read meanwhile: both arrive as one, and the end while the connection is still in use.
    endConnections(url, 'tollgate reads');
    expect(await reply).toMatchObject({ total: 1000n });
    expect(await store.readBalance('a')).toMatchObject({ total: 1000n });
  });

  it('settles once if the answer of the first try was lost', async () => {
    const { link, store, url } = await openThroughLink();
    await store.reserve(request('r1', 'a'));
    link.holdAfter('session commit');
    const reply = store.settle(settlement('r1', 4n));
    reply.catch(() => undefined);
    while ((await queryDatabase(url, 'SELECT FROM pending')).length > 0) await sleep(20);
    link.cut();
    link.release();
    await expect(reply).rejects.toMatchObject(refused);
    await waitForRecovery(store);
    expect(await store.settle(settlement('r1', 4n))).toEqual({ status: 'already_posted' });
    expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 4n, pending: 0n });
  });
});

describe('a server that becomes read-only, as a standby is', () => {
  it('is reported until it accepts writes again, even though it accepts connections', async () => {
    const server = await startPostgres();
    closers.push(() => server.end());
    const store = await openPostgres({ url: server.url });
    closers.push(() => store.close());
    await fill(store);
    const writable = `${server.url}?options=-c%20default_transaction_read_only=off`;
    const reload = 'SELECT pg_reload_conf()';
    await queryDatabase(writable, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await queryDatabase(writable, reload);
    await expect
      .poll(() => store.reserve(request('r1', 'a')).catch((error: unknown) => error))
      .toMatchObject({ details: { cause: { message: 'the server is read-only' } } });
    expect(store.findFault()).toMatchObject({ message: 'the server is read-only' });
    await queryDatabase(writable, 'ALTER SYSTEM RESET default_transaction_read_only');
    await queryDatabase(writable, reload);
    await waitForRecovery(store);
    expect(await store.reserve(request('r2', 'a'))).toMatchObject({ status: 'reserved' });
  });
});

it('a commit fails that a synchronous standby lacks, and so does its retry, until it is back', async () => {
  const server = await startPostgres();
  closers.push(() => server.end());
  const store = await openPostgres({ url: server.url });
  closers.push(() => store.close());
  await fill(store);
  await store.reserve(request('r1', 'a'));
  const waitFor = async (standby: string): Promise<void> => {
    await queryDatabase(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
    await queryDatabase(server.url, 'SELECT pg_reload_conf()');
  };
  await waitFor('away');
  let made = 0;
  // The server takes a moment to apply the setting.
  await expect
    .poll(() => store.createAccount({ name: `b${(made += 1)}`, at: 1 }).catch((error: unknown) => error), {
      timeout: 60_000,
    })
    .toMatchObject(refused);
  await waitForRecovery(store);
  await expect(store.settle(settlement('r1', 4n))).rejects.toMatchObject(refused);
  await waitForRecovery(store);
  // The entry is on the primary, where the next try finds it, and is lost if the standby takes over.
  expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 4n, pending: 0n });
  await expect(store.settle(settlement('r1', 4n))).rejects.toMatchObject(refused);
  await waitForRecovery(store);
  await waitFor('');
  await expect
    .poll(() => store.settle(settlement('r1', 4n)).catch(() => undefined), { timeout: 60_000 })
    .toEqual({ status: 'already_posted' });
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0 });
});

it.each([
  ['their table', 'calls'],
  ['that of their sums, which is written last', 'party_sums'],
])(
  'while someone locks %s, calls are not stored, no process ends, and a retry stores them',
  async (_, table) => {
    const { store, url } = await open();
    const unhandled: unknown[] = [];
    const note = (error: unknown): unknown => unhandled.push(error);
    process.on('unhandledRejection', note);
    const holder = await startHolder(url);
    await holder.freeze(table);
    await expect(add(store, buildCall('r1', 'a', 1))).rejects.toMatchObject(refused);
    await holder.release();
    await add(store, buildCall('r1', 'a', 1));
    expect(await store.listCalls({ limit: 2 })).toMatchObject([{ call: 'r1' }]);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  },
);

it('two machines never both reserve the last of a balance, even at the same moment', async () => {
  const { store, url, another } = await open();
  const other = await another();
  closers.push(() => other.close());
  const holder = await startHolder(url);
  await holder.freeze('entries');
  const reply = Promise.all(
    [store, other].map((by, index) => by.reserve(request(`r${index}`, 'a', { quotes: [quote(1000n)] }))),
  );
  await waitForLocks(url, 2);
  await holder.release();
  expect((await reply).map(({ status }) => status).toSorted()).toEqual(['reserved', 'short']);
});

it('another machine that freezes does not block the others with an account that it has locked', async () => {
  const { store, url } = await open();
  const holder = await startHolder(url);
  await holder.take('a');
  await expect(store.reserve(request('r1', 'a'))).rejects.toMatchObject(refused);
  await holder.release();
  expect(await store.reserve(request('r2', 'a'))).toMatchObject({ status: 'reserved' });
  expect(store.findFault()).toBeUndefined();
});

it('a store does nothing of which its driver warns', () => {
  expect(warnings.filter((message) => message.includes('pg@'))).toEqual([]);
});
