/**
 * Reads the books and says where they break a rule. It computes everything from the entries, in their order,
 * and compares it with the kept sums; it uses none of the code that writes them. The rules have numbers. I1:
 * legs sum to zero. I2: kept sums are the sums of the entries. I3: no more is reserved than an account has.
 * I4: a reservation is pending, or has ended once. I5: a call is settled once. I6: an entry that ends a call
 * says why. I7: no more is posted than was reserved. I8: the charge is what the usage costs at the price of
 * that day. I9: totals only change by credits. I10 and I11 are about budgets, in `budgets/audit.ts`,
 * and I12 about roll-ups, in `calls/rollup-audit.ts`.
 */
import { costOf, formatUsd, type Nano } from '../../../core/index.ts';
import { isCorrection, isFitting } from './accounts.ts';
import type { AuditReport, Finding, Kept, Readers, Rule } from './audit-report.ts';
import { BudgetAudit } from './budgets/audit.ts';
import { RollupAudit } from './calls/rollup-audit.ts';
import type { AccountRecord, Entry, KeyRecord } from './store.ts';

const mostFindings = 50;

interface Sums {
  credits: Nano;
  available: Nano;
  reserved: Nano;
  revenue: Nano;
  /** What was owed above reservations. An account may be below zero by this much. */
  excess: Nano;
}

interface Open {
  readonly call: string;
  readonly account: string;
  readonly amount: Nano;
  readonly budgets: string | undefined;
}

/** Which books an entry of each kind may touch. All others have to be zero. */
const touches: Readonly<
  Record<Entry['kind'], readonly (keyof Pick<Entry, 'credits' | 'available' | 'reserved' | 'revenue'>)[]>
> = {
  credit: ['credits', 'available'],
  reserve: ['available', 'reserved'],
  post: ['available', 'reserved', 'revenue'],
  void: ['available', 'reserved'],
  expire: ['available', 'reserved'],
  overage: ['available', 'revenue'],
  adjustment: ['available', 'revenue'],
};

const books = ['credits', 'available', 'reserved', 'revenue'] as const;

