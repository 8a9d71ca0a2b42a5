/**
 * What a budget is: an amount that calls of a key, an account, a team or a tag may cost in each period. A
 * call counts in the periods in which it is reserved, also if it ends in the next one.
 */
import type { Nano } from '../../../../core/index.ts';
import type { PeriodName } from './periods.ts';

/** A team is an account with all accounts below it. */
export const scopes = ['key', 'account', 'team', 'tag'] as const;
export type Scope = (typeof scopes)[number];

/** The most levels that a tree of accounts may have. */
export const deepestTeam = 8;

export interface Raise {
  readonly amount: Nano;
  readonly until: number;
}

/** What can be changed of a budget. */
export interface Terms {
  readonly limit: Nano;
  /** Whether calls beyond the limit are refused. A soft budget only warns. */
  readonly hard: boolean;
  /** Percentages of the limit; a warning is given when use reaches them. */
  readonly thresholds: readonly number[];
}

/** What a budget counts. Nothing of this can be changed: its periods would not fit any more. */
export interface Counted {
  readonly scope: Scope;
  /** The id of the first of a line of rotated keys, the name of an account, or a tag. */
  readonly subject: string;
  readonly per: PeriodName;
  /** The IANA time zone whose clocks end the periods. */
  readonly zone: string;
}

export interface NewBudget extends Counted, Terms {
  readonly at: number;
}

/** One budget for each scope, subject and period. `not_found`: there is no such key or account. */
export type CreatedBudget =
  | { readonly status: 'created' | 'exists'; readonly id: number }
  | { readonly status: 'not_found' };

export interface Budget extends Counted, Terms {
  readonly id: number;
  /** Temporary additions to the limit. */
  readonly raises: readonly Raise[];
  readonly created: number;
  readonly deleted: number | undefined;
}

export interface Sums {
  /** What calls of the period have cost, and what those that run have reserved. */
  readonly used: Nano;
  readonly pending: Nano;
}

/** A period of a budget as the ledger keeps it. */
export interface PeriodRecord extends Sums {
  readonly budget: number;
  readonly start: number;
  /** `never` where it does not end. */
  readonly ends: number;
  /** The highest threshold that a warning was given for, and whether one was given for a refusal. */
  readonly warned: number;
  readonly exhausted: boolean;
}

/** The end of a period that never ends. */
export const never = Number.MAX_SAFE_INTEGER;

/** A budget in its current period. */
export interface BudgetRecord extends Budget, Sums {
  readonly start: number;
  /** When its next period begins; undefined where it never ends. */
  readonly resets: number | undefined;
  /** The limit with the raises of the moment. */
  readonly allowed: Nano;
}

/** The budget that refuses a call. */
export interface ShortBudget extends Counted {
  readonly id: number;
  readonly allowed: Nano;
  readonly resets: number | undefined;
}

/**
 * What became known of a budget: its use reached a threshold, or it refused a call for the first time in its
 * period. Written in the transaction of the call, and delivered later.
 */
export interface Warning extends Counted {
  readonly id: number;
  readonly budget: number;
  readonly event: 'threshold' | 'exhausted';
  /** In per cent. */
  readonly threshold: number;
  readonly used: Nano;
  readonly allowed: Nano;
  readonly start: number;
  readonly at: number;
  /** How often its delivery was tried, and when the next try is due; undefined once it is delivered. */
  readonly attempts: number;
  readonly due: number | undefined;
}

/** Milliseconds for which delivered warnings are kept. */
export const warningsKept = 90 * 24 * 3_600_000;

/** What it allows at a moment. */
export function allowedAt({ limit, raises }: Pick<Budget, 'limit' | 'raises'>, at: number): Nano {
  return raises.reduce((sum, { amount, until }) => (at < until ? sum + amount : sum), limit);
}

/** The highest of the thresholds that this use has reached; 0 where it has reached none. */
export function reached(thresholds: readonly number[], used: Nano, allowed: Nano): number {
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

/** Shares as the entries and the pending reservation of a call hold them; undefined where it has none. */
export function sharesText(shares: readonly Share[]): string | undefined {
  if (shares.length === 0) return undefined;
  return JSON.stringify(
    shares.map(({ budget, start, allowed }) => [
      budget,
      start,
      allowed === undefined ? null : String(allowed),
    ]),
  );
}

/** Throws where the text was not written by `sharesText`. */
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
