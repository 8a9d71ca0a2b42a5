/**
 * The PostgreSQL store: the contract, what shares a transaction, and how it handles faults of the database
 * and the network.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { expectSound } from '../contract/books.ts';
import { request, testStore } from '../contract/store.ts';
import { startCable, type Cable } from '../support/cable.ts';
import { freshDatabase } from '../support/database.ts';
import { startPostgres } from '../support/postgres.ts';
import { newKey, price, quote, settlement } from './calls.ts';
import {
  endConnections,
  inDatabase,
  openFresh,
  startHolder,
  type OpenedDatabase,
} from './postgres-database.ts';

testStore('PostgreSQL', () => openFresh());

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function fill(store: Store): Promise<void> {
  await store.definePrice(price);
  await store.createAccount({ name: 'a', at: 1 });
  await store.credit({ account: 'a', amount: 1000n, kind: 'top-up', reference: undefined, at: 1 });
}

async function open(options: Parameters<typeof openFresh>[0] = {}): Promise<OpenedDatabase> {
  const opened = await openFresh(options);
  closers.push(() => opened.dispose());
  await fill(opened.store);
  return opened;
}

const refused = { code: 'ledger_unavailable', status: 503, details: { retryAfter: 1 } };

async function recovered(store: Store): Promise<void> {
  while (store.health()) await sleep(20);
}

/** Resolves once so many wait for a lock that someone else holds. */
async function waitForLocks(url: string, count: number): Promise<void> {
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  while ((await inDatabase(url, waiting)).length < count) await sleep(20);
}

describe('a group', () => {
  it('is written in one transaction, however many operations share the turn', async () => {
    const groups: number[] = [];
    const { store, url } = await open({ onGroup: ({ operations }) => groups.push(operations) });
    groups.length = 0;
    await Promise.all(Array.from({ length: 64 }, (_, index) => store.reserve(request(`r${index}`, 'a'))));
    expect(groups).toEqual([64]);
    expect(await inDatabase(url, "SELECT DISTINCT written FROM entries WHERE kind = 'reserve'")).toHaveLength(
      1,
    );
  });

  it('keeps the other operations if one is refused and one breaks a rule of the tables', async () => {
    const { store, books } = await open();
    const answers = await Promise.allSettled([
      store.reserve(request('r1', 'a')),
      store.reserve(request('too-much', 'a', { quotes: [quote(5000n)] })),
      store.settle(settlement('unknown', 1n)),
      store.reserve(request('r1', 'a')),
      store.credit({ account: 'a', amount: 2n ** 63n, kind: 'bonus', reference: undefined, at: 1 }),
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
    expect(store.health()).toBeUndefined();
    expectSound(await books());
  });

  it('is written again after a deadlock with another transaction', async () => {
    const { store, url, books } = await open();
    await store.createAccount({ name: 'b', at: 1 });
    const holder = await startHolder(url);
    await holder.take('b');
    const answers = Promise.all([
      store.credit({ account: 'a', amount: 1n, kind: 'bonus', reference: undefined, at: 1 }),
      store.reserve(request('r1', 'b', { quotes: [quote(0n)] })),
    ]);
    await waitForLocks(url, 1);
    // Each wants what the other has: the database ends the one that waited longer.
    await holder.take('a');
    await holder.letGo();
    expect(await answers).toMatchObject(['credited', { status: 'reserved' }]);
    expectSound(await books());
  });
});

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
    expect(store.health()).toBeInstanceOf(Error);
    await server.start();
    await recovered(store);
    expect(await store.settle(settlement('before', 4n))).toEqual({
      status: 'posted',
      posted: 4n,
      overage: 0n,
    });
    expect(await store.reserve(request('meanwhile', 'a'))).toMatchObject({ status: 'reserved' });
    expect(await store.balance('a')).toEqual({ total: 1000n, used: 4n, pending: 10n });
    expect(await store.audit()).toMatchObject({ ok: true });
  });
});

