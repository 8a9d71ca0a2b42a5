/**
 * Budgets while one transaction is decided: their periods are read once, changed in memory by all operations
 * that share the transaction, and written once at its end.
 */
import type { Nano } from '../../../../core/index.ts';
import {
  computeAllowed,
  never,
  findReached,
  readShares,
  encodeShares,
  type Budget,
  type PeriodRecord,
  type ShortBudget,
  type Warning,
} from './budget.ts';
import { getCurrentPeriod, findPeriod } from './periods.ts';

/** What a call's budgets are found by. */
export interface Spender {
  readonly account: string;
  /** The accounts above it. */
  readonly line: readonly string[];
  readonly root: string | undefined;
  readonly tags: readonly string[];
}

/** A period, and what this transaction adds to it. */
export interface Line {
  readonly budget: Budget;
  readonly found: PeriodRecord;
  used: Nano;
  pending: Nano;
  warned: number;
  exhausted: boolean;
}

export type NewWarning = Pick<
  Warning,
  'budget' | 'event' | 'threshold' | 'used' | 'allowed' | 'start' | 'at'
>;

function isOfSpender({ scope, subject }: Budget, { account, line, root, tags }: Spender): boolean {
  if (scope === 'key') return subject === root;
  if (scope === 'tag') return tags.includes(subject);
  return subject === account || (scope === 'team' && line.includes(subject));
}

/** The budget that leaves the least, and how much. */
export interface Tightest {
  readonly left: Nano;
  readonly budget: ShortBudget;
}

export class Sheet {
  readonly #budgets: ReadonlyMap<number, Budget>;
  /** The periods that were read, by their budgets and starts. */
  readonly #periods: ReadonlyMap<string, PeriodRecord>;
  readonly #lines = new Map<string, Line>();
  readonly warnings: NewWarning[] = [];

  constructor(budgets: readonly Budget[], periods: readonly PeriodRecord[]) {
    this.#budgets = new Map(budgets.map((budget) => [budget.id, budget]));
    this.#periods = new Map(periods.map((period) => [`${period.budget} ${period.start}`, period]));
  }

  /** The periods that a call at this moment counts in. */
  getLines(spender: Spender, at: number): Line[] {
    return [...this.#budgets.values()]
      .filter((budget) => budget.deleted === undefined && isOfSpender(budget, spender))
      .map((budget) => {
        const { start, ends = never } = getCurrentPeriod(budget.per, budget.zone, at);
        return this.#getLine(budget, start, ends);
      });
  }

  /** How much the hard budgets among them leave; undefined if there is none. */
  findTightest(lines: readonly Line[], at: number): Tightest | undefined {
    let tightest: Tightest | undefined;
    for (const { budget, found, used, pending } of lines) {
      if (!budget.hard) continue;
      const allowed = computeAllowed(budget, at);
      const left = allowed - found.used - used - found.pending - pending;
      if (tightest && tightest.left <= left) continue;
      const { id, scope, subject, per, zone } = budget;
      const resets = found.ends === never ? undefined : found.ends;
      tightest = { left, budget: { id, scope, subject, per, zone, allowed, resets } };
    }
    return tightest;
  }

  /** Counts a reservation, and returns the shares that its entries hold. */
  holdAmount(lines: readonly Line[], amount: Nano, at: number): string | undefined {
    for (const line of lines) line.pending += amount;
    return encodeShares(
      lines.map(({ budget, found }) => ({
        budget: budget.id,
        start: found.start,
        allowed: budget.hard ? computeAllowed(budget, at) : undefined,
      })),
    );
  }

  /** Counts what an entry moves, in the periods in which its call was reserved. */
  addSpending(shares: string | undefined, used: Nano, pending: Nano, at: number): void {
    for (const { budget: id, start } of readShares(shares)) {
      const budget = this.#budgets.get(id);
      if (!budget) throw new Error(`there is no budget ${id}`);
      const line = this.#getLine(budget, start);
      line.used += used;
      line.pending += pending;
      if (used > 0n) this.#warn(line, at);
    }
  }

  /** Records that a budget refused a call, once in each period. */
  noteRefusal(lines: readonly Line[], { id }: ShortBudget, at: number): void {
    const line = lines.find(({ budget }) => budget.id === id);
    if (!line || line.exhausted) return;
    line.exhausted = true;
    this.#addWarning(line, 'exhausted', 100, at);
  }

  /** What this transaction changes in periods: amounts to add, and marks to set. */
  listChanges(): PeriodRecord[] {
    const changed: PeriodRecord[] = [];
    for (const { budget, found, used, pending, warned, exhausted } of this.#lines.values()) {
      if (used === 0n && pending === 0n && warned === found.warned && exhausted === found.exhausted) continue;
      const { start, ends } = found;
      changed.push({ budget: budget.id, start, ends, used, pending, warned, exhausted });
    }
    return changed;
  }

  #getLine(budget: Budget, start: number, ends?: number): Line {
    const name = `${budget.id} ${start}`;
    const known = this.#lines.get(name);
    if (known) return known;
    const found = this.#periods.get(name) ?? {
      budget: budget.id,
      start,
      ends: ends ?? findPeriod(budget.per, budget.zone, start).ends ?? never,
      used: 0n,
      pending: 0n,
      warned: 0,
      exhausted: false,
    };
    const line = { budget, found, used: 0n, pending: 0n, warned: found.warned, exhausted: found.exhausted };
    this.#lines.set(name, line);
    return line;
  }

  #warn(line: Line, at: number): void {
    const { budget, found, used } = line;
    if (budget.deleted !== undefined) return;
    const threshold = findReached(budget.thresholds, found.used + used, computeAllowed(budget, at));
    if (threshold <= line.warned) return;
    line.warned = threshold;
    this.#addWarning(line, 'threshold', threshold, at);
  }

  #addWarning({ budget, found, used }: Line, event: Warning['event'], threshold: number, at: number): void {
    const allowed = computeAllowed(budget, at);
    const { start } = found;
    this.warnings.push({ budget: budget.id, event, threshold, used: found.used + used, allowed, start, at });
  }
}
