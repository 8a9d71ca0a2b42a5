/**
 * The part of an audit that is about terms. I13: each credit of an allowance is what was agreed when it was
 * written, for the period of its moment; no two periods of an account overlap; and what was taken back is
 * what was left of the last one. Under I3 an account that pays later reserves more than it has only if a hard
 * budget counts the call.
 */
import { formatUsd } from '../../../core/for-threads.ts';
import type { Nano } from '../../../core/index.ts';
import type { About, OwnedEntry } from './audit.ts';
import { readShares } from './budgets/budget.ts';
import { findPeriod } from './budgets/periods.ts';
import * as rows from './rows.ts';
import { computeRest, readTerms, type LastAllowance } from './terms.ts';

const readAgreed = rows.createReader({
  account: rows.readCount,
  /** The first entry that follows these terms. */
  since: rows.readCount,
  terms: readTerms,
});
type Agreed = ReturnType<typeof readAgreed>;

/** What the auditor remembers of an account's allowances. */
export interface KnownAllowances extends LastAllowance {
  readonly periods: (readonly [start: number, ends: number])[];
  /** What corrections took since. */
  corrected: Nano;
}

/** An account's sums, with the entry that is checked. */
interface Sums {
  readonly available: Nano;
  readonly reserved: Nano;
  readonly revenue: Nano;
}

export class TermsAudit {
  readonly #known: Map<number, KnownAllowances>;
  readonly #reportFinding: (about: About, message: string) => void;
  #agreed: ReadonlyMap<number, readonly Agreed[]> = new Map();

  constructor(known: Map<number, KnownAllowances>, found: (about: About, message: string) => void) {
    this.#known = known;
    this.#reportFinding = found;
  }

  /** Takes the terms of all accounts, in the order in which they were agreed. */
  readTerms(found: Iterable<rows.Row>): void {
    this.#agreed = Map.groupBy([...found].map(readAgreed), ({ account }) => account);
  }

  /** Whether a reservation that the balance does not cover is one that the account may pay later. */
  isPaidLater({ owner, number, budgets }: OwnedEntry): boolean {
    const isLimited = readShares(budgets).some(({ allowed }) => allowed !== undefined);
    return isLimited && this.#findTerms(owner, number)?.terms.postpaid === true;
  }

  /** Call it for every credit, in the order of their numbers. */
  addCredit(entry: OwnedEntry, sums: Sums): void {
    const { owner, available: amount, period, source } = entry;
    const known = this.#known.get(owner);
    if (period === undefined) {
      if (known && amount < 0n) known.corrected -= amount;
    } else if (source === 'allowance-reset') {
      this.#checkReset(entry, known, sums);
    } else {
      const periods = known?.periods ?? [];
      this.#checkAllowance(entry, period, periods);
      this.#known.set(owner, { periods, amount, spent: sums.revenue + sums.reserved, corrected: 0n });
    }
  }

  #findTerms(account: number, number: number): Agreed | undefined {
    return this.#agreed.get(account)?.findLast(({ since }) => since <= number);
  }

  #checkAllowance(entry: OwnedEntry, period: number, periods: KnownAllowances['periods']): void {
    const { owner, number, at, available } = entry;
    const allowance = this.#findTerms(owner, number)?.terms.allowance;
    if (!allowance) return this.#reportFinding(entry, 'an allowance that was not agreed');
    const { amount, per, zone } = allowance;
    if (amount !== available)
      this.#reportFinding(
        entry,
        `an allowance of ${formatUsd(available)}, and ${formatUsd(amount)} was agreed`,
      );
    const { start, ends = Infinity } = findPeriod(per, zone, at);
    if (start !== period)
      this.#reportFinding(entry, `it is not of the ${per} in which an allowance is credited`);
    if (periods.some(([from, to]) => from < ends && start < to))
      this.#reportFinding(entry, 'a second allowance for the same time');
    periods.push([start, ends]);
  }

  #checkReset(
    entry: OwnedEntry,
    known: KnownAllowances | undefined,
    { available, reserved, revenue }: Sums,
  ): void {
    if (this.#findTerms(entry.owner, entry.number)?.terms.allowance?.mode !== 'reset')
      this.#reportFinding(entry, 'an allowance that was taken back, which was not agreed');
    const { corrected, ...last } = known ?? { amount: 0n, spent: 0n, corrected: 0n };
    const spent = revenue + reserved;
    const rest = computeRest(last, { total: available - entry.available + spent, spent }, corrected);
    if (-entry.available !== rest)
      this.#reportFinding(
        entry,
        `it takes back ${formatUsd(-entry.available)}, and ${formatUsd(rest)} was left of the last allowance`,
      );
  }
}
