/** What a price consists of, and how its rates are found, without schemas: threads of the ledger use it. */
import {
  facts,
  findKind,
  nameKind,
  type Billed,
  type Kind,
  type Modality,
  type Unit,
  type Use,
} from './canonical/units.ts';
import type { ScheduledRule } from './price-schedule.ts';
import { multiplyDecimals, scaleDecimal } from './util/decimal.ts';
import { isObject } from './util/json-text.ts';

/** What a unit costs: an exact decimal in USD, for a million if it is a token. */
export interface Rate extends Billed {
  readonly rate: string;
}

/** Rates, and those of long inputs. */
export interface Table {
  readonly rates: readonly Rate[];
  readonly tiers?: readonly Tier[] | undefined;
}

export interface Tier {
  readonly above: number;
  readonly rates: readonly Rate[];
}

/** Everything that a call is priced by. */
export interface Terms extends Table {
  readonly tiers: readonly Tier[];
  readonly modes?: Readonly<Record<string, Table>> | undefined;
}

export interface PriceRule extends Terms, ScheduledRule {}

export interface Price extends Terms {
  readonly name?: string | undefined;
  readonly rules?: readonly PriceRule[] | undefined;
  readonly regional?: string | undefined;
  readonly billedAt?: 'start' | 'end' | undefined;
}

/**
 * Modes that cost less than the usual one wherever they are served. A price that does not state their rates
 * charges the usual ones.
 */
export const discounts: ReadonlySet<string> = new Set(['flex', 'batch']);

/** The name of a price's own rates, unless it states one. */
export const standard = 'standard';

/** What holds at the time of a rule. A rule that the price lacks, or none, means the price's own rates. */
export function getTerms(price: Price, rule: string | undefined): Terms {
  return price.rules?.find((each) => each.name === rule) ?? price;
}

/** A rate, and the same as an integer of the smallest unit. */
interface KnownRate {
  readonly kind: Kind;
  readonly rate: string;
  readonly value: bigint;
}

/** Decimals of the smallest unit: more than the factors on a rate can make of it. */
export const places = 60;

/** The rates of prices as integers: they are few, and every call has some. */
const parsed = new Map<string, bigint>();

export function parseRate(rate: string): bigint {
  let value = parsed.get(rate);
  if (value === undefined) parsed.set(rate, (value = scaleDecimal(rate, places)));
  return value;
}

const known = new WeakMap<Table, ReadonlyMap<string, KnownRate>>();

/** The rates of a table by the names of their kinds. */
export function getRates(table: Table): ReadonlyMap<string, KnownRate> {
  let index = known.get(table);
  if (!index) {
    index = new Map(
      table.rates.flatMap((each) => {
        const [name, { rate }] = [nameKind(each), each];
        const kind = findKind(name);
        return kind ? [[name, { kind, rate, value: parseRate(rate) }]] : [];
      }),
    );
    known.set(table, index);
  }
  return index;
}

/**
 * The rate of a kind in the first of some tables that has one for it or for its whole. Undefined if it has
 * none of its own: it then costs what its whole costs.
 */
export function findRate(tables: readonly Table[], billed: Billed): KnownRate | undefined {
  const kind = findKind(nameKind(billed));
  if (!kind) return undefined;
  for (const table of tables) {
    const rates = getRates(table);
    for (const name of kind.rateNames) {
      const rate = rates.get(name);
      if (rate) return rate;
    }
    if (rates.has(kind.whole)) return undefined;
  }
  return undefined;
}

/** The rate of a kind that a table states itself. */
export function getRate(table: Table | undefined, unit: Unit, modality?: Modality): string | undefined {
  return table && getRates(table).get(nameKind({ unit, modality }))?.rate;
}

type Priced = Table & Partial<Pick<Price, 'modes' | 'rules'>>;

