/** Turns rows of the budgets' tables into what the store returns, whatever database they come from. */
import { count, flag, integer, maybe, text, word, type Row } from '../rows.ts';
import {
  allowedAt,
  never,
  scopes,
  type Budget,
  type BudgetRecord,
  type Counted,
  type PeriodRecord,
  type Raise,
  type Warning,
} from './budget.ts';
import { currentPeriod, periodNames } from './periods.ts';

function countedOf(row: Row): Counted {
  return {
    scope: word(scopes)(row, 'scope'),
    subject: text(row, 'subject'),
    per: word(periodNames)(row, 'per'),
    zone: text(row, 'zone'),
  };
}

function raisesOf(row: Row): Raise[] {
  const packed: readonly (readonly [amount: string, until: number])[] = JSON.parse(text(row, 'raises'));
  return packed.map(([amount, until]) => ({ amount: BigInt(amount), until }));
}

export function raisesText(raises: readonly Raise[]): string {
  return JSON.stringify(raises.map(({ amount, until }) => [String(amount), until]));
}

function thresholdsOf(row: Row): number[] {
  const thresholds: readonly number[] = JSON.parse(text(row, 'thresholds'));
  return [...thresholds];
}

export function budgetOf(row: Row): Budget {
  return {
    ...countedOf(row),
    id: count(row, 'id'),
    limit: integer(row, 'allowed'),
    hard: flag(row, 'hard'),
    thresholds: thresholdsOf(row),
    raises: raisesOf(row),
    created: count(row, 'created'),
    deleted: maybe(row, 'deleted', count),
  };
}

export function periodOf(row: Row): PeriodRecord {
  return {
    budget: count(row, 'budget'),
    start: count(row, 'start'),
    ends: count(row, 'ends'),
    used: integer(row, 'used'),
    pending: integer(row, 'pending'),
    warned: count(row, 'warned'),
    exhausted: flag(row, 'exhausted'),
  };
}

/** Reads a row of a warning, joined with its budget. */
export function warningOf(row: Row): Warning {
  return {
    ...countedOf(row),
    id: count(row, 'id'),
    budget: count(row, 'budget'),
    event: word(['threshold', 'exhausted'])(row, 'event'),
    threshold: count(row, 'threshold'),
    used: integer(row, 'used'),
    allowed: integer(row, 'allowed'),
    start: count(row, 'start'),
    at: count(row, 'at'),
    attempts: count(row, 'attempts'),
    due: maybe(row, 'due', count),
  };
}

/** The start of the period of a budget that a moment belongs to. */
export function startAt({ per, zone }: Counted, at: number): number {
  return currentPeriod(per, zone, at).start;
}

/** A budget at a moment, with the sums of the period, which is undefined where nothing was counted in it. */
export function recordOf(budget: Budget, period: PeriodRecord | undefined, at: number): BudgetRecord {
  const { start, ends = never } = period ?? currentPeriod(budget.per, budget.zone, at);
  return {
    ...budget,
    start,
    resets: ends === never ? undefined : ends,
    used: period?.used ?? 0n,
    pending: period?.pending ?? 0n,
    allowed: allowedAt(budget, at),
  };
}
