/**
 * What uses cost at a price, line by line. All arithmetic is on integers over one denominator, and a call is
 * rounded once, half to even, to the nano-USD.
 */
import { findCount, kinds, nameKind, sortKinds, type Used } from '../canonical/units.ts';
import {
  discounts,
  findRate,
  getTerms,
  parseRate,
  places,
  standard,
  type CostLine,
  type Price,
  type Table,
  type Terms,
  type Tier,
} from '../price-terms.ts';
import type { ClientCall } from '../protocol.ts';
import type { Nano } from '../util/money.ts';

/**
 * Rates of a service mode. Undefined for the usual mode and for unknown ones. A discount without rates of its
 * own is charged like the call without it.
 */
export function getModeRates(terms: Terms, mode: string | undefined): Table | undefined {
  if (mode === undefined) return undefined;
  if (terms.modes && Object.hasOwn(terms.modes, mode)) return terms.modes[mode];
  const words = mode.split(' ');
  const dearer = words.filter((word) => !discounts.has(word));
  if (dearer.length === words.length) return undefined;
  return dearer.length === 0 ? terms : getModeRates(terms, dearer.join(' '));
}

/** The joined name of all modes that a call asks for; undefined if it asks for none. */
export function getAskedMode({ modes }: ClientCall): string | undefined {
  return modes?.length ? modes.map(({ name }) => name).join(' ') : undefined;
}

export function findTier({ tiers = [] }: Table, input: number): Tier | undefined {
  let longest: Tier | undefined;
  for (const tier of tiers) {
    if (input > tier.above && tier.above > (longest?.above ?? 0)) longest = tier;
  }
  return longest;
}

/** The name of the rule in what a call says of its own pricing. */
function readRule({ rule }: Used): string | undefined {
  return rule?.split(' ', 1)[0];
}

function selectTables(used: Used, price: Price) {
  const terms = getTerms(price, readRule(used));
  const served = getModeRates(terms, used.mode);
  const tier = findTier(served ?? terms, findCount(used.uses, 'input') ?? 0);
  return { terms, served, tier };
}

/**
 * Names what a call is priced by: the rule of its time, then its service mode and its tier if they have rates
 * of their own, such as `peak flex above-200000`.
 */
export function nameRule(used: Used, price: Price): string {
  const { terms, served, tier } = selectTables(used, price);
  const words = [terms === price ? (price.name ?? standard) : readRule(used)];
  if (served && served !== terms) words.push(used.mode);
  if (tier) words.push(`above-${tier.above}`);
  return words.join(' ');
}

/** Counts may have so many decimals: seconds are counted in thousandths. */
const countParts = 1000;
const million = 1_000_000n;
/** A sum is an integer of this part of a nano-USD. */
const denominator = 10n ** BigInt(places - 9) * million * BigInt(countParts);

function toParts(count: number): bigint {
  return Number.isSafeInteger(count)
    ? BigInt(count) * BigInt(countParts)
    : BigInt(Math.round(count * countParts));
}

/** What some of a unit cost, as a part of a sum. `value` is an integer, as `getRates` has it. */
export function multiplyRate(count: number, value: bigint, per: number): bigint {
  return toParts(count) * value * (million / BigInt(per));
}

export function toSum(amount: Nano): bigint {
  return amount * denominator;
}

/** A sum in nano-USD, rounded half to even. */
export function roundSum(sum: bigint): Nano {
  const quotient = sum / denominator;
  const twice = 2n * (sum - quotient * denominator);
  return twice > denominator || (twice === denominator && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

/**
 * What a call costs, line by line. A part (cached, audio, reasoning) without a rate of its own costs what its
 * whole costs. It is never larger than what other parts have left of its whole.
 */
export function computeCostLines(used: Used, price: Price): CostLine[] {
  const { terms, served = terms, tier = served } = selectTables(used, price);
  const tables = [...new Set([tier, served, terms])];
  const left = new Map([['request', 1]]);
  for (const use of used.uses) left.set(nameKind(use), Math.max(0, use.count));
  const lines: CostLine[] = [];
  for (const kind of sortKinds(left.keys())) {
    let count = left.get(kind.name) ?? 0;
    const { unit, modality, within, per, wholes } = kind;
    const found = count > 0 && findRate(tables, kind);
    if (!found) continue;
    if (modality && !within) count -= countParted(left, tables, { unit, modality });
    for (const whole of wholes) count = Math.min(count, left.get(whole) ?? 0);
    if (count <= 0) continue;
    for (const whole of wholes) left.set(whole, (left.get(whole) ?? 0) - count);
    lines.push({ unit, ...(modality && { modality }), count, rate: found.rate, per });
  }
  return lines;
}

/** Tokens of a modality that parts of their whole, such as cached input, have at rates of their own. */
function countParted(
  counts: ReadonlyMap<string, number>,
  tables: readonly Table[],
  { unit, modality }: Pick<(typeof kinds)[number], 'unit' | 'modality'>,
): number {
  let sum = 0;
  for (const part of kinds) {
    if (part.within !== unit || part.modality !== modality) continue;
    const count = counts.get(part.name);
    if (count && (findRate(tables, part) ?? findRate(tables, { unit: part.unit }))) sum += count;
  }
  return sum;
}

export function sumLines(lines: readonly CostLine[]): Nano {
  return roundSum(
    lines.reduce((sum, { count, rate, per }) => sum + multiplyRate(count, parseRate(rate), per), 0n),
  );
}

export function computeCost(used: Used, price: Price): Nano {
  return sumLines(computeCostLines(used, price));
}
