/** Several gateways on one ledger, and a ledger that is away for long: the full forms of `test/balance/race` and `outage`. */
import { describe, expect, it } from 'vitest';
import { race, type Race } from '../balance/race.ts';
import { runOutage } from '../balance/outage.ts';
import { freshDatabase } from '../support/database.ts';

const rounds = 200;

function expectOneWinnerEach({ rounds: ran, balance, audit }: Race): void {
  expect(ran).toEqual(Array.from({ length: rounds }, () => ({ statuses: { 200: 1, 402: 499 }, reached: 1 })));
  const spent = BigInt(rounds) * 1_000_000_000n;
  expect(balance).toEqual({ total: spent, used: spent, pending: 0n });
  expect(audit).toMatchObject({ ok: true, findings: [] });
}

describe('of 500 calls at once for a balance that affords one, exactly one is made, in 200 rounds,', () => {
  it.each([1, 4])('through %i processes on one PostgreSQL', async (processes) => {
    const { url, drop } = await freshDatabase();
    expectOneWinnerEach(await race({ store: 'postgres', url, processes, calls: 500, rounds }));
    await drop();
  });

  it.each([1, 4])('through %i processes on one SQLite file', async (processes) => {
    expectOneWinnerEach(await race({ store: 'sqlite', processes, calls: 500, rounds }));
  });
});

describe('a PostgreSQL that is away for twenty seconds', () => {
  it.each(['stopped', 'silent'] as const)('and %s refuses new spending, and settles what ran once it is back', async (kind) => {
    const { refused, ready, whole, longestWait, due, used, audit } = await runOutage({ kind, milliseconds: 20_000, streams: 100 });
    expect(refused.status).toBe(503);
    expect(refused.retryAfter).toMatch(/^\d+$/);
    expect(ready).toEqual([200, 503, 200]);
    expect(whole).toBe(100);
    expect(longestWait).toBeLessThan(7000);
    expect(used).toBeCloseTo(due, 9);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  });
});
