/**
 * The worst case of a call, for its reservation: the most it can use, at the dearest rates that it can meet.
 */
import { getTerms, feeCounts, getFee } from '../price-terms.ts';
import type { Price, Rates, Table, Terms, Tier } from '../price.ts';
import type { Nano } from '../util/money.ts';
import { million, getModeRates, roundMillionths, toUnits } from './cost.ts';

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
  readonly webSearches?: number;
  readonly previewSearches?: number;
  readonly fileSearches?: number;
  /** Code containers. */
  readonly containers?: number;
  /** The service mode that the call asks for. */
  readonly mode?: string | undefined;
  /** The price rules that the call can meet, undefined for the price's own rates. Default: all. */
  readonly rules?: readonly (string | undefined)[] | undefined;
}

/** The terms that a call can meet. Nearly always there is one. */
function listTerms(price: Price, { rules }: Omit<UseBound, 'output'>): readonly Terms[] {
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
    const rates = getDearest(terms, bound);
    const total =
      computeInputCost(bound, rates) + toUnits(bound.output) * BigInt(bound.candidates) * rates.output;
    const cost = roundMillionths(total) + computeFixedCost(bound, terms);
    if (cost > worst) worst = cost;
  }
  return worst;
}

function computeInputCost({ input, cached }: Omit<UseBound, 'output'>, rates: Dearest): bigint {
  return toUnits(input) * rates.input + (cached ? toUnits(cached) * rates.cached : 0n);
}

/** Fees apart from tokens. If pictures are counted, each candidate is one. */
function computeFixedCost(bound: Omit<UseBound, 'output'>, terms: Terms): Nano {
  const { request = 0n, image = 0n } = terms;
  return feeCounts.reduce(
    (sum, [name, counted]) => sum + toUnits(bound[counted]) * (getFee(terms, name) ?? 0n),
    request + BigInt(bound.candidates) * image,
  );
}

/**
 * The largest output limit per candidate whose worst case fits `amount`. Negative if the input alone does not
 * fit.
 */
export function computeAffordableOutput(amount: Nano, bound: Omit<UseBound, 'output'>, price: Price): number {
  return Math.min(...listTerms(price, bound).map((terms) => computeAffordable(amount, bound, terms)));
}

function computeAffordable(amount: Nano, bound: Omit<UseBound, 'output'>, terms: Terms): number {
  const rates = getDearest(terms, bound);
  const left = (amount - computeFixedCost(bound, terms)) * million - computeInputCost(bound, rates);
  const rate = rates.output * BigInt(bound.candidates);
  if (left < 0n) return -1;
  return rate === 0n ? Number.MAX_SAFE_INTEGER : Number(left / rate);
}

interface Dearest {
  readonly input: bigint;
  readonly cached: bigint;
  readonly output: bigint;
}

/** The tiers that this much input can reach. A call that stays below a tier never pays its rates. */
function filterTiers({ tiers }: Table, { input, cached = 0 }: Omit<UseBound, 'output'>): readonly Tier[] {
  return tiers?.length ? tiers.filter(({ above }) => input + cached > above) : [];
}

/** The kinds of input that a call may be billed for. */
function listInputKinds({ uncached, brief }: Pick<UseBound, 'uncached' | 'brief'>): readonly (keyof Rates)[] {
  if (uncached) return readKinds;
  return brief ? briefKinds : inputKinds;
}

/** Whether a mode is granted is known at the end, so its rates and the usual ones count. */
function getDearest(terms: Terms, bound: Omit<UseBound, 'output'>): Dearest {
  const served = getModeRates(terms, bound.mode) ?? terms;
  const own = served === terms ? [] : [served, ...filterTiers(served, bound)];
  const all: readonly Rates[] = [terms, ...filterTiers(terms, bound), ...own];
  const input = computeHighest(all, listInputKinds(bound));
  // If one of them has no cached rate, cached input costs what other input does.
  const cached = all.every(({ cacheRead }) => cacheRead !== undefined)
    ? computeHighest(all, ['cacheRead', 'cacheReadAudio'])
    : input;
  return { input, cached, output: computeHighest(all, outputKinds) };
}

const readKinds = ['input', 'cacheRead', 'cacheReadAudio', 'inputAudio', 'inputImage'] as const;
const briefKinds = [...readKinds, 'cacheWrite5m', 'cacheWrite30m'] as const;
const inputKinds = [...briefKinds, 'cacheWrite1h', 'cacheWrite12h'] as const;
const outputKinds = ['output', 'reasoning', 'outputAudio', 'outputImage'] as const;

function computeHighest(all: readonly Rates[], kinds: readonly (keyof Rates)[]): bigint {
  let most = 0n;
  for (const rates of all) {
    for (const kind of kinds) {
      const rate = rates[kind] ?? 0n;
      if (rate > most) most = rate;
    }
  }
  return most;
}
