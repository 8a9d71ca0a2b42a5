/** Budgets that tests make. */
import type { Nano } from '../../core/index.ts';
import type { NewBudget, Store } from '../../plugins/meters/balance/store.ts';

export const noon = Date.parse('2026-11-22T12:00:00Z');
export const hour = 3_600_000;

/** A budget of an account for a day in UTC, unless it says otherwise. */
export function newBudget(subject: string, limit: Nano, more: Partial<NewBudget> = {}): NewBudget {
  const counted = { scope: 'account', subject, per: 'day', zone: 'UTC' } as const;
  return { ...counted, limit, hard: true, thresholds: [], at: noon, ...more };
}

/** Makes a budget, and returns its id. */
export async function createBudget(store: Store, budget: NewBudget): Promise<number> {
  const created = await store.createBudget(budget);
  if (created.status !== 'created') throw new Error(`the budget was not made: ${created.status}`);
  return created.id;
}
