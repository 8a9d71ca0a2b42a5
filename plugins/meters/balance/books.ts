/** What a store reads: entries, usage, pending reservations, totals, and what operators changed. */
import type { Use } from '../../../core/index.ts';
import { readSource } from './accounts.ts';
import { consumedFields } from './reservations.ts';
import * as rows from './rows.ts';

export const entryKinds = ['credit', 'reserve', 'post', 'void', 'expire', 'overage', 'adjustment'] as const;
export type EntryKind = (typeof entryKinds)[number];

const flags = ['recovered', 'late', 'suspect'] as const;

function readFlags(row: rows.Row, column: string): readonly (typeof flags)[number][] {
  const noted = rows.readText(row, column).split(' ');
  return flags.filter((each) => noted.includes(each));
}

/** The fields of an entry, whose row is joined with its account. */
export const entryFields = {
  /** Grows from entry to entry. */
  number: rows.readCount,
  kind: rows.matchWord(entryKinds),
  account: rows.pickColumn('account_name', rows.readText),
  at: rows.readCount,
  credits: rows.readInteger,
  available: rows.readInteger,
  reserved: rows.readInteger,
  revenue: rows.readInteger,
  /** On all entries but credits: the ids of the call and of the key that pays. */
  call: rows.allowNull(rows.readText),
  key: rows.allowNull(rows.readText),
  /** The number of the `reserve` entry that this one ends or follows. */
  reservation: rows.allowNull(rows.readCount),
  /** On credits: their kind and reference, and who made a correction. */
  source: readSource,
  reference: rows.allowNull(rows.readText),
  author: rows.allowNull(rows.readText),
  /** On entries of allowances: the start of their period. */
  period: rows.allowNull(rows.readCount),
  /**
   * On entries that end a call: what `Settlement` says; on corrections: why. A `reserve` has the quote's
   * model, provider and price.
   */
  reason: rows.allowNull(rows.readText),
  basis: rows.allowNull(rows.matchWord(['usage', 'estimate', 'none'])),
  ...consumedFields,
  usage: rows.allowNull(rows.readText),
  costs: rows.allowNull(rows.readText),
  /** What the vendor bills; undefined if it equals the charge. */
  vendor: rows.allowNull(rows.readInteger),
  /** The periods of budgets that the call counts in, as `readShares` reads them. */
  budgets: rows.allowNull(rows.readText),
  /**
   * `recovered`: another process ended the call. `late`: the entry came after a recovery or an expiry.
   * `suspect`: figures were bounded, or their price is not known.
   */
  flags: readFlags,
};
export const readEntry = rows.createReader(entryFields);
/**
 * One immutable row of the books. Its legs move money between four books of one account and sum to zero:
 * `credits` (minus everything ever credited), `available`, `reserved`, and `revenue` (what was used).
 */
export type Entry = ReturnType<typeof readEntry>;

/**
 * Selects rows after the one numbered `after`, in the order in which they were written. Undefined fields
 * do not filter.
 */
/** Which rows of a list come first. */
export type Order = 'oldest' | 'newest';

export interface EntryQuery {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly call?: string | undefined;
  /** Of credits and their corrections. */
  readonly reference?: string | undefined;
  /** Only these kinds; all kinds if undefined. */
  readonly kinds?: readonly EntryKind[] | undefined;
  /** From `from` (inclusive) to `to` (exclusive). */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** The last row of the page before, in this order. */
  readonly after?: number | undefined;
  readonly order?: Order | undefined;
  /** The highest number that a row may have. */
  readonly last?: number | undefined;
  readonly limit: number;
}

export const usageGroups = ['account', 'key', 'model', 'provider', 'day'] as const;
/** Minutes are for statements alone. */
export type UsageGroup = (typeof usageGroups)[number] | 'minute';

export interface UsageQuery {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Only these hours in UTC, by their first milliseconds. */
  readonly hours?: readonly number[] | undefined;
  /** What to group by. If it is empty, one row sums up everything. */
  readonly by: readonly UsageGroup[];
}

const usageFields = {
  calls: rows.readCount,
  cost: rows.readInteger,
  /** What the vendors bill. */
  vendor: rows.readInteger,
};
/**
 * The sum of calls that were posted. Overages and adjustments are part of `cost`. It has the fields it is
 * grouped by; a day is an ISO date in UTC, a minute its first millisecond.
 */
export type UsageRow = rows.RecordOf<typeof usageFields> & {
  readonly uses: readonly Use[];
} & Readonly<Partial<Record<UsageGroup, string>>>;
export const readSums = rows.createReader(usageFields);

/** Rows after the one named `after`, in the order of their names. */
export interface Page {
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface KeyPage extends Page {
  readonly account?: string | undefined;
  readonly kind?: 'user' | 'operator' | undefined;
  readonly holder?: string | undefined;
  readonly name?: string | undefined;
  /** An id, or the last four characters of a key. */
  readonly wanted?: string | undefined;
  /** Only keys with these ids, deleted ones too. */
  readonly ids?: readonly string[] | undefined;
}

/** Reads a row of a pending reservation, joined with its account. */
export const readPending = rows.createReader({
  call: rows.readText,
  account: rows.pickColumn('account_name', rows.readText),
  key: rows.readText,
  amount: rows.readInteger,
  owner: rows.readText,
  created: rows.readCount,
  sent: rows.readFlag,
  delivered: rows.readCount,
});
/** A pending reservation, with what its owner's last beat reported of the call. */
export type PendingRecord = ReturnType<typeof readPending>;

export const readTotals = rows.createReader({
  accounts: rows.readCount,
  keys: rows.readCount,
  pendingCalls: rows.readCount,
  pendingAmount: rows.readInteger,
  /** When the oldest pending reservation was made; undefined if there is none. */
  oldestPending: rows.allowNull(rows.readCount),
});
export type Totals = ReturnType<typeof readTotals>;

export const readAction = rows.createReader({
  number: rows.readCount,
  at: rows.readCount,
  /** An operator key's id, `operator-secret`, or `cli:` and the name of the system's user. */
  author: rows.readText,
  /** The route or the verb. */
  action: rows.readText,
  /** What the action changed, as in the path or the arguments. */
  subject: rows.readText,
  /** The body or the options, as JSON text; never a secret. */
  detail: rows.readText,
});
/** One change that an operator made, in a log that only grows. */
export type ActionRecord = ReturnType<typeof readAction>;
export type Action = Omit<ActionRecord, 'number'>;

/** Actions before the one numbered `before`, the newest first. Undefined fields do not filter. */
export interface ActionQuery extends Readonly<
  Partial<Record<'author' | 'action' | 'subject', string | undefined>>
> {
  readonly before?: number | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
}
