/** The first key of a ledger that two gateways open at the same moment. */
import { describe, expect, it } from 'vitest';
import { makeFirstKey } from '../../plugins/meters/balance/keys.ts';
import { ledgers } from './postgres-database.ts';

describe.each(ledgers)('two gateways that start on one empty ledger in %s', (_, open) => {
  it('make one key, and one of them prints it', async () => {
    const ledger = await open();
    const other = await ledger.another();
    try {
      // Each has looked for keys before either makes one.
      const lines = await Promise.all(
        [ledger.store, other].map((store) => makeFirstKey({ ...store, hasKeys: async () => false }, 5n)),
      );
      expect(lines.filter((line) => line !== undefined)).toEqual([expect.stringContaining('KEY=sk-')]);
      expect(await other.listKeys({ limit: 9 })).toMatchObject([{ name: 'first key', account: 'default' }]);
      expect(await other.readBalance('default')).toMatchObject({ total: 5n });
    } finally {
      await other.close();
      await ledger.dispose();
    }
  });
});
