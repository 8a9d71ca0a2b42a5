/**
 * Many small spenders: keys of one account whose calls are reserved and settled in any order, compared with
 * sums kept beside the ledger.
 */
import { expect } from 'vitest';
import type { OpenedStore } from '../contract/books.ts';
import { openAccount, newKey, quote, settlement } from './calls.ts';

const keys = 64;
const inFlight = 256;

function formatKey(index: number): string {
  return index.toString(16).padStart(16, '0');
}

/** Returns how many calls a second there were. */
export async function runSpenders(
  { store, dispose }: OpenedStore,
  count: number,
  draw: (below: number) => number,
): Promise<number> {
  await openAccount(store, 'a', 10n ** 15n);
  for (let index = 0; index < keys; index += 1) await store.createKey(newKey(formatKey(index), 'a'));
  const spent = new Map<string, bigint>();
  const began = performance.now();
  let left = count;
  const spend = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const [id, key] = [`call-${left}`, formatKey(draw(keys))];
      const cost = draw(5) === 0 ? undefined : BigInt(draw(120));
      const reserved = await store.reserve({ id, account: 'a', key, quotes: [quote(100n)], at: 1 });
      if (reserved.status !== 'reserved') throw new Error(`refused: ${reserved.status}`);
      // Others reserve and settle meanwhile, so that no two of them end in the order they began.
      for (let turns = draw(4); turns > 0; turns -= 1) await new Promise(setImmediate);
      await store.settle(settlement(id, cost));
      spent.set(key, (spent.get(key) ?? 0n) + (cost ?? 0n));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, spend));
  const perSecond = (count * 1000) / (performance.now() - began);
  for (const { id, used, pending } of await store.listKeys({ limit: keys }))
    expect([id, used, pending]).toEqual([id, spent.get(id) ?? 0n, 0n]);
  const all = spent.values().reduce((sum, each) => sum + each, 0n);
  expect(await store.readBalance('a')).toMatchObject({ used: all });
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
  await dispose();
  return perSecond;
}
