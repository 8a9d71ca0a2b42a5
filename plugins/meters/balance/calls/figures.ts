/**
 * What is summed up of calls, by hour and by dimension. `cost`, `margin` (what was charged above the vendor's
 * bill) and `posts` come from the entries of the ledger, the other figures from the stored calls. `counts` is
 * a JSON object: of errors and cache hits, of each kind of use, and of times to the first event in buckets,
 * from which percentiles are read.
 */
import { kinds } from '../../../../core/for-threads.ts';
import type { Use } from '../../../../core/index.ts';
import { readCount, readInteger, readText, type Row } from '../rows.ts';

export const bucketBounds: readonly number[] = [
  25, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000, 1400, 2000, 2800, 4000, 5600, 8000, 11_000, 16_000,
  22_000, 32_000, 45_000, 60_000, 120_000,
];

export const buckets: readonly string[] = [...bucketBounds, Infinity].map((_, index) => `bucket_${index}`);

export const booked = ['cost', 'margin', 'posts'] as const;
export const counted = ['calls', 'errors', 'cache_hits'] as const;

/** Kinds of use that had columns in the version before, by their names. */
export const formerKinds = {
  input: 'input',
  output: 'output',
  cached: 'cacheRead',
  reasoning: 'reasoning',
} as const;

/** Amounts of uses are integers: counts have at most three decimals. */
export const amountParts = 1000;

/** What rows of sums hold, and what entries and calls add to them. */
export interface Sums {
  cost: bigint;
  /** What was charged above the vendors' bills. */
  margin: bigint;
  posts: number;
  calls: number;
  /** Those that are not 0. */
  readonly counts: Record<string, number>;
}

export function createSums(): Sums {
  return { cost: 0n, margin: 0n, posts: 0, calls: 0, counts: {} };
}

/** Adds to sums, or takes away from them. */
export function addSums(sums: Sums, more: Readonly<Sums>, sign: 1 | -1 = 1): void {
  sums.cost += sign === 1 ? more.cost : -more.cost;
  sums.margin += sign === 1 ? more.margin : -more.margin;
  sums.posts += sign * more.posts;
  sums.calls += sign * more.calls;
  for (const [name, count] of Object.entries(more.counts))
    sums.counts[name] = (sums.counts[name] ?? 0) + sign * count;
}

/** Reads a row of sums. */
export function readSums(row: Row): Sums {
  return {
    cost: readInteger(row, 'cost'),
    margin: readInteger(row, 'margin'),
    posts: readCount(row, 'posts'),
    calls: readCount(row, 'calls'),
    counts: JSON.parse(readText(row, 'counts')),
  };
}

/** How many first events came within each bucket. */
export function listBuckets(counts: Sums['counts']): number[] {
  return buckets.map((name) => counts[name] ?? 0);
}

/** What was used of each unit. */
export function listUsed(counts: Sums['counts']): Use[] {
  return kinds.flatMap(({ name, unit, modality }) => {
    const amount = counts[name];
    if (!amount) return [];
    return [{ unit, ...(modality && { modality }), count: amount / amountParts }];
  });
}

/** Whether an entry adds to the sums; `row` is its table. */
export function buildCounted(row: string): string {
  return `${row}.revenue <> 0 OR ${row}.vendor <> 0 OR ${row}.kind = 'post'`;
}

/** The outcomes that count as errors. A client that disconnects is not one. */
export const errorOutcomes = ['failed', 'cut', 'refused'] as const;

/** What each series is about. */
export const dimensions = ['model', 'key', 'account', 'provider', 'tag'] as const;
export type Dimension = (typeof dimensions)[number];

/**
 * Series of the one within each of the other: of each model of a provider. There are few of them at a time,
 * so that they cost a batch few pages. Any other two are read from the sums of parties.
 */
export const pairs = [['provider', 'model']] as const;

/** The dimension of a pair, and the name of one of its series. No name of a party has a line break. */
export const namePair = (of: string, by: string): string => `${of}>${by}`;
export const joinNames = (of: string, by: string): string => `${of}\n${by}`;

const minute = 60_000;
/** Lengths of the steps of series, in milliseconds. */
export const units = { '5m': 5 * minute, '1h': 60 * minute, '1d': 24 * 60 * minute } as const;
export type Unit = keyof typeof units;
/** How long steps of five minutes are kept. */
export const shortestKept = 48 * units['1h'];
/** Lengths of the steps of parties and pairs. */
export const longSteps = [units['1h'], units['1d']] as const;

/**
 * The time within which a share of the counted events came: exact at the bounds, and in proportion between
 * them. Null if nothing was counted.
 */
export function computePercentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let wanted = share * total;
  for (const [index, count] of counts.entries()) {
    const from = bucketBounds[index - 1] ?? 0;
    const to = bucketBounds[index] ?? from * 2;
    if (wanted <= count && count > 0) return Math.round(from + ((to - from) * wanted) / count);
    wanted -= count;
  }
  return null;
}
