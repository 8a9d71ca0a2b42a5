/** A log that ends anywhere, as after a power loss: `npm run faults` tries a thousand such logs. */
import { expect, it } from 'vitest';
import { drawer } from './drawer.ts';
import { powerLoss } from './power-loss.ts';

it('a log cut or garbled at any byte opens with a sound ledger and with everything acknowledged up to there', async () => {
  const { unsound, lost, shortened } = await powerLoss({ turns: 12, remains: 60, draw: drawer(20_260_702) });
  expect({ unsound, lost }).toEqual({ unsound: [], lost: [] });
  expect(shortened).toBeGreaterThan(30);
});
