/** Gateways that are killed under load: `npm run faults` kills a hundred of them. */
import { expect, it } from 'vitest';
import { expectExtensionsKilled, runKills } from './killed-gateways.ts';
import { createRandom } from './pseudo-random.ts';

it('killed gateways lose nothing acknowledged and leave nothing pending; live ones keep calls', async () => {
  const kills = { cycles: 2, streams: 25, living: 1, longest: 900, lease: 1, draw: createRandom(7) };
  const { completed, recovered } = await runKills(kills);
  expect(recovered).toBeGreaterThan(0);
  expect(completed).toBeGreaterThan(0);
});

it('gateways killed while calls reserve more leave each with one end, and charge what was sent', () =>
  expectExtensionsKilled(1, 20));
