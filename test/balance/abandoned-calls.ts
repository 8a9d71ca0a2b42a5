/**
 * A ledger full of calls that dead processes left, of every state and age, and the gateway that starts on it.
 */
import type { AuditReport } from '../../plugins/meters/balance/audit-report.ts';
import { openStore, type StoreOptions } from '../../plugins/meters/balance/open-store.ts';
import { request } from '../contract/store.ts';
import { openHarness } from '../support/harness.ts';
import { price, progress, quote, settlement } from './calls.ts';
import { listEntries } from './killed-gateways.ts';

/** The state of a call when its process died: what is owed for it, and why its reservation ends. */
const states = [
  { name: 'untold', owed: 10n, reason: 'presumed_sent' },
  { name: 'under way', owed: 4n, reason: 'recovered' },
  { name: 'dearer than reserved', owed: 25n, reason: 'recovered' },
  { name: 'not sent', owed: 0n, reason: 'never_sent' },
  { name: 'settled', owed: 7n, reason: 'completed' },
] as const;

export interface Dangling {
  /** Milliseconds until the gateway was ready, and from then on until nothing was pending. */
  readonly readyAfter: number;
  readonly resolvedAfter: number;
  /** The statuses of calls that arrived meanwhile. */
  readonly statuses: readonly number[];
  /** Calls whose end is not what their state requires, or that do not have exactly one end. */
  readonly wrong: readonly string[];
  /** Nano-USD of all of them. */
  readonly due: bigint;
  readonly used: bigint | undefined;
  readonly audit: AuditReport;
}

/**
 * `made` calls of four processes, one of which never sent a heartbeat: the ledger knows no more of its calls
 * than of those without progress.
 */
export async function runDangling(options: StoreOptions, made: number): Promise<Dangling> {
  const ledger = await openStore(options, '');
  await ledger.definePrice(price);
  await ledger.createAccount({ name: 'dead', at: 1 });
  await ledger.addCredit({ account: 'dead', amount: 10n ** 9n, kind: 'bonus', reference: undefined, at: 1 });
  const expected = new Map<string, (typeof states)[number]>();
  for (const owner of ['first', 'second', 'third', 'silent']) {
    const [untold] = states;
    const calls = Array.from({ length: made / 4 }, (_, index) => ({
      id: `${owner}-${index}`,
      state: owner === 'silent' ? untold : (states[index % states.length] ?? untold),
      age: index * 300_000,
    }));
    for (const { id, state } of calls) expected.set(id, state);
    const dead = await openStore(options, '');
    await Promise.all(
      calls.map(({ id, age }) =>
        dead.reserve(request(id, 'dead', { quotes: [quote(10n)], at: Date.now() - age })),
      ),
    );
    const reported = calls.filter(
      ({ state }) => state.reason === 'recovered' || state.reason === 'never_sent',
    );
    if (owner !== 'silent')
      await dead.beat({
        lease: 1000,
        progress: reported.map(({ id, state }) =>
          progress(id, state.owed, { sent: state.reason === 'recovered' }),
        ),
      });
    await Promise.all(
      calls.flatMap(({ id, state }) =>
        state.reason === 'completed' ? [dead.settle(settlement(id, state.owed))] : [],
      ),
    );
    await dead.close();
  }
  const began = performance.now();
  const harness = await openHarness({ ledger: { store: options, lease: 1 } });
  try {
    const readyAfter = performance.now() - began;
    const statuses: number[] = [];
    do {
      const response = await harness.post({
        model: 'openai/gpt-4o-mini',
        messages: [{ role: 'user', content: 'Hello!' }],
      });
      await response.text();
      statuses.push(response.status);
    } while ((await ledger.sumTotals()).pendingCalls > 0);
    const resolvedAfter = performance.now() - began - readyAfter;
    const ends = Map.groupBy(
      (await listEntries(ledger)).filter(
        ({ account, kind }) => account === 'dead' && kind !== 'credit' && kind !== 'reserve',
      ),
      ({ call = '' }) => call,
    );
    const wrong = [...expected].flatMap(([id, { name, owed, reason }]) => {
      const [end, ...more] = ends.get(id) ?? [];
      const paid = more.reduce((sum, { revenue }) => sum + revenue, end?.revenue ?? 0n);
      const isOne = end?.reason === reason && paid === owed && more.every(({ kind }) => kind === 'overage');
      return isOne && (end.kind === 'void') === (reason === 'never_sent') ? [] : [`${id}, ${name}`];
    });
    const due = expected.values().reduce((sum, { owed }) => sum + owed, 0n);
    return {
      readyAfter,
      resolvedAfter,
      statuses,
      wrong,
      due,
      used: (await ledger.readBalance('dead'))?.used,
      audit: await ledger.audit(),
    };
  } finally {
    await harness.close();
    await ledger.close();
  }
}
