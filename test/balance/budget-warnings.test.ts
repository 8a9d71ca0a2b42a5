/** How warnings are handed over: to the outbox of notices, once whatever the number of processes. */
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { forwardWarnings, type Forwarding } from '../../plugins/meters/balance/budgets/warnings.ts';
import { registerLedgerMetrics } from '../../plugins/meters/balance/metrics.ts';
import { PluginTables } from '../../plugins/meters/balance/plugin-tables.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import type { Message } from '../../plugins/shared/notices/message.ts';
import { useOutbox } from '../../plugins/shared/notices/outbox.ts';
import { declaration } from '../../plugins/shared/notices/tables.ts';
import { createBudget, newBudget } from '../contract/made-budgets.ts';
import { request } from '../contract/store.ts';
import { createHost } from '../support/host.ts';
import { openAccount } from './calls.ts';
import { openTemporary } from './ledger-file.ts';

const hour = 3_600_000;
const day = 24 * hour;

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
  /** What a channel was sent. */
  readonly messages: Message[];
  /** Hands over and sends what is due. */
  pass(): Promise<void>;
  /** What was counted, without zeros. */
  counted(): Promise<readonly object[]>;
}

async function createForwarder(store: Store, hasOutbox: boolean): Promise<Forwarder> {
  const registry = new Registry();
  const host = createHost([], registry);
  const metrics = registerLedgerMetrics(registry);
  const log: (readonly [unknown, unknown])[] = [];
  const messages: Message[] = [];
  vi.spyOn(host.logger, 'warn').mockImplementation(
    (facts: unknown, text: unknown) => void log.push([facts, text]),
  );
  const outbox = hasOutbox ? useOutbox(host) : undefined;
  outbox?.channels.set('room', {
    name: 'room',
    every: 0,
    timeout: 60_000,
    takes: () => true,
    send: async (message) => void messages.push(message),
  });
  if (outbox) {
    await outbox.start(await new PluginTables(() => store, host.logger).open(declaration));
    closers.push(() => outbox.stop());
  }
  const forwarder = { store, logger: host.logger, metrics, notices: host.notices };
  return {
    ...forwarder,
    log,
    messages,
    async pass() {
      await forwardWarnings(forwarder);
      await outbox?.run();
      await outbox?.waitForMessages();
    },
    async counted() {
      const metric = await registry.getSingleMetric('tollgate_budget_warnings_total')?.get();
      return (metric?.values ?? []).filter(({ value }) => value > 0);
    },
  };
}

const counted = [{ labels: { event: 'exhausted' }, value: 1 }];

describe('a warning', () => {
  it('is handed over once by many processes, with what its budget allows and has used', async () => {
    const forwarder = await createForwarder(await openWarnedStore(), true);
    await Promise.all(Array.from({ length: 8 }, () => forwardWarnings(forwarder)));
    await forwarder.pass();
    const facts = {
      id: 1,
      scope: 'account',
      subject: 'a',
      name: 'a',
      per: 'day',
      zone: 'UTC',
      start: expect.stringMatching(/T00:00:00\.000Z$/),
      allowed: '0',
      used: '0',
      threshold: 100,
    };
    expect(forwarder.messages).toMatchObject([
      { event: 'budget.exhausted', notices: [{ subject: 'budget 1', accounts: ['a'], facts }] },
    ]);
    expect(await forwarder.counted()).toMatchObject(counted);
    expect(await forwarder.store.hasDueWarnings({ at: Date.now() + day })).toBe(false);
  });

  it('that the outbox cannot keep is handed over again, for a day', async () => {
    const forwarder = await createForwarder(await openWarnedStore(), true);
    const { outbox } = forwarder.notices;
    if (!outbox) throw new Error('the host has an outbox');
    const raise = vi.spyOn(outbox, 'raise').mockResolvedValue(false);
    const start = Date.now();
    for (const at of [0, 1, 23].map((hours) => start + hours * hour)) {
      vi.useFakeTimers({ toFake: ['Date'], now: at });
      await forwardWarnings(forwarder);
      expect(await forwarder.store.hasDueWarnings({ at: at + hour })).toBe(true);
    }
    expect(raise).toHaveBeenCalledTimes(3);
    vi.useFakeTimers({ toFake: ['Date'], now: start + day + hour });
    await forwardWarnings(forwarder);
    expect(await forwarder.store.hasDueWarnings({ at: start + 9 * day })).toBe(false);
    expect(await forwarder.counted()).toMatchObject(counted);
  });

  it('is logged and counted once if there is no outbox', async () => {
    const forwarder = await createForwarder(await openWarnedStore(), false);
    await forwarder.pass();
    await forwarder.pass();
    expect(forwarder.log).toMatchObject([
      [{ scope: 'account', subject: 'a', allowed: '0' }, 'a budget refuses calls'],
    ]);
    expect(await forwarder.counted()).toMatchObject(counted);
  });
});
