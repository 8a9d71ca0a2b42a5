/**
 * What a budget is: an amount that calls of a key, an account, a team or a tag may cost in each period. A
 * call counts in the periods in which it is reserved, also if it ends in the next one. Teams are the tree of
 * accounts: each account stores the line of accounts above it, so that a call reads one row.
 */
import type { Nano } from '../../../../core/index.ts';
import * as rows from '../rows.ts';
import { getCurrentPeriod, periodNames } from './periods.ts';

/** A team is an account with all accounts below it. */
export const scopes = ['key', 'account', 'team', 'tag'] as const;
export type Scope = (typeof scopes)[number];

/** The most levels that a tree of accounts may have. */
export const deepestTeam = 8;

export interface Raise {
  readonly amount: Nano;
  readonly until: number;
}

function readRaises(row: rows.Row, column: string): readonly Raise[] {
  const packed: readonly (readonly [amount: string, until: number])[] = JSON.parse(
    rows.readText(row, column),
  );
  return packed.map(([amount, until]) => ({ amount: BigInt(amount), until }));
}

export function encodeRaises(raises: readonly Raise[]): string {
  return JSON.stringify(raises.map(({ amount, until }) => [String(amount), until]));
}

function readPercentages(row: rows.Row, column: string): readonly number[] {
  return JSON.parse(rows.readText(row, column));
}

const termFields = {
  limit: rows.pickColumn('allowed', rows.readInteger),
  /** Whether calls beyond the limit are refused. A soft budget only warns. */
  hard: rows.readFlag,
  /** Percentages of the limit at which a warning is written. */
  thresholds: readPercentages,
};
export type Terms = rows.RecordOf<typeof termFields>;

/** What a budget counts. None of this can change: the budget's periods would no longer match. */
const countedFields = {
  scope: rows.matchWord(scopes),
  /** The id of the first of a line of rotated keys, the name of an account, or a tag. */
  subject: rows.readText,
  per: rows.matchWord(periodNames),
  /** The IANA time zone whose clocks end the periods. */
  zone: rows.readText,
};
type Counted = rows.RecordOf<typeof countedFields>;

export interface NewBudget extends Counted, Terms {
  readonly at: number;
}

/** One budget for each scope, subject and period. `not_found`: there is no such key or account. */
export type CreatedBudget =
  | { readonly status: 'created' | 'exists'; readonly id: number }
  | { readonly status: 'not_found' };

export const readBudget = rows.createReader({
  ...countedFields,
  ...termFields,
  id: rows.readCount,
  raises: readRaises,
  created: rows.readCount,
  deleted: rows.allowNull(rows.readCount),
});
export type Budget = ReturnType<typeof readBudget>;

export const readPeriod = rows.createReader({
  budget: rows.readCount,
  start: rows.readCount,
  /** `never` if it does not end. */
  ends: rows.readCount,
  /** What calls of the period have cost, and what those that run have reserved. */
  used: rows.readInteger,
  pending: rows.readInteger,
  /** The highest threshold that was warned of, and whether a refusal was. */
  warned: rows.readCount,
  exhausted: rows.readFlag,
});
export type PeriodRecord = ReturnType<typeof readPeriod>;

/** The end of a period that never ends. */
export const never = Number.MAX_SAFE_INTEGER;

export interface BudgetRecord extends Budget, Pick<PeriodRecord, 'used' | 'pending' | 'start'> {
  /** When its next period begins; undefined if this one never ends. */
  readonly resets: number | undefined;
  readonly allowed: Nano;
}

export type ShortBudget = Counted & Pick<BudgetRecord, 'id' | 'allowed' | 'resets'>;

/** Reads a row of a warning, joined with its budget. */
export const readWarning = rows.createReader({
  ...countedFields,
  id: rows.readCount,
  budget: rows.readCount,
  event: rows.matchWord(['threshold', 'exhausted']),
  /** In per cent. */
  threshold: rows.readCount,
  used: rows.readInteger,
  allowed: rows.readInteger,
  start: rows.readCount,
  at: rows.readCount,
  /** How often its delivery was tried, and when the next try is due; undefined after it was delivered. */
  attempts: rows.readCount,
  due: rows.allowNull(rows.readCount),
});
/**
 * A warning about a budget: its use reached a threshold, or it refused a call for the first time in its
 * period. Written in the transaction of the call, and delivered later.
 */
