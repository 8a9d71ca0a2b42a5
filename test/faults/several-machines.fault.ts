/**
 * Several gateways on one ledger; a ledger that is down for long, now and then, or full of dead processes'
 * calls; thousands of histories on PostgreSQL: `test/balance/race`, `outage`, `cuts`, `dangling` and the
 * contract.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AuditReport } from '../../plugins/meters/balance/audit-report.ts';
import { openStore, type StoreOptions } from '../../plugins/meters/balance/open-store.ts';
import { race, type Race } from '../balance/balance-race.ts';
import { price, progress, quote, settlement } from '../balance/calls.ts';
import { listEntries } from '../balance/killed-gateways.ts';
import { makeTemporaryFolder } from '../balance/ledger-file.ts';
import { runOutage } from '../balance/outage.ts';
import { endConnections, queryDatabase, openFresh } from '../balance/postgres-database.ts';
import { request, testStore } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';
import { openHarness } from '../support/harness.ts';

interface CutsOptions {
  /** How often connections are ended, and the milliseconds between. */
  readonly cuts: number;
  readonly every: number;
  readonly lanes: number;
}

interface Cuts {
  /** Connections that were ended. */
  readonly ended: number;
  /** How many calls got which status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Replies that are neither complete nor a 503 with a retry-after. */
  readonly odd: readonly string[];
  /** Calls whose entries differ from what their clients received, by id. */
  readonly wrong: readonly string[];
  readonly audit: AuditReport;
}

/**
 * Puts a gateway under load whose connections to PostgreSQL an administrator ends again and again, as a proxy
 * between them may do.
 */
async function runCuts({ cuts: count, every, lanes }: CutsOptions): Promise<Cuts> {
  const { url, drop } = await openDatabase();
  const harness = await openHarness({
    credit: '1000',
    ledger: { store: { kind: 'postgres', url, connections: 4 } },
  });
  const over = new AbortController();
  const statuses: Record<number, number> = {};
  const odd: string[] = [];
  /** What each call's client received, by the call's id. */
  const statusOf = new Map<string, number>();
  const runLane = async (_: unknown, index: number): Promise<void> => {
    for (let turn = index; !over.signal.aborted; turn += 1) {
      const stream = turn % 2 === 0;
      const response = await harness.post({
        model: 'openai/gpt-4o-mini',
        stream,
        messages: [{ role: 'user', content: 'Hello!' }],
      });
      const text = await response.text();
      const { status, headers } = response;
      statuses[status] = (statuses[status] ?? 0) + 1;
      statusOf.set(headers.get('x-request-id') ?? '', status);
      const isWhole = status === 200 && text.includes(stream ? '[DONE]' : '"usage"');
      const isRefusal = status === 503 && /^[1-9]\d*$/.test(headers.get('retry-after') ?? '');
      if (!isWhole && !isRefusal) odd.push(`${status} ${text.slice(-300)}`);
      if (!isWhole) await sleep(20);
    }
  };
  try {
    const calling = Promise.all(Array.from({ length: lanes }, runLane));
    let ended = 0;
    for (let cut = 0; cut < count; cut += 1) {
      await sleep(every);
      ended += (await queryDatabase(url, endConnections)).length;
    }
    await sleep(every);
    over.abort();
    await calling;
    const ledger = await openStore({ kind: 'postgres', url, connections: 1 }, '');
    while ((await ledger.sumTotals()).pendingCalls > 0) await sleep(50);
    const entries = Map.groupBy(
      (await listEntries(ledger)).filter(({ kind }) => kind !== 'credit'),
      ({ call = '' }) => call,
    );
    const joinKinds = (id: string): string =>
      (entries.get(id) ?? [])
        .map(({ kind, revenue }) => (kind === 'post' && revenue === 0n ? 'nothing' : kind))
        .join(' ');
    const wrong = [...statusOf].flatMap(([id, status]) => {
      const kinds = joinKinds(id);
      return (status === 200 ? ['reserve post'] : ['', 'reserve void']).includes(kinds)
        ? []
        : [`${id} ${status}: ${kinds}`];
    });
    for (const id of entries.keys()) if (!statusOf.has(id)) wrong.push(`${id}: no client received it`);
    const audit = await ledger.audit();
    await ledger.close();
    return { ended, statuses, odd, wrong, audit };
  } finally {
    over.abort();
    await harness.close();
    await drop();
  }
}

