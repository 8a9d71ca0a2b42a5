/** Calls as the ledger sees them, for tests that need no more of one. */
import type { Nano } from '../../core/index.ts';
import type { Quote, Settlement } from '../../plugins/meters/balance/store.ts';

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
