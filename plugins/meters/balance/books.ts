/** What a store reads out of the books: entries, usage, pending reservations and totals. */
import type { Use } from '../../../core/index.ts';
import { creditSources } from './accounts.ts';
import { consumedFields } from './reservations.ts';
import {
  readCount,
  readFlag,
  pickColumn,
  readInteger,
  allowNull,
  createReader,
  readText,
  matchWord,
  type RecordOf,
  type Row,
} from './rows.ts';

export const entryKinds = ['credit', 'reserve', 'post', 'void', 'expire', 'overage', 'adjustment'] as const;
export type EntryKind = (typeof entryKinds)[number];

const flags = ['recovered', 'late', 'suspect'] as const;

function readFlags(row: Row, column: string): readonly (typeof flags)[number][] {
  const noted = readText(row, column).split(' ');
  return flags.filter((each) => noted.includes(each));
}

const entryFields = {
  /** Grows from entry to entry. */
  number: readCount,
  kind: matchWord(entryKinds),
  account: pickColumn('account_name', readText),
  at: readCount,
  credits: readInteger,
  available: readInteger,
  reserved: readInteger,
  revenue: readInteger,
  /** On all entries but credits: the ids of the call and of the key that pays. */
  call: allowNull(readText),
  key: allowNull(readText),
  /** The number of the `reserve` entry that this one ends or follows. */
  reservation: allowNull(readCount),
  /** On credits: their kind and reference, and who made a correction. */
  source: allowNull(matchWord(creditSources)),
  reference: allowNull(readText),
  author: allowNull(readText),
  /**
   * On entries that end a call: what `Settlement` says; on corrections: why. A `reserve` has the quote's
   * model, provider and price.
   */
  reason: allowNull(readText),
  basis: allowNull(matchWord(['usage', 'estimate', 'none'])),
  ...consumedFields,
  usage: allowNull(readText),
  costs: allowNull(readText),
  /** What the vendor bills; undefined if it equals the charge. */
  vendor: allowNull(readInteger),
  /** The periods of budgets that the call counts in, as `readShares` reads them. */
  budgets: allowNull(readText),
  /**
   * `recovered`: another process ended the call. `late`: the entry came after a recovery or an expiry.
   * `suspect`: figures were bounded, or their price is not known.
   */
  flags: readFlags,
};
/**
 * One immutable row of the books. Its legs move money between four books of one account and sum to zero:
 * `credits` (minus everything ever credited), `available`, `reserved`, and `revenue` (what was used).
 */
export type Entry = RecordOf<typeof entryFields>;
/** Reads a row of an entry, joined with its account and the entry that reserved. */
export const readEntry = createReader(entryFields);

/**
 * Selects rows after the one numbered `after`, in the order in which they were written. Undefined fields
 * do not filter.
 */
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
  /** What to group by. If it is empty, one row sums up everything. */
  readonly by: readonly UsageGroup[];
}

const usageFields = {
  calls: readCount,
  cost: readInteger,
  /** What the vendors bill. */
  vendor: readInteger,
};
/**
 * The sum of calls that were posted. Overages and adjustments are part of `cost`. It has the fields it is
 * grouped by; a day is an ISO date in UTC.
 */
export type UsageRow = RecordOf<typeof usageFields> & {
  readonly uses: readonly Use[];
} & Readonly<Partial<Record<UsageGroup, string>>>;
export const readSums = createReader(usageFields);

/** Rows after the one named `after`, in the order of their names. */
export interface Page {
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface KeyPage extends Page {
  readonly account?: string | undefined;
  readonly kind?: 'user' | 'operator' | undefined;
  readonly name?: string | undefined;
  /** An id, or the last four characters of a key. */
  readonly wanted?: string | undefined;
  /** Only keys with these ids, deleted ones too. */
  readonly ids?: readonly string[] | undefined;
}

const pendingFields = {
  call: readText,
  account: pickColumn('account_name', readText),
  key: readText,
  amount: readInteger,
  owner: readText,
  created: readCount,
  sent: readFlag,
  delivered: readCount,
};
/** A pending reservation, with what its owner's last beat reported of the call. */
export type PendingRecord = RecordOf<typeof pendingFields>;
/** Reads a row of a pending reservation, joined with its account. */
export const readPending = createReader(pendingFields);

const totalFields = {
  accounts: readCount,
  keys: readCount,
  pendingCalls: readCount,
  pendingAmount: readInteger,
  /** When the oldest pending reservation was made; undefined if there is none. */
  oldestPending: allowNull(readCount),
};
export type Totals = RecordOf<typeof totalFields>;
export const readTotals = createReader(totalFields);
