/** A log that ends anywhere, as after a power loss: `npm run faults` tries a thousand such logs. */
import { it } from 'vitest';
import { expectPowerLossSurvived } from './power-loss.ts';
import { createRandom } from './pseudo-random.ts';

it('a log cut or garbled at any byte opens as a sound ledger with all it acknowledged before', () =>
  expectPowerLossSurvived(12, 60, createRandom(20_260_702)));
