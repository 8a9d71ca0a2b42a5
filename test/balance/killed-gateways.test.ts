/** Gateways that are killed under load: `npm run faults` kills a hundred of them. */
import { expect, it } from 'vitest';
import { runExtensionKills, runKills } from './killed-gateways.ts';
import { createRandom } from './pseudo-random.ts';

it('killed gateways lose nothing acknowledged and leave nothing pending; live ones keep calls', async () => {
  const {
    resolvedAfter: _resolvedAfter,
    completed,
    recovered,
    presumed: _presumed,
    asked: requestCount,
    reserved,
    ...verdict
  } = await runKills({ cycles: 2, streams: 25, living: 1, longest: 900, lease: 1, draw: createRandom(7) });
  expect(verdict).toMatchObject({
    wrong: [],
    overcharged: [],
    forgotten: [],
    madeUp: [],
    unlike: [],
    touched: [],
    audit: { ok: true, pending: 0, findings: [] },
  });
  expect(recovered).toBeGreaterThan(0);
  expect(completed).toBeGreaterThan(0);
  // Every request to the provider was reserved before.
  expect(reserved).toBeGreaterThanOrEqual(requestCount);
});

it('gateways killed while calls reserve more leave each with one end, and charge what was sent', async () => {
  const { calls, extended, ...verdict } = await runExtensionKills(1, 20);
  expect(verdict).toMatchObject({ wrong: [], audit: { ok: true, pending: 0, findings: [] } });
  expect(calls).toBe(20);
  // The provider has received the dearer request of a quarter.
  expect(extended).toBeGreaterThanOrEqual(5);
});
