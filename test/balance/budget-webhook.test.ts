/** How warnings are delivered: one process repeats each until the receiver accepts it, for a day at most. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import {
  deliverWarnings,
  keepDelivering,
  type Delivery,
} from '../../plugins/meters/balance/budgets/webhook.ts';
import { registerLedgerMetrics } from '../../plugins/meters/balance/metrics.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { createBudget, newBudget } from '../contract/made-budgets.ts';
import { request } from '../contract/store.ts';
import { receiverSecret, startReceiver, type Receiver } from '../support/receiver.ts';
import { openAccount } from './calls.ts';
import { openTemporary } from './ledger-file.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A ledger with one warning that is due, created at this moment. */
async function openWarnedStore(at = Date.now()): Promise<Store> {
  const { store, dispose } = await openTemporary();
  closers.push(dispose);
  await openAccount(store, 'a', 1000n);
  await createBudget(store, newBudget('a', 0n));
  expect(await store.reserve(request('r', 'a', { at }))).toMatchObject({ status: 'short', by: 'budget' });
  return store;
}

interface Delivering extends Delivery {
  readonly log: string[];
  /** What was counted, without zeros. */
  counted(): Promise<Record<string, number>>;
}

async function createDelivery(store: Store, receiver?: Receiver): Promise<Delivering> {
  if (receiver) closers.push(receiver.close);
  const [registry, log] = [new Registry(), new Array<string>()];
  return {
    store,
    log,
    logger: pino({ level: 'warn', errorKey: 'error' }, { write: (line: string) => void log.push(line) }),
    metrics: registerLedgerMetrics(registry),
    webhook: receiver && { url: receiver.url, secret: receiverSecret, timeout: 5 },
    every: 5,
    firstPause: 5,
    async counted() {
      const found = await Promise.all(
        ['warnings', 'webhooks'].map((name) =>
          registry.getSingleMetric(`tollgate_budget_${name}_total`)?.get(),
        ),
      );
      const counts = found
        .flatMap((metric) => metric?.values ?? [])
        .filter(({ value }) => value > 0)
        .map(({ labels, value }) => [Object.values(labels).join(), value]);
      return Object.fromEntries(counts);
    },
  };
}

describe('a warning', () => {
  it('is sent again while the receiver fails, redirects or does not answer, and then no more', async () => {
    const receiver = await startReceiver(500, 302, 0);
    const delivery = await createDelivery(await openWarnedStore(), receiver);
    const stop = keepDelivering(delivery);
    await expect.poll(async () => (await delivery.store.listWarnings({ limit: 1 }))[0]?.due).toBeUndefined();
    stop();
    const { received } = receiver;
    expect(received).toHaveLength(4);
    expect(received.every(({ isSigned }) => isSigned)).toBe(true);
    expect(new Set(received.map(({ text }) => text)).size).toBe(1);
    expect(JSON.parse(received[0]?.text ?? '')).toEqual({
      id: 1,
      event: 'budget.exhausted',
      at: expect.any(String),
      budget: {
        id: 1,
        scope: 'account',
        subject: 'a',
        per: 'day',
        zone: 'UTC',
        start: expect.stringMatching(/T00:00:00\.000Z$/),
        allowed: '0',
        used: '0',
        threshold: 100,
      },
    });
    expect(await delivery.counted()).toEqual({ exhausted: 1, failed: 3, ok: 1 });
  });

  it('is sent by one of many processes that look at the same moment', async () => {
    const receiver = await startReceiver();
    const delivery = await createDelivery(await openWarnedStore(), receiver);
    await Promise.all(Array.from({ length: 8 }, () => deliverWarnings(delivery)));
    expect(receiver.received).toHaveLength(1);
  });

  it('is dropped a day after it was created', async () => {
    const receiver = await startReceiver(500, 500, 500);
    const delivery = await createDelivery(await openWarnedStore(Date.now() - 25 * 3_600_000), receiver);
    await deliverWarnings(delivery);
    expect(await delivery.store.listWarnings({ limit: 9 })).toMatchObject([{ due: undefined, attempts: 1 }]);
    expect(await delivery.counted()).toEqual({ exhausted: 1, 'given-up': 1 });
  });

  it('is logged and counted once if there is no webhook', async () => {
    const delivery = await createDelivery(await openWarnedStore());
    await deliverWarnings(delivery);
    await deliverWarnings(delivery);
    expect(delivery.log.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'a budget refuses calls', scope: 'account', subject: 'a', allowed: '0' },
    ]);
    expect(await delivery.counted()).toEqual({ exhausted: 1 });
  });
});
