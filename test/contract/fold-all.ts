/** Sums up everything in a ledger, however long it takes. */
import { expect } from 'vitest';
import type { Store } from '../../plugins/meters/balance/store.ts';

/**
 * Folds until nothing is left. PostgreSQL needs two folds for what was written last, and more while a
 * transaction is open that wrote before.
 */
export async function foldAll(store: Store): Promise<void> {
  const fold = async (): Promise<number> => {
    while (!(await store.fold({ limit: 1000 })).isDone);
    return store.countUnfolded();
  };
  await expect.poll(fold, { interval: 25, timeout: 120_000 }).toBe(0);
}