export class Auditor {
  readonly #readers: Readers;
  readonly #accounts = new Map<string, Sums>();
  readonly #keys = new Map<string, { used: Nano; pending: Nano }>();
  readonly #open = new Map<number, Open>();
  /**
   * Posts that took their whole reservation. Whether their cost is right is only known when no overage
   * follows.
   */
  readonly #full = new Map<number, { readonly cost: Nano; readonly entry: Entry }>();
  readonly #adjusted = new Set<number>();
  readonly #budgets = new BudgetAudit((...found) => this.#found(...found));
  readonly #rollups = new RollupAudit((message) =>
    this.#found('I12', { number: undefined, account: undefined }, message),
  );
  #findings: Finding[] = [];
  #broken = 0;
  #entries = 0;
  /** The number of the last entry it was given. The next audit starts after it. */
  last = 0;

  constructor(readers: Readers) {
    this.#readers = readers;
  }

  /** To be called with every entry, in the order of their numbers. */
  entry(entry: Entry): void {
    const { number, account, credits, available, reserved, revenue } = entry;
    this.#entries += 1;
    this.last = number;
    if (credits + available + reserved + revenue !== 0n)
      this.#found('I1', entry, `its legs sum to ${credits + available + reserved + revenue}`);
    const stray = books.filter((book) => entry[book] !== 0n && !touches[entry.kind].includes(book));
    if (stray.length > 0)
      this.#found(
        stray.includes('credits') ? 'I9' : 'I1',
        entry,
        `a ${entry.kind} moves ${stray.join(' and ')}`,
      );
    const sums = this.#sumsOf(account);
    for (const book of books) sums[book] += entry[book];
    if (entry.key !== undefined) this.#spend(entry.key, revenue, reserved);
    this.#byKind(entry, sums);
    this.#budgets.entry(entry);
    this.#rollups.entry(entry);
  }

  /** The periods that the next report compares, each as budget and start; undefined: all of them. */
  get periods(): BudgetAudit['touched'] {
    return this.#budgets.touched;
  }

  /** Compares the kept sums with those of the entries, and returns everything found so far. */
  report({ accounts, keys, pending, periods, rollups }: Kept): AuditReport {
    const before = { findings: this.#findings, broken: this.#broken };
    this.#findings = [...before.findings];
    let [accountCount, pendingCount] = [0, 0];
    for (const account of accounts) {
      accountCount += 1;
      this.#compareAccount(account);
    }
    this.#compareKeys([...keys]);
    this.#budgets.compare(periods);
    for (const checked of rollups) this.#rollups.compare(checked);
    const open = new Map(this.#open);
    for (const row of pending) {
      pendingCount += 1;
      const made = open.get(row.number);
      open.delete(row.number);
      if (made?.call !== row.call || made.account !== row.account || made.amount !== row.amount) {
        this.#found(
          'I4',
          { number: row.number, account: row.account },
          `the call ${row.call} is kept as pending, and no open reservation says so`,
        );
      }
    }
    for (const [number, { call, account }] of open)
      this.#found('I4', { number, account }, `the reservation of ${call} has no end and is not pending`);
    for (const { cost, entry } of this.#full.values()) {
      this.#found(
        'I8',
        entry,
        `its usage costs ${formatUsd(cost)} and ${formatUsd(entry.revenue)} was charged`,
      );
    }
    const report = {
      ok: this.#broken === 0,
      entries: this.#entries,
      accounts: accountCount,
      pending: pendingCount,
      broken: this.#broken,
      findings: this.#findings,
    };
    // Kept sums are compared again at the next audit, so those findings are not kept; entries are read only
    // once.
    [this.#findings, this.#broken] = [before.findings, before.broken];
    return report;
  }

  #byKind(entry: Entry, sums: Sums): void {
    const { kind, number, call, account } = entry;
    if (kind === 'credit') {
      const { source: kind = 'top-up', available: amount } = entry;
      if (!isFitting({ amount, kind })) this.#found('I9', entry, `a ${kind} of ${formatUsd(amount)}`);
      if (isCorrection(kind) && (entry.reason === undefined || entry.author === undefined))
        this.#found('I9', entry, `a ${kind} without a reason or an author`);
    } else if (call === undefined) {
      this.#found('I7', entry, `a ${kind} without a reservation`);
    } else if (kind === 'reserve') {
      if (entry.reserved < 0n) this.#found('I3', entry, `a reservation of ${formatUsd(entry.reserved)}`);
      if (entry.reserved > 0n && sums.available + sums.excess < 0n) {
        this.#found('I3', entry, `it reserves ${formatUsd(-sums.available)} more than the account has`);
      }
      this.#open.set(number, { call, account, amount: entry.reserved, budgets: entry.budgets });
    } else if (kind === 'overage') {
      this.#checkOverage(entry, sums);
    } else if (kind === 'adjustment') {
      if (entry.reservation !== undefined && this.#adjusted.has(entry.reservation))
        this.#found('I5', entry, 'a second adjustment of one reservation');
      if (entry.reservation !== undefined) this.#adjusted.add(entry.reservation);
      if (entry.revenue > 0n) sums.excess += entry.revenue;
    } else {
      this.#checkEnd(entry);
    }
  }

  #checkEnd(entry: Entry): void {
    const { kind, reservation, account, reserved, revenue, reason, call } = entry;
    const made = reservation === undefined ? undefined : this.#open.get(reservation);
    if (reservation !== undefined) this.#open.delete(reservation);
    if (!made)
      return this.#found(
        kind === 'post' ? 'I5' : 'I4',
        entry,
        `a ${kind} of ${call}, whose reservation is not open`,
      );
    if (made.account !== account || made.amount !== -reserved) {
      this.#found(
        'I4',
        entry,
        `it ends ${formatUsd(-reserved)} of ${account}, and ${formatUsd(made.amount)} ` +
          `of ${made.account} was reserved`,
      );
    }
    if (made.budgets !== entry.budgets)
      this.#found('I10', entry, 'it does not count in the budgets in which its call was reserved');
    if (reason === undefined || reason === '') this.#found('I6', entry, `a ${kind} that does not say why`);
    if (kind !== 'post') return;
    if (revenue < 0n || revenue > made.amount)
      this.#found('I3', entry, `it posts ${formatUsd(revenue)} of ${formatUsd(made.amount)} reserved`);
    const cost = this.#costOf(entry);
    if (cost === undefined || cost === revenue) return;
    if (cost > revenue && revenue === made.amount && reservation !== undefined)
      this.#full.set(reservation, { cost, entry });
    else this.#found('I8', entry, `its usage costs ${formatUsd(cost)} and ${formatUsd(revenue)} was charged`);
  }

  #checkOverage(entry: Entry, sums: Sums): void {
    const full = entry.reservation === undefined ? undefined : this.#full.get(entry.reservation);
    if (entry.reservation !== undefined) this.#full.delete(entry.reservation);
    if (full && full.cost !== full.entry.revenue + entry.revenue) {
      this.#found(
        'I8',
        entry,
        `the call cost ${formatUsd(full.cost)}, ` +
          `and ${formatUsd(full.entry.revenue + entry.revenue)} was charged`,
      );
    }
    if (entry.revenue <= 0n) this.#found('I1', entry, 'an overage of nothing');
    sums.excess += entry.revenue;
  }

  /** What an entry's own figures cost; undefined where it has none to compare. */
  #costOf(entry: Entry): Nano | undefined {
    if (entry.price === undefined || entry.usage === undefined) return undefined;
    const [price, usage] = [this.#readers.price(entry.price), this.#readers.usage(entry.usage)];
    if (price && usage) return costOf(usage, price);
    this.#found(
      'I8',
      entry,
      price ? 'its usage cannot be read' : `its price "${entry.price}" is not on record`,
    );
    return undefined;
  }

  #compareAccount({ name, total, used, pending }: AccountRecord): void {
    const sums = this.#sumsOf(name);
    const kept = { total, used, pending };
    const booked = { total: -sums.credits, used: sums.revenue, pending: sums.reserved };
    for (const column of ['total', 'used', 'pending'] as const) {
      if (kept[column] !== booked[column]) {
        this.#found(
          'I2',
          { number: undefined, account: name },
          `its ${column} is kept as ${formatUsd(kept[column])}, ` +
            `and its entries sum to ${formatUsd(booked[column])}`,
        );
      }
    }
    if (total - used - pending !== sums.available)
      this.#found(
        'I9',
        { number: undefined, account: name },
        'its balance is not its total less what was used',
      );
  }

  #compareKeys(keys: readonly (KeyRecord & { readonly root: string })[]): void {
    const roots = new Map<string, { used: Nano; pending: Nano }>();
    for (const { id, root } of keys) {
      const [sums, own] = [roots.get(root) ?? { used: 0n, pending: 0n }, this.#keys.get(id)];
      roots.set(root, { used: sums.used + (own?.used ?? 0n), pending: sums.pending + (own?.pending ?? 0n) });
    }
    for (const { id, root, account, used, pending } of keys) {
      const sums = roots.get(root);
      if (sums && (sums.used !== used || sums.pending !== pending)) {
        this.#found(
          'I2',
          { number: undefined, account },
          `its key ${id} is kept as having used ${formatUsd(used)}, ` +
            `and its entries sum to ${formatUsd(sums.used)}`,
        );
      }
    }
  }

  #sumsOf(account: string): Sums {
    const known = this.#accounts.get(account);
    if (known) return known;
    const sums = { credits: 0n, available: 0n, reserved: 0n, revenue: 0n, excess: 0n };
    this.#accounts.set(account, sums);
    return sums;
  }

  #spend(key: string, used: Nano, pending: Nano): void {
    const known = this.#keys.get(key);
    if (!known) return void this.#keys.set(key, { used, pending });
    known.used += used;
    known.pending += pending;
  }

  #found(
    rule: Rule,
    { number, account }: { readonly number: number | undefined; readonly account: string | undefined },
    message: string,
  ): void {
    this.#broken += 1;
    if (this.#findings.length < mostFindings) this.#findings.push({ rule, entry: number, account, message });
  }
}
