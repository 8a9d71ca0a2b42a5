/** A ledger's books as a test sees them, past the store, and the rules they keep whatever was done. */
import { expect } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';

export interface BookedEntry {
  readonly kind: string;
  readonly account: string;
  /** The call it is about. */
  readonly call: string | undefined;
  readonly reason: string | undefined;
  readonly flags: string;
  readonly credits: Nano;
  readonly available: Nano;
  readonly reserved: Nano;
  readonly revenue: Nano;
}

/** All that was written, read past the store. */
export interface Books {
  readonly entries: readonly BookedEntry[];
  readonly accounts: readonly {
    readonly name: string;
    readonly total: Nano;
    readonly used: Nano;
    readonly pending: Nano;
  }[];
}

export interface OpenedStore {
  readonly store: Store;
  /** Another store on the same data, as another process would have one. */
  another(): Promise<Store>;
  books(): Promise<Books>;
  /** Closes the store and takes its data away. */
  dispose(): Promise<void>;
}

/**
 * Every entry sums to zero, every account's columns are its entries' sums, every call's reservation ended
 * at most once.
 */
export function expectSound({ entries, accounts }: Books): void {
  const sums = new Map<string, { total: Nano; used: Nano; pending: Nano; available: Nano }>();
  const ends = new Map<string, number>();
  for (const { kind, account, call, reason, credits, available, reserved, revenue } of entries) {
    expect(credits + available + reserved + revenue, `a ${kind} of ${account}`).toBe(0n);
    const sum = sums.get(account) ?? { total: 0n, used: 0n, pending: 0n, available: 0n };
    sums.set(account, {
      total: sum.total - credits,
      used: sum.used + revenue,
      pending: sum.pending + reserved,
      available: sum.available + available,
    });
    // A reservation that a larger one replaced is no end of its call.
    if (['post', 'void', 'expire'].includes(kind) && call !== undefined && reason !== 'extended')
      ends.set(call, (ends.get(call) ?? 0) + 1);
  }
  expect([...ends].filter(([, count]) => count > 1)).toEqual([]);
  for (const { name, total, used, pending } of accounts) {
    expect({ name, total, used, pending, available: total - used - pending }).toEqual({
      name,
      ...(sums.get(name) ?? { total: 0n, used: 0n, pending: 0n, available: 0n }),
    });
  }
}
