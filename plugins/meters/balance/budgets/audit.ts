/**
 * The part of an audit that is about budgets. I10: the stored sums of each period are those of its
 * entries, and a call counts in a period that it was reserved in. I11: no reservation exceeds what a hard
 * budget allowed at that moment.
 */
import { formatUsd } from '../../../../core/for-threads.ts';
import type { Nano } from '../../../../core/index.ts';
import type { About } from '../audit.ts';
import type { Entry } from '../books.ts';
import { never, readShares, type PeriodRecord } from './budget.ts';

interface Booked {
  used: Nano;
  pending: Nano;
  /** When the first and the last of its calls were reserved. */
  first: number;
  last: number;
}

type Found = (rule: 'I10' | 'I11', about: About, message: string) => void;

/** What the auditor remembers of the periods that entries count in. */
export interface KnownBudgets {
  readonly periods: Map<string, Booked>;
  /** Periods that may have changed since they were found sound; undefined before the first comparison. */
  touched: Set<string> | undefined;
}

export class BudgetAudit {
  readonly #known: KnownBudgets;
  readonly #reportFinding: Found;

  constructor(known: KnownBudgets, found: Found) {
    this.#known = known;
    this.#reportFinding = found;
  }

  addEntry(entry: Entry): void {
    const { kind, at, budgets, revenue, reserved } = entry;
    for (const { budget, start, allowed } of readShares(budgets)) {
      const name = `${budget} ${start}`;
      const none = { used: 0n, pending: 0n, first: Infinity, last: -Infinity };
      const sums = this.#known.periods.get(name) ?? none;
      this.#known.periods.set(name, sums);
      this.#known.touched?.add(name);
      sums.used += revenue;
      sums.pending += reserved;
      if (kind !== 'reserve') continue;
      sums.first = Math.min(sums.first, at);
      sums.last = Math.max(sums.last, at);
      const held = sums.used + sums.pending;
      if (allowed === undefined || reserved <= 0n || held <= allowed) continue;
      const message = `it makes ${formatUsd(held)} in budget ${budget}, which allowed ${formatUsd(allowed)}`;
      this.#reportFinding('I11', entry, message);
    }
  }

  /** The periods to compare, each as budget and start; undefined: all stored ones. */
  get touched(): readonly (readonly [budget: number, start: number])[] | undefined {
    if (!this.#known.touched) return undefined;
    return Array.from(this.#known.touched, (name) => {
      const [budget, start] = name.split(' ');
      return [Number(budget), Number(start)];
    });
  }

  /** Compares the requested stored periods with those of the entries. */
  comparePeriods(kept: Iterable<PeriodRecord>): void {
    const wrong = new Set<string>();
    // A period with only free calls has no row in the ledger.
    const left = new Set(
      (this.#known.touched ?? this.#known.periods).keys().filter((name) => {
        const { used = 0n, pending = 0n } = this.#known.periods.get(name) ?? {};
        return used !== 0n || pending !== 0n;
      }),
    );
    for (const { budget, start, ends, used, pending } of kept) {
      const name = `${budget} ${start}`;
      left.delete(name);
      const booked = this.#known.periods.get(name) ?? { used: 0n, pending: 0n, first: start, last: start };
      if (booked.used !== used || booked.pending !== pending) {
        wrong.add(name);
        const formatSums = (sums: Pick<Booked, 'used' | 'pending'>): string =>
          `${formatUsd(sums.used)} used and ${formatUsd(sums.pending)} reserved`;
        this.#reportFinding(
          'I10',
          {},
          `budget ${budget} keeps ${formatSums({ used, pending })} since ${new Date(start).toISOString()}, ` +
            `and its entries sum to ${formatSums(booked)}`,
        );
      }
      if (ends !== never && (booked.first < start || booked.last >= ends)) {
        wrong.add(name);
        this.#reportFinding(
          'I10',
          {},
          `budget ${budget} counts calls that were not reserved in its period ` +
            `from ${new Date(start).toISOString()}`,
        );
      }
    }
    for (const name of left) {
      wrong.add(name);
      this.#reportFinding('I10', {}, `entries count in the period ${name} of a budget, which is not kept`);
    }
    // A wrong period is compared again, so that the next audit reports it too.
    this.#known.touched = wrong;
  }
}