/** The state of a call when its process died: what is owed for it, and why its reservation ends. */
const states = [
  { name: 'untold', owed: 10n, reason: 'presumed_sent' },
  { name: 'under way', owed: 4n, reason: 'recovered' },
  { name: 'dearer than reserved', owed: 25n, reason: 'recovered' },
  { name: 'not sent', owed: 0n, reason: 'never_sent' },
  { name: 'settled', owed: 7n, reason: 'completed' },
] as const;

interface Dangling {
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
async function runDangling(options: StoreOptions, made: number): Promise<Dangling> {
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

const rounds = 200;

function expectOneWinnerEach({ rounds: ran, balance, audit }: Race): void {
  expect(ran).toEqual(Array.from({ length: rounds }, () => ({ statuses: { 200: 1, 402: 499 }, reached: 1 })));
  const spent = BigInt(rounds) * 1_000_000_000n;
  expect(balance).toEqual({ total: spent, used: spent, pending: 0n });
  expect(audit).toMatchObject({ ok: true, findings: [] });
}

describe('500 calls at once for a balance that covers one, in 200 rounds,', () => {
  it.each([1, 4])('make exactly one call through %i processes on one PostgreSQL', async (processes) => {
    const { url, drop } = await openDatabase();
    expectOneWinnerEach(await race({ store: 'postgres', url, processes, calls: 500, rounds }));
    await drop();
  });

  it.each([1, 4])('make exactly one call through %i processes on one SQLite file', async (processes) => {
    expectOneWinnerEach(await race({ store: 'sqlite', processes, calls: 500, rounds }));
  });
});

describe('a PostgreSQL that is down for twenty seconds', () => {
  const milliseconds = 20_000;

  it.each(['stopped', 'silent'] as const)(
    'and %s refuses new spending, and settles running calls once it is back',
    async (kind) => {
      const { refused, ready, whole, longestWait, due, used, audit } = await runOutage({
        kind,
        milliseconds,
        streams: 100,
      });
      expect(refused.status).toBe(503);
      expect(refused.retryAfter).toMatch(/^\d+$/);
      expect(ready).toEqual([200, 503, 200]);
      expect(whole).toBe(100);
      expect(longestWait).toBeLessThan(milliseconds);
      expect(used).toBeCloseTo(due, 9);
      expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
    },
  );
});

describe('a PostgreSQL that ends all connections every five seconds for a minute', () => {
  it('costs some calls a 503 with a retry-after, and loses and doubles no entry', async () => {
    const { ended, statuses, odd, wrong, audit } = await runCuts({ cuts: 12, every: 5000, lanes: 40 });
    process.stdout.write(
      `${ended} connections were ended under calls that were answered ${JSON.stringify(statuses)}\n`,
    );
    expect(ended).toBeGreaterThan(12);
    expect(odd).toEqual([]);
    expect(wrong).toEqual([]);
    expect(statuses[200]).toBeGreaterThan(1000);
    expect(statuses[503]).toBeGreaterThan(0);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  });
});

describe('ten thousand reservations that dead processes left, of every state and age,', () => {
  async function expectResolved(store: StoreOptions): Promise<void> {
    // Three of every twenty had been settled.
    const { readyAfter, resolvedAfter, statuses, wrong, due, used, audit } = await runDangling(store, 12_000);
    process.stdout.write(
      `ready after ${readyAfter.toFixed(0)} ms, resolved ${resolvedAfter.toFixed(0)} ` +
        `ms later, ${statuses.length} calls meanwhile\n`,
    );
    expect(wrong).toEqual([]);
    expect(used).toBe(due);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(statuses.length).toBeGreaterThan(10);
    expect(readyAfter).toBeLessThan(20_000);
    expect(resolvedAfter).toBeLessThan(50_000);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  }

  it('are resolved by a gateway that starts on SQLite and accepts calls meanwhile', async () => {
    const folder = makeTemporaryFolder();
    await expectResolved({ kind: 'sqlite', file: join(folder.path, 'ledger.db') });
    folder.remove();
  });

  it('are resolved by a gateway that starts on PostgreSQL and accepts calls meanwhile', async () => {
    const { url, drop } = await openDatabase();
    await expectResolved({ kind: 'postgres', url, connections: 4 });
    await drop();
  });
});

testStore('PostgreSQL', () => openFresh(), 5000);
