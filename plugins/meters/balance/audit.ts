/**
 * Reads the books and reports where they break a rule. It computes everything from the entries, in their
 * order, and compares the results with the stored sums; it shares no code with what writes them. The rules
 * have numbers. I1: legs sum to zero. I2: stored sums are the sums of the entries. I3: no more is reserved
 * than an account has. I4: a reservation is pending, or has ended once. I5: a call is settled once. I6: an
 * entry that ends a call says why. I7: no more is posted than was reserved. I8: the charge is what the
 * usage costs at the price of that day. I9: totals only change by credits. I10 and I11 are about budgets,
 * in `budgets/audit.ts`, I12 about roll-ups, in `calls/rollup-audit.ts`, and I13 about allowances, in
 * `terms-audit.ts`.
 */
import {
  computeCost,
  formatUsd,
  isDecimal,
  kinds,
  listUses,
  restorePrice,
} from '../../../core/for-threads.ts';
import type { Nano, Price, Rate, Used } from '../../../core/index.ts';
import { readAccount, isCorrection, fitsKind, readKey } from './accounts.ts';
import { entryFields, type Entry } from './books.ts';
import { BudgetAudit, type KnownBudgets } from './budgets/audit.ts';
import { readPeriod } from './budgets/budget.ts';
import { RollupAudit, type CheckedRollups, type KnownRollups } from './calls/rollup-audit.ts';
import * as rows from './rows.ts';
import type { AccountRecord, KeyRecord } from './store.ts';
import { TermsAudit, type KnownAllowances } from './terms-audit.ts';

type Rule = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'I10' | 'I11' | 'I12' | 'I13';

interface Finding {
  readonly rule: Rule;
  /** The number of the wrong entry; undefined if no single entry breaks the rule. */
  readonly entry: number | undefined;
  readonly account: string | undefined;
  readonly message: string;
}

/** The entry or the account that a finding is about. */
export interface About {
  readonly number?: number | undefined;
  readonly account?: string | undefined;
}

export interface AuditReport {
  readonly ok: boolean;
  /** How many entries were read, over all audits of this auditor. */
  readonly entries: number;
  readonly accounts: number;
  readonly pending: number;
  readonly broken: number;
  /** The first broken rules that were found; `broken` counts all of them. */
  readonly findings: readonly Finding[];
}

/** Rows of the stored sums, read right after the last entry that the auditor received. */
interface Kept {
  readonly accounts: Iterable<rows.Row>;
  readonly keys: Iterable<rows.Row>;
  readonly pending: Iterable<rows.Row>;
  readonly periods: Iterable<rows.Row>;
  readonly rollups: Iterable<CheckedRollups>;
}

interface Sums {
  credits: Nano;
  available: Nano;
  reserved: Nano;
  revenue: Nano;
  /** What was owed beyond reservations. The account's balance may be below zero by this amount. */
  excess: Nano;
}

/** An account can be renamed, so it is known by its number. */
const owner = rows.pickColumn('account', rows.readCount);
const readEntry = rows.createReader({ ...entryFields, owner });
export type OwnedEntry = ReturnType<typeof readEntry>;

interface Open {
  readonly call: string;
  readonly account: string;
  readonly owner: number;
  readonly amount: Nano;
  readonly budgets: string | undefined;
}

/**
 * What an auditor remembers of the entries it has read: plain data, so that another auditor can continue
 * from it after the thread of the first has ended.
 */
function createKnown() {
  const findings: Finding[] = [];
  const budgets: KnownBudgets = { periods: new Map(), touched: undefined };
  const rollups: KnownRollups = { byParties: new Map(), byHour: new Map(), accounts: new Map() };
  return {
    accounts: new Map<number, Sums>(),
    keys: new Map<string, { used: Nano; pending: Nano }>(),
    open: new Map<number, Open>(),
    /** Posts that used up their reservation. Their cost can be checked only once no overage can follow. */
    full: new Map<number, { readonly cost: Nano; readonly entry: Entry }>(),
    adjusted: new Set<number>(),
    budgets,
    rollups,
    allowances: new Map<number, KnownAllowances>(),
    findings,
    broken: 0,
    entries: 0,
    /** The number of the last entry it received. The next audit starts after it. */
    last: 0,
    audits: 0,
  };
}

type Known = ReturnType<typeof createKnown>;

/** Finds the rates of a price by its version, as JSON text. */
type RatesOf = (version: string) => string | undefined;

