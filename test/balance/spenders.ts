/**
 * Many small spenders: keys of one account whose calls are reserved and settled in any order, compared with
 * sums kept beside the ledger.
 */
import type { Store } from '../../plugins/meters/balance/store.ts';
import type { OpenedStore } from '../contract/books.ts';
import { newKey, price, quote, settlement } from './calls.ts';

const keys = 64;
const inFlight = 256;

export interface Spenders {
  /** Keys whose recorded spending differs from what their calls cost. */
  readonly wrong: readonly string[];
  readonly used: bigint;
  readonly expected: bigint;
  readonly perSecond: number;
  readonly audit: Awaited<ReturnType<Store['audit']>>;
}

function formatKey(index: number): string {
  return index.toString(16).padStart(16, '0');
}

export async function runSpenders(
  { store, dispose }: OpenedStore,
  count: number,
  draw: (below: number) => number,
): Promise<Spenders> {
  await store.definePrice(price);
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 10n ** 15n, kind: 'top-up', reference: undefined, at: 1 });
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
  const kept = await store.listKeys({ limit: keys });
  const wrong = kept
    .filter(({ id, used, pending }) => used !== (spent.get(id) ?? 0n) || pending !== 0n)
    .map(({ id }) => id);
  const [balance, audit] = [await store.readBalance('a'), await store.audit()];
  await dispose();
  return {
    wrong,
    perSecond,
    audit,
    used: balance?.used ?? 0n,
    expected: spent.values().reduce((sum, each) => sum + each, 0n),
  };
}
