/** The ledger's promises in full: the long forms of `test/balance/mixed`, `kills` and the contract's histories. */
import { describe, expect, it } from 'vitest';
import { drawer } from '../balance/drawer.ts';
import { kills } from '../balance/kills.ts';
import { mixedCalls } from '../balance/mixed.ts';
import { runOutage } from '../balance/outage.ts';

const seed = Number(process.env['SEED'] ?? 20_260_702);

describe('twenty thousand mixed calls', () => {
  it("cost what the vendors' own figures come to, to the nano", async () => {
    const { wrong, used, expected, statuses, audit } = await mixedCalls(20_000, drawer(seed));
    expect(statuses).toEqual({ 200: 20_000 });
    expect(wrong).toEqual([]);
    expect(used).toBe(expected);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  });
});

describe('a hundred gateways that are killed under two hundred streams', () => {
  it('lose nothing they told and leave nothing pending, and one that lives is not touched', async () => {
    const { resolvedAfter, completed, recovered, asked, reserved, posted, ...verdict } = await kills({ cycles: 100, streams: 200, living: 5, longest: 3000, lease: 3, draw: drawer(seed) });
    process.stdout.write(`${completed} completed, ${recovered} recovered, ${asked} asked of the vendor; resolved within ${Math.max(...resolvedAfter).toFixed(0)} ms of a restart\n`);
    expect(verdict).toMatchObject({ wrong: [], overcharged: [], touched: [], audit: { ok: true, pending: 0, findings: [] } });
    expect(reserved).toBeGreaterThanOrEqual(asked);
    expect(posted).toBeLessThanOrEqual(asked);
    expect(recovered).toBeGreaterThan(1000);
    expect(Math.max(...resolvedAfter)).toBeLessThan(50_000);
  });
});

describe('a SQLite ledger that cannot be written for twenty seconds', () => {
  it.each(['locked', 'full'] as const)('since it is %s refuses new spending, and settles what ran once it can be', async (kind) => {
    const { refused, ready, whole, longestWait, due, used, audit } = await runOutage({ kind, milliseconds: 20_000, streams: 100 });
    expect(refused).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
    expect(ready).toEqual([200, 503, 200]);
    expect(whole).toBe(100);
    expect(longestWait).toBeLessThan(7000);
    expect(used).toBeCloseTo(due, 9);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  });
});
