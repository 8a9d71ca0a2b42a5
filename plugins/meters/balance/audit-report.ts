/** What an auditor reads, remembers and reports. */
import { isDecimal, kinds, listUses, restorePrice } from '../../../core/for-threads.ts';
import type { Nano, Price, Rate, Used } from '../../../core/index.ts';
import type { Entry } from './books.ts';
import type { KnownBudgets } from './budgets/audit.ts';
import type { CheckedRollups, KnownRollups } from './calls/rollup-audit.ts';
import type { Row } from './rows.ts';

export type Rule = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'I10' | 'I11' | 'I12';

export interface Finding {
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
export interface Kept {
  readonly accounts: Iterable<Row>;
  readonly keys: Iterable<Row>;
  readonly pending: Iterable<Row>;
  readonly periods: Iterable<Row>;
  readonly rollups: Iterable<CheckedRollups>;
}

export interface Sums {
  credits: Nano;
  available: Nano;
  reserved: Nano;
  revenue: Nano;
  /** What was owed beyond reservations. The account's balance may be below zero by this amount. */
  excess: Nano;
}

interface Open {
  readonly call: string;
  readonly account: string;
  readonly amount: Nano;
  readonly budgets: string | undefined;
}

/**
 * What an auditor remembers of the entries it has read: plain data, so that another auditor can continue
 * from it after the thread of the first has ended.
 */
export interface Known {
  readonly accounts: Map<string, Sums>;
  readonly keys: Map<string, { used: Nano; pending: Nano }>;
  readonly open: Map<number, Open>;
  /** Posts that used up their reservation. Their cost can be checked only once no overage can follow. */
  readonly full: Map<number, { readonly cost: Nano; readonly entry: Entry }>;
  readonly adjusted: Set<number>;
  readonly budgets: KnownBudgets;
  readonly rollups: KnownRollups;
  findings: Finding[];
  broken: number;
  entries: number;
  /** The number of the last entry it received. The next audit starts after it. */
  last: number;
  audits: number;
}

export function createKnown(): Known {
  return {
    accounts: new Map(),
    keys: new Map(),
    open: new Map(),
    full: new Map(),
    adjusted: new Set(),
    budgets: { periods: new Map(), touched: undefined },
    rollups: { byParties: new Map(), byHour: new Map() },
    findings: [],
    broken: 0,
    entries: 0,
    last: 0,
    audits: 0,
  };
}

/** Finds the rates of a price by its version, as JSON text. */
export type RatesOf = (version: string) => string | undefined;

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