/** A price, or a part of it, with other rates in each of its tables. */
export function mapRates<Some extends Priced>(
  some: Some,
  change: (rates: readonly Rate[]) => readonly Rate[],
): Some {
  const { tiers, modes, rules } = some;
  return {
    ...some,
    rates: change(some.rates),
    ...(tiers && { tiers: tiers.map((tier) => ({ ...tier, rates: change(tier.rates) })) }),
    ...(modes && { modes: mapModes(modes, (mode) => mapRates(mode, change)) }),
    ...(rules && { rules: rules.map((rule) => mapRates(rule, change)) }),
  };
}

function mapModes<From, To>(
  modes: Readonly<Record<string, From>>,
  change: (mode: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(modes).map(([name, mode]) => [name, change(mode)]));
}

/** All rates by a factor. Fees stay. */
export function scaleRates<Some extends Priced>(some: Some, times: string): Some {
  return mapRates(some, (rates) =>
    rates.map((each) =>
      facts[each.unit].isFee ? each : { ...each, rate: multiplyDecimals(each.rate, times) },
    ),
  );
}

/** The form in which ledgers store a price: each table has a member for each of its rates. */
export function storePrice(price: Price): Readonly<Record<string, unknown>> {
  return storeTable({ ...price });
}

function storeTable({ rates, ...others }: Priced & { readonly above?: number }): Record<string, unknown> {
  const { tiers, modes, rules } = others;
  return {
    ...Object.fromEntries(rates.map((each) => [nameKind(each), each.rate])),
    ...others,
    ...(tiers && { tiers: tiers.map(storeTable) }),
    ...(modes && { modes: mapModes(modes, storeTable) }),
    ...(rules && { rules: rules.map(storeTable) }),
  };
}

/**
 * A price, or a part of it, with lists of rates: from that form, in which configurations may still state
 * prices for one release, and from a list alone. Whatever else it is given stays as it is.
 */
export function restorePrice(stated: unknown): unknown {
  if (Array.isArray(stated)) return { rates: stated };
  if (!isObject(stated)) return stated;
  const { tiers, modes, rules } = stated;
  const members = Object.entries(stated);
  const rates = members.flatMap(([name, rate]) => {
    const kind = findKind(name);
    return kind ? [{ unit: kind.unit, ...(kind.modality && { modality: kind.modality }), rate }] : [];
  });
  return {
    ...Object.fromEntries(members.filter(([name]) => !findKind(name))),
    ...(rates.length > 0 && { rates }),
    ...(Array.isArray(tiers) && { tiers: tiers.map(restorePrice) }),
    ...(isObject(modes) && { modes: mapModes(modes, restorePrice) }),
    ...(Array.isArray(rules) && { rules: rules.map(restorePrice) }),
  };
}

/** A fee that a call allows: its unit, the request field that asks for it, and the most uses. */
export interface Fee {
  readonly name: Unit;
  readonly field: string;
  /** `Infinity` if the call states no limit. */
  readonly most: number;
  /**
   * True if the call still makes sense without it. If its price is unknown, it is left out and reported as a
   * loss instead of refusing the call.
   */
  readonly spared?: boolean;
  /** How many the call likely uses. It is charged for them if the provider reports none. Default: 0. */
  readonly expected?: number;
}

/** Counts all searches of a call that offers the preview tool as that tool's: replies do not tell. */
export function nameSearches(uses: readonly Use[], fees: readonly Fee[] = []): readonly Use[] {
  if (!fees.some(({ name }) => name === 'previewSearch')) return uses;
  return uses.map((use) => (use.unit === 'webSearch' ? { ...use, unit: 'previewSearch' } : use));
}

/** A mode by its name in a price, and the request field that asks for it. */
export interface Mode {
  readonly name: string;
  readonly field: string;
  /** The mode as the client wrote it, if prices have another name. */
  readonly word?: string;
  /** Whether no reply reports it, as a tool backed by another model; then it is charged as requested. */
  readonly silent?: true;
}

/** The mode of a reply that was served as usual although its call asked for another. */
export const usualMode = 'usual';

/** A part of a charge: so much of a unit at a rate for `per` of it. */
export interface CostLine extends Use {
  readonly rate: string;
  readonly per: number;
}
