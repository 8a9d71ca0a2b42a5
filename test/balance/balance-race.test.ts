/** A balance for one call and a hundred calls for it: `npm run faults` has many more rounds of the same. */
import { expect, it } from 'vitest';
import { openDatabase } from '../support/database.ts';
import { race } from './balance-race.ts';

it.each(['postgres', 'sqlite'] as const)(
  'of 100 calls at once through two gateways on one ledger in %s, exactly one is made',
  async (store) => {
    const { url, drop } =
      store === 'postgres' ? await openDatabase() : { url: '', drop: async () => undefined };
    const { rounds, balance, audit } = await race({ store, url, processes: 2, calls: 100, rounds: 1 });
    expect(rounds).toEqual([{ statuses: { 200: 1, 402: 99 }, reached: 1 }]);
    expect(balance).toEqual({ total: 1_000_000_000n, used: 1_000_000_000n, pending: 0n });
    expect(audit).toMatchObject({ ok: true, findings: [] });
    await drop();
  },
);
