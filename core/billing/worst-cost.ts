/**
 * The worst case of a call, for its reservation: the most it can use, at the dearest rates that it can meet.
 */
import { facts, type Kind, type Unit, type Use } from '../canonical/units.ts';
import {
  findRate,
  getTerms,
  getRates,
  type Price,
  type Table,
  type Terms,
  type Tier,
} from '../price-terms.ts';
import type { Nano } from '../util/money.ts';
import { getModeRates, multiplyRate, roundSum, toSum } from './cost.ts';

/** The most that a call can use. */
export interface UseBound {
  readonly input: number;
  /** Input from a cache that the vendor keeps, besides `input`, at the cached rate. */
  readonly cached?: number;
  /** Whether nothing is written to a cache, or nothing that is kept there for an hour or longer. */
  readonly uncached?: boolean;
  readonly brief?: boolean;
  /** Per candidate. */
  readonly output: number;
  readonly candidates: number;
  /** The most of units that are no tokens, besides the request, and a picture for each candidate. */
  readonly uses?: readonly Use[];
  readonly mode?: string | undefined;
  /** The price rules that the call can meet, undefined for the price's own rates. Default: all. */
  readonly rules?: readonly (string | undefined)[] | undefined;
}

type Bound = Omit<UseBound, 'output'>;
type Tables = readonly [Terms, ...Table[]];

/** The terms that a call can meet. Nearly always there is one. */
function listTerms(price: Price, { rules }: Bound): readonly Terms[] {
  if (!price.rules) return [price];
  return rules ? rules.map((rule) => getTerms(price, rule)) : [price, ...price.rules];
}

/**
 * The worst case: every input token at the highest input rate, every output token at the highest output rate,
 * at the dearest rule that the call can meet.
 */
export function computeWorstCost(bound: UseBound, price: Price): Nano {
  let worst = 0n;
  for (const terms of listTerms(price, bound)) {
    const tables = listTables(terms, bound);
    const output = multiplyRate(bound.output, findHighest(tables, isOutput), facts.output.per);
    const cost = roundSum(sumOthers(bound, tables) + output * BigInt(bound.candidates));
    if (cost > worst) worst = cost;
  }
  return worst;
}

/**
 * The largest output limit per candidate whose worst case fits `amount`. Negative if the input alone does not
 * fit.
 */
export function computeAffordableOutput(amount: Nano, bound: Bound, price: Price): number {
  return Math.min(...listTerms(price, bound).map((terms) => computeAffordable(amount, bound, terms)));
}

function computeAffordable(amount: Nano, bound: Bound, terms: Terms): number {
  const tables = listTables(terms, bound);
  const left = toSum(amount) - sumOthers(bound, tables);
  const token = multiplyRate(1, findHighest(tables, isOutput), facts.output.per) * BigInt(bound.candidates);
  if (left < 0n) return -1;
  return token === 0n ? Number.MAX_SAFE_INTEGER : Number(left / token);
}

/** Whether a mode is granted is known at the end, so its rates and the usual ones count. */
function listTables(terms: Terms, bound: Bound): Tables {
  const served = getModeRates(terms, bound.mode) ?? terms;
  const long = filterTiers(terms, bound);
  return served === terms ? [terms, ...long] : [terms, ...long, served, ...filterTiers(served, bound)];
}

/** The tiers that this much input can reach. A call that stays below a tier never pays its rates. */
function filterTiers({ tiers = [] }: Table, { input, cached = 0 }: Bound): readonly Tier[] {
  return tiers.filter(({ above }) => input + cached > above);
}

const isOutput = ({ whole }: Kind): boolean => whole === 'output';
const isCacheRead = ({ unit }: Kind): boolean => unit === 'cacheRead';

/** The highest of some rates in any of the tables. */
function findHighest(tables: Tables, isWanted: (kind: Kind) => boolean): bigint {
  let most = 0n;
  for (const table of tables) {
    for (const { kind, value } of getRates(table).values()) {
      if (value > most && isWanted(kind)) most = value;
    }
  }
  return most;
}

const once: Use = { unit: 'request', count: 1 };

/** Everything but the output, as an unrounded sum. */
function sumOthers({ uncached, brief, ...bound }: Bound, tables: Tables): bigint {
  const input = findHighest(
    tables,
    ({ whole, kept }) =>
      whole === 'input' && !(uncached && kept !== undefined) && !(brief && kept === 'long'),
  );
  // If one of them has no cached rate, cached input costs what other input does.
  const cached = tables.every((table) => getRates(table).has('cacheRead'))
    ? findHighest(tables, isCacheRead)
    : input;
  const { per } = facts.input;
  let sum = multiplyRate(bound.input, input, per) + multiplyRate(bound.cached ?? 0, cached, per);
  const { uses = [], candidates } = bound;
  for (const { unit, count } of [...uses, once, { unit: 'image', count: candidates } as const])
    sum += multiplyRate(count, findHighestOf(unit, tables), facts[unit].per);
  return sum;
}

function findHighestOf(unit: Unit, tables: Tables): bigint {
  const [terms] = tables;
  let most = findHighest(tables, (kind) => kind.unit === unit);
  for (const table of tables) {
    const { value = 0n } = findRate([table, terms], { unit }) ?? {};
    if (value > most) most = value;
  }
  return most;
}
