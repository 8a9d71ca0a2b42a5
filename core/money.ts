/**
 * Money is an integer count of nano-USD (10^-9 USD) in a BigInt. Prices are integers of nano-USD per million
 * tokens, and a call is rounded once, half to even. No floating-point number takes part.
 */
import { z } from 'zod';
import { feeCounts } from './billing/fees.ts';
import type { Usage } from './canonical/usage.ts';

export type Nano = bigint;

const nanoDigits = 9;
const million = 1_000_000n;

/** `"0.0375"` → 37500000n. Throws unless it is a plain decimal with at most nine places. */
export function parseUsd(text: string): Nano {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text);
  if (!match) throw new RangeError(`not an amount in USD with at most ${nanoDigits} decimals: "${text}"`);
  const [, sign, whole = '0', fraction = ''] = match;
  const nano = BigInt(whole + fraction.padEnd(nanoDigits, '0'));
  return sign === '-' ? -nano : nano;
}

/** 37500000n → `"0.0375"`: exact, without trailing zeros. */
export function formatUsd(nano: Nano): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(nanoDigits + 1, '0');
  const fraction = digits.slice(-nanoDigits).replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -nanoDigits)}${fraction && `.${fraction}`}`;
}

/** The nearest double of an amount in USD. Only the balance reply shows money as a JSON number. */
export function toUsdNumber(nano: Nano): number {
  return Number(formatUsd(nano));
}

/** A price as a decimal string in USD, parsed to an integer. */
export const usd = z
  .string('an amount in USD is a decimal string, as "0.20": numbers are not exact')
  .transform((text, context) => {
    try {
      return parseUsd(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  });

const rates = {
  input: usd,
  output: usd,
  cacheRead: usd.optional(),
  cacheReadAudio: usd.optional(),
  cacheWrite5m: usd.optional(),
  cacheWrite1h: usd.optional(),
  reasoning: usd.optional(),
  inputAudio: usd.optional(),
  outputAudio: usd.optional(),
  inputImage: usd.optional(),
  outputImage: usd.optional(),
};

/** USD per million tokens of each kind, and fees apart from tokens. */
export const priceSchema = z.strictObject({
  ...rates,
  request: usd.optional(),
  /** Per picture made, if the vendor counts pictures. */
  image: usd.optional(),
  /** Per web search that the vendor made. */
  webSearch: usd.optional(),
  /** Per search in the vendor's file store. */
  fileSearch: usd.optional(),
  /** Per container that the vendor opened for a call's code. */
  container: usd.optional(),
  /** Rates for the whole call if its input exceeds `above` tokens. The highest tier that applies wins. */
  tiers: z.array(z.strictObject({ above: z.int().positive(), ...rates })).default([]),
  /** Rates of other service modes by name, such as `fast` or `us`. */
  modes: z.record(z.string().min(1), z.strictObject(rates)).optional(),
});

export type Price = z.output<typeof priceSchema>;
type Rates = Omit<Price, 'request' | 'image' | 'webSearch' | 'fileSearch' | 'container' | 'tiers' | 'modes'>;

export const freePrice: Price = { input: 0n, output: 0n, tiers: [] };

/** Rates of a service mode. Undefined for the usual mode and for unknown ones. */
export function ratesIn({ modes }: Price, mode: string | undefined): Rates | undefined {
  return modes && mode !== undefined && Object.hasOwn(modes, mode) ? modes[mode] : undefined;
}

function ratesFor(price: Price, { input = 0, mode }: Usage): Rates {
  const served = ratesIn(price, mode);
  if (served) return served;
  let rates: Rates = price;
  let longest = 0;
  for (const tier of price.tiers) {
    if (input > tier.above && tier.above > longest) [rates, longest] = [tier, tier.above];
  }
  return rates;
}

/** A numerator over a million, rounded half to even. */
function roundMillionths(value: bigint): Nano {
  const quotient = value / million;
  const twice = 2n * (value % million);
  if (twice > million || (twice === million && quotient % 2n === 1n)) return quotient + 1n;
  return quotient;
}

function tokens(count: number | undefined): bigint {
  return BigInt(Math.max(0, Math.trunc(count ?? 0)));
}

function least(first: bigint, second: bigint): bigint {
  return first < second ? first : second;
}

/** One kind of use: `units` at `rate` nano-USD, per million if they are tokens. */
export interface CostLine {
  readonly kind: string;
  readonly units: bigint;
  readonly rate: bigint;
  readonly per: bigint;
}

/**
 * What a usage costs, kind by kind. Parts (cached, audio, images, reasoning) without a price of their own
 * cost what the whole costs. A part is never larger than the rest of its whole.
 */
export function costLines(usage: Usage, price: Price): CostLine[] {
  const rates = ratesFor(price, usage);
  const lines: CostLine[] = [];
  let input = tokens(usage.input);
  const cached = least(tokens(usage.cacheRead), input);
  const cachedAudio = addPart(lines, 'cacheReadAudio', usage.cacheReadAudio, rates.cacheReadAudio, cached);
  input -= cachedAudio + addPart(lines, 'cacheRead', usage.cacheRead, rates.cacheRead, cached - cachedAudio);
  input -= addPart(lines, 'cacheWrite5m', usage.cacheWrite5m, rates.cacheWrite5m, input);
  input -= addPart(lines, 'cacheWrite1h', usage.cacheWrite1h, rates.cacheWrite1h, input);
  input -= addPart(lines, 'inputAudio', freshAudio(usage, rates), rates.inputAudio, input);
  input -= addPart(lines, 'inputImage', usage.inputImage, rates.inputImage, input);
  let output = tokens(usage.output);
  output -= addPart(lines, 'reasoning', usage.reasoning, rates.reasoning, output);
  output -= addPart(lines, 'outputAudio', usage.outputAudio, rates.outputAudio, output);
  output -= addPart(lines, 'outputImage', usage.outputImage, rates.outputImage, output);
  if (input > 0n) lines.push({ kind: 'input', units: input, rate: rates.input, per: million });
  if (output > 0n) lines.push({ kind: 'output', units: output, rate: rates.output, per: million });
  if (price.request !== undefined) lines.push({ kind: 'request', units: 1n, rate: price.request, per: 1n });
  if (price.image !== undefined && usage.images)
    lines.push({ kind: 'image', units: tokens(usage.images), rate: price.image, per: 1n });
  for (const [kind, counted] of feeCounts) {
    const [rate, units] = [price[kind], tokens(usage[counted])];
    if (rate !== undefined && units > 0n) lines.push({ kind, units, rate, per: 1n });
  }
  return lines;
}

/** Audio input that was not read from the cache. */
function freshAudio(
  { inputAudio = 0, cacheReadAudio = 0 }: Usage,
  { cacheRead, cacheReadAudio: cachedRate = cacheRead }: Rates,
): number {
  return cachedRate === undefined ? inputAudio : Math.max(0, inputAudio - cacheReadAudio);
}

/** Adds the lines of parts with their own price, and returns their sum of tokens. */
function addPart(
  lines: CostLine[],
  kind: string,
  count: number | undefined,
  rate: bigint | undefined,
  left: bigint,
): bigint {
  if (!count || rate === undefined) return 0n;
  const units = least(tokens(count), left);
  if (units > 0n) lines.push({ kind, units, rate, per: million });
  return units;
}

/** The exact sum of all lines, rounded once. */
export function sumLines(lines: readonly CostLine[]): Nano {
  let millionths = 0n;
  for (const { units, rate, per } of lines) millionths += units * rate * (million / per);
  return roundMillionths(millionths);
}

/** What a usage costs. */
export function costOf(usage: Usage, price: Price): Nano {
  return sumLines(costLines(usage, price));
}

/** The most that a call can use. */
export interface UseBound {
  readonly input: number;
  /** Input from a cache that the vendor keeps, besides `input`, at the cached rate. */
  readonly cached?: number;
  /** Whether nothing is written to a cache. */
  readonly uncached?: boolean;
  /** Per candidate. */
  readonly output: number;
  readonly candidates: number;
  readonly webSearches?: number;
  readonly fileSearches?: number;
  /** Code containers. */
  readonly containers?: number;
  /** The service mode that the call asks for. */
  readonly mode?: string | undefined;
}

/**
 * The worst case: every input token at the highest input rate, every output token at the highest output rate.
 */
export function worstCost(bound: UseBound, price: Price): Nano {
  const rates = dearest(price, bound);
  const total = inputCost(bound, rates) + tokens(bound.output) * BigInt(bound.candidates) * rates.output;
  return roundMillionths(total) + fixedCost(bound, price);
}

function inputCost({ input, cached }: Omit<UseBound, 'output'>, rates: Dearest): bigint {
  return tokens(input) * rates.input + (cached ? tokens(cached) * rates.cached : 0n);
}

/** Fees apart from tokens. If pictures are counted, each candidate is one. */
function fixedCost(
  { candidates, webSearches, fileSearches, containers }: Omit<UseBound, 'output'>,
  { request = 0n, image = 0n, webSearch = 0n, fileSearch = 0n, container = 0n }: Price,
): Nano {
  return (
    request +
    BigInt(candidates) * image +
    tokens(webSearches) * webSearch +
    tokens(fileSearches) * fileSearch +
    tokens(containers) * container
  );
}

/**
 * The largest output limit per candidate whose worst case fits `amount`. Negative if the input alone does not
 * fit.
 */
export function affordableOutput(amount: Nano, bound: Omit<UseBound, 'output'>, price: Price): number {
  const rates = dearest(price, bound);
  const left = (amount - fixedCost(bound, price)) * million - inputCost(bound, rates);
  const rate = rates.output * BigInt(bound.candidates);
  if (left < 0n) return -1;
  return rate === 0n ? Number.MAX_SAFE_INTEGER : Number(left / rate);
}

interface Dearest {
  readonly input: bigint;
  readonly cached: bigint;
  readonly output: bigint;
}

/**
 * Cache of the highest rates by rates, number of reachable tiers, and cache writes. Every reservation reads
 * it; a catalogue has few prices, which live as long as it does.
 */
const dearestOf = new WeakMap<Rates, Dearest[]>();

/** The tiers that this much input can reach. A call that stays below a tier never pays its rates. */
function tiersWithin({ tiers }: Price, { input, cached = 0 }: Omit<UseBound, 'output'>): Price['tiers'] {
  return tiers.length === 0 ? tiers : tiers.filter(({ above }) => input + cached > above);
}

function dearest(price: Price, bound: Omit<UseBound, 'output'>): Dearest {
  const rates = ratesIn(price, bound.mode) ?? price;
  const tiers = tiersWithin(price, bound);
  let known = dearestOf.get(rates);
  if (!known) dearestOf.set(rates, (known = []));
  const place = tiers.length * 2 + (bound.uncached ? 1 : 0);
  return (known[place] ??= dearestAmong(
    rates === price ? [price, ...tiers] : [rates, price, ...tiers],
    bound.uncached,
  ));
}

const readKinds = ['input', 'cacheRead', 'cacheReadAudio', 'inputAudio', 'inputImage'] as const;
const inputKinds = [...readKinds, 'cacheWrite5m', 'cacheWrite1h'] as const;
const outputKinds = ['output', 'reasoning', 'outputAudio', 'outputImage'] as const;

function dearestAmong(all: readonly Rates[], uncached: boolean | undefined): Dearest {
  const input = highest(all, uncached ? readKinds : inputKinds);
  // If one of them has no cached rate, cached input costs what other input does.
  const cached = all.every(({ cacheRead }) => cacheRead !== undefined)
    ? highest(all, ['cacheRead', 'cacheReadAudio'])
    : input;
  return { input, cached, output: highest(all, outputKinds) };
}

function highest(all: readonly Rates[], kinds: readonly (keyof Rates)[]): bigint {
  let most = 0n;
  for (const rates of all) {
    for (const kind of kinds) {
      const rate = rates[kind] ?? 0n;
      if (rate > most) most = rate;
    }
  }
  return most;
}
