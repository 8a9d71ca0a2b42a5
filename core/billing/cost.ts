/**
 * What a usage costs at a price, kind by kind: rates are integers of nano-USD per million tokens, and a call
 * is rounded once, half to even.
 */
import type { Usage } from '../canonical/usage.ts';
import { discounts, standard, getTerms, feeCounts, getFee, type CostLine } from '../price-terms.ts';
import type { Price, Rates, Table, Terms, Tier } from '../price.ts';
import type { Nano } from '../util/money.ts';

export const million = 1_000_000n;

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

/** The longest tier that this much input reaches. */
function findTier({ tiers }: Table, input: number): Tier | undefined {
  if (!tiers) return undefined;
  let longest: Tier | undefined;
  for (const tier of tiers) {
    if (input > tier.above && tier.above > (longest?.above ?? 0)) longest = tier;
  }
  return longest;
}

/** The name of the rule in what a usage says of its own pricing. */
function readRule({ rule }: Usage): string | undefined {
  return rule?.split(' ', 1)[0];
}

/**
 * Names what a usage is priced by: the rule of its time, then its service mode and its tier if they have
 * rates of their own, such as `peak flex above-200000`.
 */
export function nameRule(usage: Usage, price: Price): string {
  const terms = getTerms(price, readRule(usage));
  const served = getModeRates(terms, usage.mode);
  const tier = findTier(served ?? terms, usage.input ?? 0);
  const words = [terms === price ? (price.name ?? standard) : readRule(usage)];
  if (served && served !== terms) words.push(usage.mode);
  if (tier) words.push(`above-${tier.above}`);
  return words.join(' ');
}

/** A numerator over a million, rounded half to even. */
export function roundMillionths(value: bigint): Nano {
  const quotient = value / million;
  const twice = 2n * (value % million);
  if (twice > million || (twice === million && quotient % 2n === 1n)) return quotient + 1n;
  return quotient;
}

export function toUnits(count: number | undefined): bigint {
  return BigInt(toWhole(count));
}

function toWhole(count: number | undefined): number {
  return Math.max(0, Math.trunc(count ?? 0));
}

const pieces = new Set<string>(['request', 'image', ...feeCounts.map(([kind]) => kind)]);

/** How many units the rate of a kind of use is for: a million tokens, or one of anything else. */
export function getRateUnits(kind: string): bigint {
  return pieces.has(kind) ? 1n : million;
}

/** Tokens that usage counts inside input or output, and that may have a rate of their own. */
type Part = keyof Usage & keyof Rates;

/** Adds the line of a part that has its own rate, and returns the tokens of it. */
type AddPart = (kind: Part, left: number, rate?: bigint, count?: number) => number;

/**
 * What a usage costs, kind by kind. Parts (cached, audio, images, reasoning) without a price of their own
 * cost what the whole costs. A part is never larger than the rest of its whole.
 */
export function computeCostLines(usage: Usage, price: Price): CostLine[] {
  const terms = getTerms(price, readRule(usage));
  const table = getModeRates(terms, usage.mode) ?? terms;
  const rates = findTier(table, usage.input ?? 0) ?? table;
  const lines: CostLine[] = [];
  const add: AddPart = (kind, left, rate = rates[kind], count = usage[kind]) => {
    if (!count || rate === undefined) return 0;
    const units = Math.min(toWhole(count), left);
    if (units > 0) lines.push({ kind, units: BigInt(units), rate, per: million });
    return units;
  };
  let input = toWhole(usage.input);
  const cached = Math.min(toWhole(usage.cacheRead), input);
  const cachedAudio = add('cacheReadAudio', cached);
  input -= cachedAudio + add('cacheRead', cached - cachedAudio);
  input = addWrites(add, rates, input);
  input -= add('inputAudio', input, rates.inputAudio, countFreshAudio(usage, rates));
  input -= add('inputImage', input);
  let output = toWhole(usage.output);
  output -= add('reasoning', output);
  output -= add('outputAudio', output);
  output -= add('outputImage', output);
  if (input > 0) lines.push({ kind: 'input', units: BigInt(input), rate: rates.input, per: million });
  if (output > 0) lines.push({ kind: 'output', units: BigInt(output), rate: rates.output, per: million });
  if (terms.request !== undefined) lines.push({ kind: 'request', units: 1n, rate: terms.request, per: 1n });
  if (terms.image !== undefined && usage.images)
    lines.push({ kind: 'image', units: toUnits(usage.images), rate: terms.image, per: 1n });
  for (const [kind, counted] of feeCounts) {
    const rate = getFee(terms, kind);
    const units = usage[counted];
    if (rate !== undefined && units) lines.push({ kind, units: toUnits(units), rate, per: 1n });
  }
  return lines;
}

/**
 * Adds cache writes by how long they are kept, and returns the tokens left. Vendors with longer ones keep 30
 * minutes by default, and may report those without saying so.
 */
function addWrites(add: AddPart, rates: Rates, input: number): number {
  const { cacheWrite5m, cacheWrite30m, cacheWrite12h } = rates;
  let left = input;
  left -= add('cacheWrite5m', left, cacheWrite5m ?? cacheWrite30m);
  left -= add('cacheWrite30m', left, cacheWrite30m ?? cacheWrite5m);
  left -= add('cacheWrite1h', left);
  return left - add('cacheWrite12h', left, cacheWrite12h ?? cacheWrite30m ?? cacheWrite5m);
}

/** Audio input that was not read from the cache. */
function countFreshAudio(
  { inputAudio = 0, cacheReadAudio = 0 }: Usage,
  { cacheRead, cacheReadAudio: cachedRate = cacheRead }: Rates,
): number {
  return cachedRate === undefined ? inputAudio : Math.max(0, inputAudio - cacheReadAudio);
}

/** The exact sum of all lines, rounded once. */
export function sumLines(lines: readonly CostLine[]): Nano {
  let millionths = 0n;
  for (const { units, rate, per } of lines) millionths += units * rate * (million / per);
  return roundMillionths(millionths);
}

/** What a usage costs. */
export function computeCost(usage: Usage, price: Price): Nano {
  return sumLines(computeCostLines(usage, price));
}
