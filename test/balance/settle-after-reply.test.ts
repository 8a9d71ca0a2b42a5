/** `settle: 'after-reply'`: the client does not wait for the entry, and a kill before it loses no call. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { PendingRecord, Store } from '../../plugins/meters/balance/store.ts';
import { waitUntil } from '../support/operated.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';
import { listEntries, computeCost, startJournallingVendor, stream, type Made } from './killed-gateways.ts';

let folder: string;
let store: Store;
let vendor: Awaited<ReturnType<typeof startJournallingVendor>>;
const running: RunningGateway[] = [];

beforeEach(async () => {
  folder = makeDataFolder();
  vendor = await startJournallingVendor(20);
  store = await openSqlite({ file: join(folder, 'ledger.db') });
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 10n ** 12n, kind: 'bonus', reference: undefined, at: 1 });
});

afterEach(async () => {
  for (const gateway of running.splice(0)) gateway.child.kill('SIGKILL');
  await store.close();
  await vendor.vendor.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(settle: string): Promise<RunningGateway> {
  const gateway = await startProcess({
    TOLLGATE_CONFIG: 'test/balance/killed-gateways.config.ts',
    TOLLGATE_DATA: folder,
    KILLS_LEASE: '1',
    KILLS_SETTLE: settle,
    OPENAI_API_KEY: 'sk-vendor',
    OPENAI_BASE_URL: vendor.vendor.origin,
  });
  running.push(gateway);
  return gateway;
}

async function listPending(): Promise<readonly PendingRecord[]> {
  return store.listPending({ limit: 10 });
}

/** A call whose progress a heartbeat has recorded, and a lock that keeps the gateway from writing more. */
async function callBehindLock(
  gateway: RunningGateway,
): Promise<{ made: Made; call: Promise<void>; lock: DatabaseSync }> {
  const key = await issueKey(store, { name: 'one', account: 'a' });
  const made: Made = { marker: 'call-one', key: key?.id ?? '', id: undefined, words: 0, done: false };
  const call = stream(gateway.url, key?.secret ?? '', made, 150);
  await waitUntil(async () => (await listPending()).some(({ delivered }) => delivered > 0));
  const lock = new DatabaseSync(join(folder, 'ledger.db'), { timeout: 60_000 });
  lock.exec('BEGIN IMMEDIATE');
  return { made, call, lock };
}

it('settles a call after its reply, and a killed one by its last recorded progress', async () => {
  const gateway = await start('after-reply');
  const { made, call, lock } = await callBehindLock(gateway);
  await call;
  expect(made.done).toBe(true);
  expect(await listPending()).toHaveLength(1);
  await gateway.stop('SIGKILL');
  lock.exec('ROLLBACK');
  lock.close();
  await start('after-reply');
  await waitUntil(async () => (await listPending()).length === 0);
  const ends = (await listEntries(store)).filter(({ kind }) => kind === 'post');
  expect(ends).toEqual([expect.objectContaining({ flags: ['recovered'] })]);
  expect(ends[0]?.revenue).toBeGreaterThan(0n);
  expect(ends[0]?.revenue).toBeLessThanOrEqual(computeCost(Math.ceil((150 * 5) / 4) + 100));
  expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
});

it('holds the last bytes of a reply until its entry is written by default', async () => {
  const gateway = await start('before-reply');
  const { made, call, lock } = await callBehindLock(gateway);
  await waitUntil(() => made.words === 150);
  await sleep(200);
  expect(made.done).toBe(false);
  lock.exec('ROLLBACK');
  lock.close();
  await call;
  expect(made.done).toBe(true);
  await waitUntil(async () => (await listPending()).length === 0);
  const [end] = (await listEntries(store)).filter(({ kind }) => kind === 'post');
  expect(end?.revenue).toBe(computeCost(150));
});
