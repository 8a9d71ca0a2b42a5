/**
 * Several gateways on one ledger; a ledger that is down for long, now and then, or full of dead processes'
 * calls; thousands of histories on PostgreSQL: `test/balance/race`, `outage`, `cuts`, `dangling` and the
 * contract.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoreOptions } from '../../plugins/meters/balance/open-store.ts';
import { runDangling } from '../balance/abandoned-calls.ts';
import { race, type Race } from '../balance/balance-race.ts';
import { runCuts } from '../balance/dropped-connections.ts';
import { makeTemporaryFolder } from '../balance/ledger-file.ts';
import { runOutage } from '../balance/outage.ts';
import { openFresh } from '../balance/postgres-database.ts';
import { testStore } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';

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
