/** How warnings are delivered: one process repeats each until the receiver accepts it, for a day at most. */
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  addBudgetWebhook,
  forwardWarnings,
  type Forwarding,
} from '../../plugins/meters/balance/budgets/webhook.ts';
import { registerLedgerMetrics } from '../../plugins/meters/balance/metrics.ts';
import { PluginTables } from '../../plugins/meters/balance/plugin-tables.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { NoticeOutbox } from '../../plugins/shared/notices/outbox.ts';
import { declaration } from '../../plugins/shared/notices/tables.ts';
import { createBudget, newBudget } from '../contract/made-budgets.ts';
import { request } from '../contract/store.ts';
import { createHost } from '../support/host.ts';
import { receiverSecret, startReceiver, type Receiver } from '../support/receiver.ts';
import { openAccount } from './calls.ts';
import { openTemporary } from './ledger-file.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
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

interface Forwarder extends Forwarding {
  readonly log: (readonly [unknown, unknown])[];
  /** Hands over and sends what is due, at a moment that is so many milliseconds later. */
  pass(milliseconds: number): Promise<void>;
  /** What was counted, without zeros. */
  counted(): Promise<Record<string, number>>;
}

async function createForwarder(store: Store, receiver?: Receiver): Promise<Forwarder> {
  if (receiver) closers.push(receiver.close);
  const registry = new Registry();
  const host = createHost([], registry);
  const metrics = registerLedgerMetrics(registry);
  const log: (readonly [unknown, unknown])[] = [];
  vi.spyOn(host.logger, 'warn').mockImplementation(
    (facts: unknown, text: unknown) => void log.push([facts, text]),
  );
  if (receiver) {
    const webhook = { url: receiver.url, secret: receiverSecret, timeout: 5 };
    addBudgetWebhook(host, webhook, { store: () => store, metrics });
  }
  const outbox = host.notices.outboxes.find('notices');
  if (outbox instanceof NoticeOutbox) {
    await outbox.start(await new PluginTables(() => store, host.logger).open(declaration));
    closers.push(() => outbox.stop());
  }
  const forwarder = {
    store,
    logger: host.logger,
    metrics,
    notices: host.notices,
    hasWebhook: receiver !== undefined,
  };
  return {
    ...forwarder,
    log,
    async pass(milliseconds) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
      await forwardWarnings(forwarder);
      if (!(outbox instanceof NoticeOutbox)) return;
      await outbox.run();
      await outbox.waitForMessages();
    },
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
    const forwarder = await createForwarder(await openWarnedStore(), receiver);
    for (let tries = 0; tries < 6; tries += 1) await forwarder.pass(60_000);
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
    expect(await forwarder.counted()).toEqual({ exhausted: 1, failed: 3, ok: 1 });
    expect(await forwarder.store.listWarnings({ limit: 1 })).toMatchObject([{ due: undefined, attempts: 1 }]);
  });

  it('is not called delivered before the receiver has accepted it, and is handed over once', async () => {
    const receiver = await startReceiver(500);
    const forwarder = await createForwarder(await openWarnedStore(), receiver);
    await forwarder.pass(0);
    await Promise.all(Array.from({ length: 8 }, () => forwardWarnings(forwarder)));
    expect(await forwarder.store.listWarnings({ limit: 1 })).toMatchObject([{ due: expect.any(Number) }]);
    expect(receiver.received).toHaveLength(1);
  });

  it('is dropped a day after it was created', async () => {
    const receiver = await startReceiver(...Array.from({ length: 90 }, () => 500));
    const forwarder = await createForwarder(await openWarnedStore(), receiver);
    for (let hours = 0; hours < 60; hours += 1) await forwarder.pass(1_800_000);
    expect(await forwarder.store.listWarnings({ limit: 9 })).toMatchObject([{ due: undefined }]);
    const { length } = receiver.received;
    await forwarder.pass(3_600_000);
    expect(receiver.received).toHaveLength(length);
    expect(await forwarder.counted()).toMatchObject({ exhausted: 1, 'given-up': 1 });
  });

  it('is logged and counted once if there is no webhook', async () => {
    const forwarder = await createForwarder(await openWarnedStore());
    await forwarder.pass(0);
    await forwarder.pass(0);
    expect(forwarder.log).toMatchObject([
      [{ scope: 'account', subject: 'a', allowed: '0' }, 'a budget refuses calls'],
    ]);
    expect(await forwarder.counted()).toEqual({ exhausted: 1 });
  });
});
