/** `settle: 'after-reply'`: the client does not wait for the entry, and a kill before it loses no call. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PendingRecord } from '../../plugins/meters/balance/store.ts';
import { waitUntil } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { computeCost, listEntries, openJournalled, type Made } from './journalled.ts';
import { lock } from './ledger-file.ts';

let opened: Awaited<ReturnType<typeof openJournalled>>;
beforeEach(async () => {
  opened = await openJournalled({ lease: 1, pause: 20 });
});
afterEach(() => opened.close());

const start = (settle: string): Promise<RunningGateway> => opened.start({ JOURNALLED_SETTLE: settle });

async function listPending(): Promise<readonly PendingRecord[]> {
  return opened.store.listPending({ limit: 10 });
}

/** A call whose progress a heartbeat has recorded, and a lock that keeps the gateway from writing more. */
async function callBehindLock(
  gateway: RunningGateway,
): Promise<{ made: Made; call: Promise<unknown>; unlock: () => void }> {
  const { calls, over } = await opened.begin(gateway, 1, 150);
  const [made] = calls;
  if (!made) throw new Error('there is a call');
  await waitUntil(async () => (await listPending()).some(({ delivered }) => delivered > 0));
  return { made, call: over, unlock: lock(opened.file) };
}

it('settles a call after its reply, and a killed one by its last recorded progress', async () => {
  const gateway = await start('after-reply');
  const { made, call, unlock } = await callBehindLock(gateway);
  await call;
  expect(made.done).toBe(true);
  expect(await listPending()).toHaveLength(1);
  await gateway.stop('SIGKILL');
  unlock();
  await start('after-reply');
  await waitUntil(async () => (await listPending()).length === 0);
  const ends = (await listEntries(opened.store)).filter(({ kind }) => kind === 'post');
  expect(ends).toEqual([expect.objectContaining({ flags: ['recovered'] })]);
  expect(ends[0]?.revenue).toBeGreaterThan(0n);
  expect(ends[0]?.revenue).toBeLessThanOrEqual(computeCost(Math.ceil((150 * 5) / 4) + 100));
  expect(await opened.store.audit()).toMatchObject({ ok: true, findings: [] });
});

it('holds the last bytes of a reply until its entry is written by default', async () => {
  const gateway = await start('before-reply');
  const { made, call, unlock } = await callBehindLock(gateway);
  await waitUntil(() => made.words === 150);
  await sleep(200);
  expect(made.done).toBe(false);
  unlock();
  await call;
  expect(made.done).toBe(true);
  await waitUntil(async () => (await listPending()).length === 0);
  const [end] = (await listEntries(opened.store)).filter(({ kind }) => kind === 'post');
  expect(end?.revenue).toBe(computeCost(150));
});
