/** A log that ends anywhere, as after a power loss: `npm run faults` tries a thousand such logs. */
import { expect, it } from 'vitest';
import { runPowerLoss } from './power-loss.ts';
import { createRandom } from './pseudo-random.ts';

it('a log cut or garbled at any byte opens as a sound ledger with all it acknowledged before', async () => {
  const { unsound, lost, shortened } = await runPowerLoss({
    turns: 12,
    remains: 60,
    draw: createRandom(20_260_702),
  });
  expect({ unsound, lost }).toEqual({ unsound: [], lost: [] });
  expect(shortened).toBeGreaterThan(30);
});
