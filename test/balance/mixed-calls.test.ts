/** The ledger against decimal numbers: `npm run faults` does the same with twenty thousand calls. */
import { expect, it } from 'vitest';
import { runMixedCalls } from './mixed-calls.ts';
import { createRandom } from './pseudo-random.ts';

it("mixed calls cost what the providers' own usage comes to, to the nano", async () => {
  const { calls, wrong, used, expected, statuses, audit } = await runMixedCalls(
    300,
    createRandom(20_260_702),
  );
  expect(statuses).toEqual({ 200: 300 });
  expect(calls).toBe(300);
  expect(wrong).toEqual([]);
  expect(used).toBe(expected);
  expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
});
