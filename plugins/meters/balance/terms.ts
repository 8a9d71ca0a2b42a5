/**
 * What is agreed with an account: whether it pays before its calls or later, and the allowance that it is
 * credited in each period. An allowance starts in the period in which it is set. Periods that are credited
 * never overlap: after a change, the next period that is credited begins when the last one has ended. Periods
 * in which no process ran are not made up for.
 */
import type { Nano } from '../../../core/index.ts';
import { findPeriod } from './budgets/periods.ts';
import * as rows from './rows.ts';

export const allowancePeriods = ['month', 'week', 'day'] as const;
/** `reset` takes back what is left of the last allowance before it credits the next. */
export const allowanceModes = ['add', 'reset'] as const;

const readSet = rows.createReader({
  amount: rows.readInteger,
  per: rows.matchWord(allowancePeriods),
  mode: rows.matchWord(allowanceModes),
  /** The IANA time zone whose clocks begin the periods. */
  zone: rows.readText,
});
export type Allowance = ReturnType<typeof readSet>;

/** Reads the terms that a row holds. */
export const readTerms = rows.createReader({
  postpaid: rows.readFlag,
  allowance: (row) => (row.amount === null ? undefined : readSet(row)),
});
export type AccountTerms = ReturnType<typeof readTerms>;

/** Omitted fields stay as they are; an allowance of null ends it. */
export interface TermsChange {
  readonly account: string;
  readonly changes: {
    readonly postpaid?: boolean | undefined;
    readonly allowance?:
      | { readonly [Name in keyof Allowance]?: Allowance[Name] | undefined }
      | null
      | undefined;
  };
  readonly at: number;
}

/**
 * `no_budget`: an account pays later only if a hard budget counts it. `no_amount`: there is no allowance to
 * change. `closed`: a closed account gets nothing.
 */
export type TermsChanged = 'changed' | 'not_found' | 'closed' | 'no_budget' | 'no_amount';

/** Undefined if the allowance would have no amount. */
export function changeTerms(
  { postpaid, allowance: before }: AccountTerms,
  { postpaid: pays = postpaid, allowance: stated = {} }: TermsChange['changes'],
): AccountTerms | undefined {
  if (stated === null) return { postpaid: pays, allowance: undefined };
  const { amount = before?.amount, per = before?.per, mode = before?.mode, zone = before?.zone } = stated;
  if (amount === undefined)
    return Object.keys(stated).length > 0 ? undefined : { postpaid: pays, allowance: undefined };
  return {
    postpaid: pays,
    allowance: { amount, per: per ?? 'month', mode: mode ?? 'add', zone: zone ?? 'UTC' },
  };
}

/** Longer than any period: a time that is further away was set by a clock that was wrong. */
export const longestWait = 32 * 24 * 3_600_000;

/** The period of a moment, and whether another one that was credited reaches into it. */
export function findDuePeriod({ per, zone }: Allowance, due: number | undefined, at: number) {
  const { start, ends = Infinity } = findPeriod(per, zone, at);
  return { start, ends, isTaken: due !== undefined && due <= at && start < due };
}

/** An account's sums when an allowance is credited. */
export interface Held {
  readonly total: Nano;
  /** What it used and what running calls reserve. */
  readonly spent: Nano;
}

/** The allowance that was credited last, and what the account had spent before. */
export interface LastAllowance extends Pick<Held, 'spent'> {
  readonly amount: Nano;
}

/**
 * What is left of the last allowance. Calls spend it before all other credit, and corrections take from it
 * first. It is no more than the account has, and not below zero.
 */
export function computeRest(last: LastAllowance, { total, spent }: Held, corrected: Nano): Nano {
  const unspent = last.amount - (spent - last.spent) - corrected;
  const rest = [last.amount, unspent, total - spent].reduce((least, each) => (each < least ? each : least));
  return rest > 0n ? rest : 0n;
}
