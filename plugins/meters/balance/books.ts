/** What a store reads out of the books: entries, usage, pending reservations and totals. */
import type { Charge, Nano } from '../../../core/index.ts';
import type { CreditSource } from './accounts.ts';

export const entryKinds = ['credit', 'reserve', 'post', 'void', 'expire', 'overage', 'adjustment'] as const;
export type EntryKind = (typeof entryKinds)[number];

/**
 * One immutable row of the books. Its legs move money between four books of one account and sum to zero:
 * `credits` (minus what was ever credited), `available`, `reserved`, and `revenue` (what was used).
 */
export interface Entry {
  /** Grows from entry to entry. */
  readonly number: number;
  readonly kind: EntryKind;
  readonly account: string;
  readonly at: number;
  readonly credits: Nano;
  readonly available: Nano;
  readonly reserved: Nano;
  readonly revenue: Nano;
  /** On all entries but credits: the id of the call, and of the key that pays. */
  readonly call: string | undefined;
  readonly key: string | undefined;
  /** The number of the `reserve` entry that this one ends or follows. */
  readonly reservation: number | undefined;
  /** On credits: their kind and reference, and who made a correction. */
  readonly source: CreditSource | undefined;
  readonly reference: string | undefined;
  readonly author: string | undefined;
  /**
   * On entries that end a call: what `Settlement` says; on corrections: why. A `reserve` has the quote's
   * model, provider and price.
   */
  readonly reason: string | undefined;
  readonly basis: Charge['basis'] | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly price: string | undefined;
  readonly input: number;
  readonly output: number;
  readonly usage: string | undefined;
  readonly costs: string | undefined;
  /** What the vendor bills; undefined if it is what was charged. */
  readonly vendor: Nano | undefined;
  readonly attempts: number;
  /** The periods of budgets that the call counts in, as `readShares` reads them. */
  readonly budgets: string | undefined;
  /**
   * `recovered`: another process ended it. `late`: it came after a recovery or an expiry. `suspect`: figures
   * were bounded, or their price is not known.
   */
  readonly flags: readonly ('recovered' | 'late' | 'suspect')[];
}

/**
 * Selects rows after the one numbered `after`, in the order in which they were written. Fields that are
 * undefined select nothing.
 */
export interface EntryQuery {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly call?: string | undefined;
  /** Of credits and their corrections. */
  readonly reference?: string | undefined;
  /** Only these kinds; all of them where undefined. */
  readonly kinds?: readonly EntryKind[] | undefined;
  /** From this moment on, and before that one. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

export const usageGroups = ['account', 'key', 'model', 'provider', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** What to group by. Where it is empty, one row sums up everything. */
  readonly by: readonly UsageGroup[];
}

/** The sum of calls that were posted. Overages and adjustments are part of `cost`. */
export interface UsageRow {
  /** Only the fields that were grouped by. A day is an ISO date in UTC. */
  readonly account?: string;
  readonly key?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly day?: string;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cost: Nano;
  /** What the vendors bill. */
  readonly vendor: Nano;
}

/** Rows after the one named `after`, in the order of their names. */
export interface Page {
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface KeyPage extends Page {
  readonly account?: string | undefined;
  /** An id, or the last four characters of a key. */
  readonly wanted?: string | undefined;
}

/** A pending reservation, with what its owner's last beat said of the call. */
export interface PendingRecord {
  readonly call: string;
  readonly account: string;
  readonly key: string;
  readonly amount: Nano;
  readonly owner: string;
  readonly created: number;
  readonly sent: boolean;
  readonly delivered: number;
}

export interface Totals {
  readonly accounts: number;
  readonly keys: number;
  readonly pendingCalls: number;
  readonly pendingAmount: Nano;
  /** When the oldest pending reservation was made; undefined where there is none. */
  readonly oldestPending: number | undefined;
}
