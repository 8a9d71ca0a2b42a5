/** Calls as the ledger sees them, for tests that need no more of one. */
import type { Nano } from '../../core/index.ts';
import type { Quote, Settlement, Store } from '../../plugins/meters/balance/store.ts';

export function quote(least: Nano, most = least): Quote {
  return { model: 'house/model', provider: 'house', least, most };
}

export function settlement(id: string, amount: Nano | undefined, more: Partial<Settlement> = {}): Settlement {
  return {
    id, amount,
    reason: amount === undefined ? 'upstream_failed' : 'completed',
    basis: amount === undefined ? 'none' : 'usage',
    usage: '{"input":3,"output":4}',
    price: '{"input":"1","output":"2"}',
    model: 'house/model',
    provider: 'house',
    attempts: 1,
    at: 2000,
    ...more,
  };
}

/** A store that does only what a test says, and fails the test where it is asked for anything else. */
export function storeWith(operations: Partial<Store>): Store {
  const unasked = async (): Promise<never> => {
    throw new Error('the store was asked for what it should not be');
  };
  return {
    reserve: unasked, settle: unasked, balance: unasked, createAccount: unasked, credit: unasked,
    createKey: unasked, findKey: unasked, listKeys: unasked, disableKey: unasked, close: unasked,
    ...operations,
  };
}
