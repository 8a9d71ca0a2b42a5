/** Gateways that are replaced one by one under load; `npm run faults` does so for longer. */
import { expect, it } from 'vitest';
import { createRandom } from './pseudo-random.ts';
import { runRolling } from './rolling-replacement.ts';

it('gateways replaced one by one, old and new on one ledger, fail no call and charge each once', async () => {
  const options = { restarts: 1, every: 800, lanes: 8, draw: createRandom(11) };
  expect(await runRolling(options)).toBeGreaterThan(8);
});
