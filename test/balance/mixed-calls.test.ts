/** The ledger against decimal numbers: `npm run faults` does the same with twenty thousand calls. */
import { it } from 'vitest';
import { expectMixedCallsPaid } from './mixed-calls.ts';
import { createRandom } from './pseudo-random.ts';

it("mixed calls cost what the providers' own usage comes to, to the nano", () =>
  expectMixedCallsPaid(300, createRandom(20_260_702)));
