/**
 * Several gateways on one ledger, a ledger that is down for long, and thousands of histories on PostgreSQL:
 * the long forms of `balance-race` and `outage` in `test/balance`, and of the contract.
 */
import { expect, it } from 'vitest';
import { race, type Race } from '../balance/balance-race.ts';
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

it.each([1, 4])(
  'of 500 calls at once for one balance, %i processes on one PostgreSQL make exactly one',
  async (processes) => {
    const { url, drop } = await openDatabase();
    expectOneWinnerEach(await race({ store: 'postgres', url, processes, calls: 500, rounds }));
    await drop();
  },
);

it.each([1, 4])(
  'of 500 calls at once for one balance, %i processes on one SQLite file make exactly one',
  async (processes) => {
    expectOneWinnerEach(await race({ store: 'sqlite', processes, calls: 500, rounds }));
  },
);

const milliseconds = 20_000;

it.each(['stopped', 'silent'] as const)(
  'a PostgreSQL that is down for 20 s and %s refuses new spending, and settles calls after it',
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

testStore('PostgreSQL', () => openFresh(), 5000);
