/** A balance for one call and a hundred calls for it: `npm run faults` has many more rounds of the same. */
import { it } from 'vitest';
import { openDatabase } from '../support/database.ts';
import { expectOneWinnerEach } from './balance-race.ts';

it.each(['postgres', 'sqlite'] as const)(
  'of 100 calls at once through two gateways on one ledger in %s, exactly one is made',
  async (store) => {
    const { url, drop } =
      store === 'postgres' ? await openDatabase() : { url: '', drop: async () => undefined };
    await expectOneWinnerEach({ store, url, processes: 2, calls: 100, rounds: 1 });
    await drop();
  },
);
