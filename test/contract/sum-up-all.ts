/** Sums up everything in a ledger. */
import { expect } from 'vitest';
import type { Store } from '../../plugins/meters/balance/store.ts';

/** Sums up what is visible; more may become so while another transaction is open. */
export async function sumUpAll(store: Store): Promise<void> {
  const sumUp = async (): Promise<number> => {
    while (!(await store.addCalls({ calls: [] })).isDone);
    return store.countUnsummed();
  };
  await expect.poll(sumUp, { interval: 25, timeout: 120_000 }).toBe(0);
}