export type Warning = ReturnType<typeof readWarning>;

/** Milliseconds for which delivered warnings are kept. */
export const warningsKept = 90 * 24 * 3_600_000;

export function computeAllowed({ limit, raises }: Pick<Budget, 'limit' | 'raises'>, at: number): Nano {
  return raises.reduce((sum, { amount, until }) => (at < until ? sum + amount : sum), limit);
}

/** The highest of the thresholds that this use has reached; 0 if it has reached none. */
export function findReached(thresholds: readonly number[], used: Nano, allowed: Nano): number {
  if (used <= 0n) return 0;
  return thresholds.reduce(
    (highest, each) => (each > highest && used * 100n >= allowed * BigInt(each) ? each : highest),
    0,
  );
}

/** The period of a budget that a call counts in; `allowed` is what a hard budget allowed when it reserved. */
export interface Share {
  readonly budget: number;
  readonly start: number;
  readonly allowed: Nano | undefined;
}

/** Shares as the entries and the pending reservation of a call hold them; undefined if it has none. */
export function encodeShares(shares: readonly Share[]): string | undefined {
  if (shares.length === 0) return undefined;
  return JSON.stringify(
    shares.map(({ budget, start, allowed }) => [
      budget,
      start,
      allowed === undefined ? null : String(allowed),
    ]),
  );
}

/** Throws if the text was not written by `encodeShares`. */
export function readShares(text: string | undefined): Share[] {
  if (text === undefined) return [];
  const packed: readonly (readonly [budget: number, start: number, allowed: string | null])[] =
    JSON.parse(text);
  return packed.map(([budget, start, allowed]) => ({
    budget,
    start,
    allowed: allowed === null ? undefined : BigInt(allowed),
  }));
}

/** The start of the period of a budget that a moment belongs to. */
export function findStart({ per, zone }: Counted, at: number): number {
  return getCurrentPeriod(per, zone, at).start;
}

/** A budget at a moment, with the sums of its period, which is undefined if nothing was counted in it. */
export function buildRecord(budget: Budget, period: PeriodRecord | undefined, at: number): BudgetRecord {
  const { start, ends = never } = period ?? getCurrentPeriod(budget.per, budget.zone, at);
  return {
    ...budget,
    start,
    resets: ends === never ? undefined : ends,
    used: period?.used ?? 0n,
    pending: period?.pending ?? 0n,
    allowed: computeAllowed(budget, at),
  };
}

/** A place of an account in the tree: below `parent`, or at the top if it is undefined. */
export interface Move {
  readonly account: string;
  readonly parent: string | undefined;
}

/** `cycle`: the parent is the account itself or below it. `deep`: the tree would have too many levels. */
export type Moved = 'moved' | 'not_found' | 'no_parent' | 'cycle' | 'deep';

type Lines = ReadonlyMap<string, readonly string[]>;

/**
 * The new lines of an account and of all accounts below it, or why it cannot move. `lines` has those of
 * the account, the parent, and all accounts below the account; extra lines do no harm.
 */
export function moveLines(lines: Lines, { account, parent }: Move): Lines | Exclude<Moved, 'moved'> {
  if (!lines.has(account)) return 'not_found';
  const above = parent === undefined ? [] : lines.get(parent);
  if (!above) return 'no_parent';
  const line = parent === undefined ? [] : [parent, ...above];
  if (line.includes(account)) return 'cycle';
  const moved = new Map<string, readonly string[]>([[account, line]]);
  for (const [name, old] of lines) {
    const place = old.indexOf(account);
    if (place >= 0) moved.set(name, [...old.slice(0, place + 1), ...line]);
  }
  return moved.values().some(({ length }) => length >= deepestTeam) ? 'deep' : moved;
}