describe('a network that fails', () => {
  async function wired(): Promise<{ cable: Cable; store: Store; url: string }> {
    const { url, drop } = await freshDatabase();
    closers.push(drop);
    const cable = await startCable(Number(new URL(url).port));
    closers.push(() => cable.close());
    const through = new URL(url);
    through.port = String(cable.port);
    const store = await openPostgres({ url: through.href });
    closers.push(() => store.close());
    await fill(store);
    return { cable, store, url };
  }

  it('is noticed if answers stop, within the time a reply waits for its entry', async () => {
    const { cable, store } = await wired();
    cable.hold();
    const answers = await Promise.allSettled([
      store.reserve(request('r1', 'a')),
      store.settle(settlement('r0', 1n)),
      store.balance('a'),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 'rejected', reason: refused });
    expect(store.health()).toBeInstanceOf(Error);
    cable.release();
    await recovered(store);
    expect(await store.balance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
  });

  it('leaves no late write: afterwards, reservations without an answer can be voided', async () => {
    const { cable, store, url } = await wired();
    cable.holdAfter('batch commit');
    const asked = store.reserve(request('r1', 'a'));
    asked.catch(() => undefined);
    while ((await inDatabase(url, 'SELECT FROM pending')).length === 0) await sleep(20);
    cable.cut();
    cable.release();
    await expect(asked).rejects.toMatchObject(refused);
    await recovered(store);
    expect(await store.settle(settlement('r1', undefined))).toEqual({ status: 'voided' });
    expect(await store.balance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
  });

  it("makes the store end the server's unfinished work first when it reconnects", async () => {
    const { cable, store, url } = await wired();
    const holder = await startHolder(url);
    await holder.freeze('pending');
    const asked = store.reserve(request('r1', 'a'));
    asked.catch(() => undefined);
    await waitForLocks(url, 1);
    cable.cut();
    await expect(asked).rejects.toMatchObject(refused);
    await recovered(store);
    expect(await store.settle(settlement('r1', undefined))).toEqual({ status: 'not_found' });
    await holder.letGo();
    await sleep(200);
    expect(await inDatabase(url, 'SELECT FROM pending')).toEqual([]);
    expect(await store.balance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
  });

  it('ends no process if a connection closes after an answer', async () => {
    const { store, url } = await open();
    await store.balance('a');
    const asked = store.balance('a');
    await new Promise((resolve) => setImmediate(resolve));
    // Nothing is read meanwhile: both arrive as one, and the end while the connection is still in use.
    const end = `SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity
      WHERE application_name = 'tollgate reads' AND datname = current_database()`;
    const script =
      "const client = new (require('pg').Client)(process.argv[1]); " +
      'client.connect().then(() => client.query(process.argv[2])).then(() => client.end())';
    execFileSync(process.execPath, ['-e', script, url, end]);
    expect(await asked).toMatchObject({ total: 1000n });
    expect(await store.balance('a')).toMatchObject({ total: 1000n });
  });

  it('settles once if the answer of the first try was lost', async () => {
    const { cable, store, url } = await wired();
    await store.reserve(request('r1', 'a'));
    cable.holdAfter('batch commit');
    const asked = store.settle(settlement('r1', 4n));
    asked.catch(() => undefined);
    while ((await inDatabase(url, 'SELECT FROM pending')).length > 0) await sleep(20);
    cable.cut();
    cable.release();
    await expect(asked).rejects.toMatchObject(refused);
    await recovered(store);
    expect(await store.settle(settlement('r1', 4n))).toEqual({ status: 'already_posted' });
    expect(await store.balance('a')).toEqual({ total: 1000n, used: 4n, pending: 0n });
  });
});

describe('a server that became a standby', () => {
  it('is replaced by a connection to the server that accepts writes', async () => {
    const { store, url } = await open();
    const name = new URL(url).pathname.slice(1);
    await inDatabase(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await inDatabase(url, endConnections);
    await expect
      .poll(() => store.reserve(request('r1', 'a')).catch((error: unknown) => error))
      .toMatchObject({ details: { cause: { code: '25006' } } });
    await inDatabase(
      new URL('/postgres', url).href,
      `ALTER DATABASE ${name} RESET default_transaction_read_only`,
    );
    await expect
      .poll(() => store.reserve(request('r1', 'a')).catch((error: unknown) => error))
      .toMatchObject({ status: 'reserved' });
  });
});

describe('two machines', () => {
  it('never both reserve the last of a balance, even at the same moment', async () => {
    const { store, url, another } = await open();
    const other = await another();
    closers.push(() => other.close());
    const holder = await startHolder(url);
    await holder.freeze('entries');
    const asked = Promise.all(
      [store, other].map((by, index) => by.reserve(request(`r${index}`, 'a', { quotes: [quote(1000n)] }))),
    );
    await waitForLocks(url, 2);
    await holder.letGo();
    expect((await asked).map(({ status }) => status).toSorted()).toEqual(['reserved', 'short']);
  });
});

describe('another machine that freezes', () => {
  it('does not block the others with an account that it has locked', async () => {
    const { store, url } = await open();
    const holder = await startHolder(url);
    await holder.take('a');
    await expect(store.reserve(request('r1', 'a'))).rejects.toMatchObject(refused);
    await holder.letGo();
    expect(await store.reserve(request('r2', 'a'))).toMatchObject({ status: 'reserved' });
    expect(store.health()).toBeUndefined();
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
    const asked = store.reserve(request('r1', 'a'));
    await waitForLocks(url, 1);
    await inDatabase(
      url,
      `SELECT ${undo} FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    await holder.letGo();
    expect(await asked).toMatchObject({ status: 'reserved' });
    expectSound(await books());
  });

  it('is written again if the process was too slow between two statements', async () => {
    const { store, url, books } = await open();
    const holder = await startHolder(url);
    await holder.take('a');
    const asked = store.reserve(request('r1', 'a'));
    await waitForLocks(url, 1);
    const gone = holder.letGo();
    // Longer than the server lets a transaction be idle.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
    await gone;
    expect(await asked).toMatchObject({ status: 'reserved' });
    expectSound(await books());
  });
});

describe('the database', () => {
  it('refuses to change or delete an entry', async () => {
    const { url } = await open();
    for (const statement of ['UPDATE entries SET at = 0', 'DELETE FROM entries', 'TRUNCATE entries']) {
      await expect(inDatabase(url, statement), statement).rejects.toThrow('never changed or deleted');
    }
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
    await holder.letGo();
    await early;
    expect(await store.audit()).toMatchObject({ ok: true, entries: entries + 1, findings: [] });
    expect((await store.entries({ limit: 100 })).map(({ call }) => call)).toEqual([
      undefined,
      'early',
      'late',
    ]);
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
    await expect(inDatabase(url, another)).rejects.toThrow('one_end');
  });

  it('can be opened by several processes at once when it is new', async () => {
    const { url, drop } = await freshDatabase();
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
      await inDatabase(url, `ALTER TABLE ${table} ADD COLUMN later text`);
    await store.settle(settlement('r2', 3n)).catch(() => recovered(store));
    await expect
      .poll(() => store.settle(settlement('r2', 3n)).catch(() => undefined), { timeout: 30_000 })
      .toMatchObject({ status: expect.stringMatching(/^(already_)?posted$/) });
    expect(await store.audit()).toMatchObject({ ok: true, pending: 0 });
  });

  it('is refused if it has version 1, which was never released', async () => {
    const { store, url } = await open();
    await store.close();
    await inDatabase(url, 'UPDATE steps SET count = 1');
    await expect(openPostgres({ url })).rejects.toThrow(
      'cannot be opened: it has version 1, which was never released',
    );
  });

  it('is refused if newer, not durable or unreachable, and the error hides the password', async () => {
    const { store, url } = await open();
    await store.close();
    await inDatabase(url, 'UPDATE steps SET count = 99');
    await expect(openPostgres({ url })).rejects.toThrow(
      /the ledger 127\.0\.0\.1:\d+\/\w+ cannot be opened: it has version 99 .* newer/,
    );
    await inDatabase(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`);
    await expect(openPostgres({ url })).rejects.toThrow('synchronous_commit is off');
    await expect(openPostgres({ url: 'postgres://someone:secret@127.0.0.1:1/ledger' })).rejects.toThrow(
      /^the ledger 127\.0\.0\.1:1\/ledger cannot be opened: (?!.*secret)/,
    );
  });
});
