/** Sixty-four keys that spend from one account; `npm run faults` has a hundred thousand calls of theirs. */
import { it } from 'vitest';
import { ledgers } from './postgres-database.ts';
import { createRandom } from './pseudo-random.ts';
import { runSpenders } from './spenders.ts';

it.each(ledgers)(
  'many small spenders of one account have spent in %s what their calls cost, to the nano',
  async (_, open) => {
    await runSpenders(await open(), 1500, createRandom(3));
  },
);
