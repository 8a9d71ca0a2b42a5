/** A database that stops, a network that fails, and other machines. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { request } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';
import { startPostgres } from '../support/postgres.ts';
import { startTcpLink, type TcpLink } from '../support/tcp-link.ts';
import { quote, settlement } from './calls.ts';
import { queryDatabase, startHolder } from './postgres-database.ts';
import { closeStores, closers, fill, open, waitForRecovery, waitForLocks } from './postgres-stores.ts';

closeStores();

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
    link.holdAfter('batch commit');
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

  it('ends no process if a connection closes after an answer', async () => {
    const { store, url } = await open();
    await store.readBalance('a');
    const reply = store.readBalance('a');
    await new Promise((resolve) => setImmediate(resolve));
    // Nothing is read meanwhile: both arrive as one, and the end while the connection is still in use.
    const end = `SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity
      WHERE application_name = 'tollgate reads' AND datname = current_database()`;
    const script =
      "const client = new (require('pg').Client)(process.argv[1]); " +
      'client.connect().then(() => client.query(process.argv[2])).then(() => client.end())';
    execFileSync(process.execPath, ['-e', script, url, end]);
    expect(await reply).toMatchObject({ total: 1000n });
    expect(await store.readBalance('a')).toMatchObject({ total: 1000n });
  });

  it('settles once if the answer of the first try was lost', async () => {
    const { link, store, url } = await openThroughLink();
    await store.reserve(request('r1', 'a'));
    link.holdAfter('batch commit');
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