/** Reads each price once. */
export function createPriceReader(ratesOf: RatesOf): (version: string) => Price | undefined {
  const known = new Map<string, Price>();
  return (version) => {
    const found = known.get(version);
    if (found) return found;
    const price = restorePrice(parseJson(ratesOf(version)));
    if (!isPrice(price)) return undefined;
    known.set(version, price);
    return price;
  };
}

/** The schemas of prices and usage would load zod into the thread: see `rows.ts`. */
function isPrice(value: unknown): value is Price {
  if (!isRecord(value)) return false;
  const { rates, tiers = [], modes = {}, rules = [] } = value;
  if (!Array.isArray(rates) || !rates.every(isRate)) return false;
  const [hasInput, hasOutput] = ['input', 'output'].map((wanted) =>
    rates.some(({ unit }) => unit === wanted),
  );
  const tables = [tiers, modes, rules].flatMap((each) => (isRecord(each) ? Object.values(each) : [each]));
  return hasInput === hasOutput && tables.every(isPrice);
}

function isRate(value: unknown): value is Rate {
  return isRecord(value) && typeof value.rate === 'string' && isDecimal(value.rate);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** What a call used, from its counts by their names; undefined if that cannot be read. */
export function readUsage(text: string): Used | undefined {
  const usage = parseJson(text);
  if (!isRecord(usage)) return undefined;
  const { mode, rule, ...counts } = usage;
  if (!isText(mode) || !isText(rule) || !Object.entries(counts).every(isCount)) return undefined;
  return { uses: listUses(counts), mode, rule };
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

const divisible = new Set(kinds.flatMap(({ isDivisible, countName }) => (isDivisible ? [countName] : [])));

function isCount([name, value]: readonly [name: string, value: unknown]): boolean {
  return (
    Number(value) >= 0 && (Number.isSafeInteger(value) || (typeof value === 'number' && divisible.has(name)))
  );
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const mostFindings = 50;

const readPending = rows.createReader({
  call: rows.readText,
  number: rows.readCount,
  account: rows.pickColumn('account_name', rows.readText),
  owner: rows.readCount,
  amount: rows.readInteger,
});

const books = ['credits', 'available', 'reserved', 'revenue'] as const;

/** Which books an entry of each kind may touch. All others have to be zero. */
const touches: Readonly<Record<Entry['kind'], readonly (typeof books)[number][]>> = {
  credit: ['credits', 'available'],
  reserve: ['available', 'reserved'],
  post: ['available', 'reserved', 'revenue'],
  void: ['available', 'reserved'],
  expire: ['available', 'reserved'],
  overage: ['available', 'revenue'],
  adjustment: ['available', 'revenue'],
};

export class Auditor {
  readonly known: Known;
  readonly #readPrice: ReturnType<typeof createPriceReader>;
  readonly #budgets: BudgetAudit;
  readonly #rollups: RollupAudit;
  readonly #terms: TermsAudit;

  constructor(ratesOf: RatesOf, known = createKnown()) {
    this.#readPrice = createPriceReader(ratesOf);
    this.known = known;
    this.#budgets = new BudgetAudit(known.budgets, (...found) => this.#addFinding(...found));
    this.#terms = new TermsAudit(known.allowances, (...found) => this.#addFinding('I13', ...found));
    this.#rollups = new RollupAudit(known.rollups, (message) => this.#addFinding('I12', {}, message));
  }

  /** Call it before the entries of each audit, with the terms of all accounts. */
  readTerms(found: Iterable<rows.Row>): void {
    this.#terms.readTerms(found);
  }

  /** Call it with the row of every entry, in the order of their numbers. */
  addEntry(row: rows.Row): void {
    const entry = readEntry(row);
    const { number, credits, available, reserved, revenue } = entry;
    this.known.entries += 1;
    this.known.last = number;
    if (credits + available + reserved + revenue !== 0n)
      this.#addFinding('I1', entry, `its legs sum to ${credits + available + reserved + revenue}`);
    const stray = books.filter((book) => entry[book] !== 0n && !touches[entry.kind].includes(book));
    const rule = stray.includes('credits') ? 'I9' : 'I1';
    if (stray.length > 0) this.#addFinding(rule, entry, `a ${entry.kind} moves ${stray.join(' and ')}`);
    const sums = this.#getSums(entry.owner);
    for (const book of books) sums[book] += entry[book];
    if (entry.key !== undefined) this.#addSpending(entry.key, revenue, reserved);
    this.#checkKind(entry, sums);
    this.#budgets.addEntry(entry);
    this.#rollups.addEntry(entry);
  }

  /** The periods that the next report compares, each as budget and start; undefined: all of them. */
  get periods(): BudgetAudit['touched'] {
    return this.#budgets.touched;
  }

  /** Compares the stored sums with those of the entries, and returns everything found so far. */
  buildReport({ accounts, keys, pending, periods, rollups }: Kept): AuditReport {
    const before = { findings: this.known.findings, broken: this.known.broken };
    this.known.findings = [...before.findings];
    let [accountCount, pendingCount] = [0, 0];
    for (const row of accounts) {
      accountCount += 1;
      this.#compareAccount(readAccount(row), rows.readCount(row, 'id'));
    }
    this.#compareKeys([...keys].map(readKey));
    this.#budgets.comparePeriods(Iterator.from(periods).map(readPeriod));
    for (const checked of rollups) this.#rollups.compareRollups(checked);
    const open = new Map(this.known.open);
    for (const row of Iterator.from(pending).map(readPending)) {
      pendingCount += 1;
      const made = open.get(row.number);
      open.delete(row.number);
      if (made?.call !== row.call || made.owner !== row.owner || made.amount !== row.amount) {
        this.#addFinding(
          'I4',
          { number: row.number, account: row.account },
          `the call ${row.call} is kept as pending, and no open reservation says so`,
        );
      }
    }
    for (const [number, { call, account }] of open)
      this.#addFinding('I4', { number, account }, `the reservation of ${call} has no end and is not pending`);
    for (const { cost, entry } of this.known.full.values()) this.#reportCost(entry, cost);
    this.known.audits += 1;
    const report = {
      ok: this.known.broken === 0,
      entries: this.known.entries,
      accounts: accountCount,
      pending: pendingCount,
      broken: this.known.broken,
      findings: this.known.findings,
    };
    // The next audit compares the stored sums again, so their findings are not remembered; entries are
    // read only once.
    [this.known.findings, this.known.broken] = [before.findings, before.broken];
    return report;
  }

  #checkKind(entry: OwnedEntry, sums: Sums): void {
    const { kind, number, call, account, owner: of } = entry;
    if (kind === 'credit') {
      const { source: kind = 'top-up', available: amount } = entry;
      if (!fitsKind({ amount, kind })) this.#addFinding('I9', entry, `a ${kind} of ${formatUsd(amount)}`);
      if (isCorrection(kind) && (entry.reason === undefined || entry.author === undefined))
        this.#addFinding('I9', entry, `a ${kind} without a reason or an author`);
      this.#terms.addCredit(entry, sums);
    } else if (call === undefined) {
      this.#addFinding('I7', entry, `a ${kind} without a reservation`);
    } else if (kind === 'reserve') {
      if (entry.reserved < 0n) this.#addFinding('I3', entry, `a reservation of ${formatUsd(entry.reserved)}`);
      if (entry.reserved > 0n && sums.available + sums.excess < 0n && !this.#terms.isPaidLater(entry)) {
        this.#addFinding('I3', entry, `it reserves ${formatUsd(-sums.available)} more than the account has`);
      }
      this.known.open.set(number, {
        call,
        account,
        owner: of,
        amount: entry.reserved,
        budgets: entry.budgets,
      });
    } else if (kind === 'overage') {
      this.#checkOverage(entry, sums);
    } else if (kind === 'adjustment') {
      if (entry.reservation !== undefined && this.known.adjusted.has(entry.reservation))
        this.#addFinding('I5', entry, 'a second adjustment of one reservation');
      if (entry.reservation !== undefined) this.known.adjusted.add(entry.reservation);
      if (entry.revenue > 0n) sums.excess += entry.revenue;
    } else {
      this.#checkEnd(entry);
    }
  }

  #checkEnd(entry: OwnedEntry): void {
    const { kind, reservation, account, reserved, revenue, reason, call } = entry;
    const made = reservation === undefined ? undefined : this.known.open.get(reservation);
    if (reservation !== undefined) this.known.open.delete(reservation);
    const twice = kind === 'post' ? 'I5' : 'I4';
    if (!made) return this.#addFinding(twice, entry, `a ${kind} of ${call}, whose reservation is not open`);
    if (made.owner !== entry.owner || made.amount !== -reserved) {
      this.#addFinding(
        'I4',
        entry,
        `it ends ${formatUsd(-reserved)} of ${account}, and ${formatUsd(made.amount)} ` +
          `of ${made.account} was reserved`,
      );
    }
    if (made.budgets !== entry.budgets)
      this.#addFinding('I10', entry, 'it does not count in the budgets in which its call was reserved');
    if (reason === undefined || reason === '')
      this.#addFinding('I6', entry, `a ${kind} that does not say why`);
    if (kind !== 'post') return;
    if (revenue < 0n || revenue > made.amount)
      this.#addFinding('I3', entry, `it posts ${formatUsd(revenue)} of ${formatUsd(made.amount)} reserved`);
    const cost = this.#computeCost(entry);
    if (cost === undefined || cost === revenue) return;
    if (cost > revenue && revenue === made.amount && reservation !== undefined)
      this.known.full.set(reservation, { cost, entry });
    else this.#reportCost(entry, cost);
  }

  #reportCost(entry: Entry, cost: Nano): void {
    const { revenue } = entry;
    this.#addFinding('I8', entry, `its usage costs ${formatUsd(cost)} and ${formatUsd(revenue)} was charged`);
  }

  #checkOverage(entry: Entry, sums: Sums): void {
    const full = entry.reservation === undefined ? undefined : this.known.full.get(entry.reservation);
    if (entry.reservation !== undefined) this.known.full.delete(entry.reservation);
    const charged = full ? full.entry.revenue + entry.revenue : 0n;
    if (full && full.cost !== charged)
      this.#addFinding(
        'I8',
        entry,
        `the call cost ${formatUsd(full.cost)}, and ${formatUsd(charged)} was charged`,
      );
    if (entry.revenue <= 0n) this.#addFinding('I1', entry, 'an overage of nothing');
    sums.excess += entry.revenue;
  }

  /** What an entry's own figures cost; undefined if it has none to compare. */
  #computeCost(entry: Entry): Nano | undefined {
    if (entry.price === undefined || entry.usage === undefined) return undefined;
    const [price, usage] = [this.#readPrice(entry.price), readUsage(entry.usage)];
    if (price && usage) return computeCost(usage, price);
    const message = price ? 'its usage cannot be read' : `its price "${entry.price}" is not on record`;
    this.#addFinding('I8', entry, message);
    return undefined;
  }

  #compareAccount({ name, total, used, pending }: AccountRecord, id: number): void {
    const sums = this.#getSums(id);
    const about = { account: name };
    const columns = [
      ['total', total, -sums.credits],
      ['used', used, sums.revenue],
      ['pending', pending, sums.reserved],
    ] as const;
    for (const [column, kept, booked] of columns) {
      const sum = formatUsd(booked);
      const differs = `its ${column} is kept as ${formatUsd(kept)}, and its entries sum to ${sum}`;
      if (kept !== booked) this.#addFinding('I2', about, differs);
    }
    if (total - used - pending !== sums.available)
      this.#addFinding('I9', about, 'its balance is not its total less what was used');
  }

  #compareKeys(keys: readonly KeyRecord[]): void {
    const roots = new Map<string, { used: Nano; pending: Nano }>();
    for (const { id, root } of keys) {
      const [sums, own] = [roots.get(root) ?? { used: 0n, pending: 0n }, this.known.keys.get(id)];
      roots.set(root, { used: sums.used + (own?.used ?? 0n), pending: sums.pending + (own?.pending ?? 0n) });
    }
    for (const { id, root, account, used, pending } of keys) {
      const sums = roots.get(root);
      if (sums && (sums.used !== used || sums.pending !== pending)) {
        this.#addFinding(
          'I2',
          { account },
          `its key ${id} is kept as having used ${formatUsd(used)}, ` +
            `and its entries sum to ${formatUsd(sums.used)}`,
        );
      }
    }
  }

  #getSums(account: number): Sums {
    const known = this.known.accounts.get(account);
    if (known) return known;
    const sums = { credits: 0n, available: 0n, reserved: 0n, revenue: 0n, excess: 0n };
    this.known.accounts.set(account, sums);
    return sums;
  }

  #addSpending(key: string, used: Nano, pending: Nano): void {
    const known = this.known.keys.get(key);
    if (!known) return void this.known.keys.set(key, { used, pending });
    known.used += used;
    known.pending += pending;
  }

  #addFinding(rule: Rule, { number, account }: About, message: string): void {
    this.known.broken += 1;
    if (this.known.findings.length < mostFindings)
      this.known.findings.push({ rule, entry: number, account, message });
  }
}
