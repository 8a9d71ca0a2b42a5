/**
 * Bounds what a call can use, for checks of reported usage and for estimates, and what it can cost, for its
 * reservation: the most it can use, at the dearest rates that it can meet.
 */
import { type Kind, type Unit, type Use, facts } from '../canonical/units.ts';
import type { Target } from '../exchange.ts';
import type { Model } from '../model-facts.ts';
import {
  type Price,
  type Table,
  type Terms,
  type Tier,
  findRate,
  getRates,
  getTerms,
} from '../price-terms.ts';
import type { ClientCall } from '../protocol.ts';
import type { Nano } from '../util/money.ts';
import { getAskedMode, getModeRates, multiplyRate, roundSum, toSum } from './cost.ts';

/** The most input tokens of a call by its content: no tokeniser makes more tokens than bytes. */
export function boundInput(
  { size: { textBytes, images, mediaBytes, pages = 0, added = 0 } }: ClientCall,
  { capabilities }: Model,
): number {
  return textBytes + mediaBytes + added + (images + pages) * capabilities.imageTokens;
}

/** Text of most languages has about four bytes per token. */
export const bytesPerToken = 4;

/** Estimates the input tokens of a call: those of its bytes, of which a model reads no more than fit. */
export function estimateInput(call: ClientCall, model: Model): number {
  return Math.min(estimateTokens(call, model), getContext(call, model));
}

/** The tokens that fit into the contexts of all texts of a call. */
export function getContext({ size: { items = 1 } }: ClientCall, { contextLength }: Model): number {
  return contextLength * items;
}

/** Estimates tokens from bytes, whether they fit or not. */
export function estimateTokens(
  { size: { textBytes, images, mediaBytes } }: ClientCall,
  { capabilities }: Model,
): number {
  return Math.ceil((textBytes + mediaBytes) / bytesPerToken) + images * capabilities.imageTokens;
}

/** The most tokens of one picture at the requested quality; 0 if the model produces no pictures. */
export function countPictureTokens(call: ClientCall, { capabilities }: Model): number {
  const { image } = capabilities;
  if (!image) return 0;
  const settings = call.decode().image;
  const asked = settings?.quality;
  const dearest = Math.max(...Object.values(image.tokens));
  const known = asked === undefined ? undefined : image.tokens[image.qualities[asked] ?? asked];
  return known === undefined
    ? dearest
    : Math.min(dearest, Math.ceil(known * computeGrowth(settings?.size, image)));
}

/** The ratio of pixels to the largest listed size, since a larger picture counts as more tokens. */
function computeGrowth(
  size: string | undefined,
  { sizes }: NonNullable<Model['capabilities']['image']>,
): number {
  if (size === undefined || Object.hasOwn(sizes, size)) return 1;
  const largest = Math.max(1, ...Object.values(sizes).map(countPixels));
  return Math.max(1, countPixels(size) / largest);
}

function countPixels(size: string): number {
  const [, width = 0, height = 0] = /^(\d{1,6})x(\d{1,6})$/.exec(size)?.map(Number) ?? [];
  return width * height;
}

/**
 * The most output tokens of a candidate: the lowest of the granted limit, the caller's and the model's. A
 * picture is produced whole or not at all, so no limit is below one picture. A model without text produces
 * nothing else.
 */
export function boundOutput(call: ClientCall, model: Model, granted: number | undefined): number {
  const limit = Math.min(granted ?? Infinity, call.outputLimit ?? Infinity, model.outputLimit);
  if (!model.capabilities.image) return limit;
  const picture = countPictureTokens(call, model);
  return model.output.includes('text') ? Math.min(Math.max(limit, picture), model.outputLimit) : picture;
}

/**
 * The most output tokens of a candidate that the vendor may bill. If it limits the answer alone, the model
 * may reason as long as it can, unless the call turns that off.
 */
export function boundBilled(call: ClientCall, model: Model, granted: number | undefined): number {
  const { outsideLimit = false, canDisable = true } = model.capabilities.reasoning;
  const isOff = canDisable && (call.effort === 'none' || call.effort === 0);
  return outsideLimit && !isOff ? model.outputLimit : boundOutput(call, model, granted);
}

/** Uses of a built-in tool by a call without a limit: those expected, and the most that are plausible. */
export const unlimitedUses = { expected: 10, believed: 100 } as const;
/** Limits of callers above this count as this. */
const mostUses = 1000;

/** Tokens that one run of a built-in tool without a price of its own adds to the conversation. */
const tokensPerRun = 2000;

function countUses({ fees = [] }: ClientCall, unit: Unit, unlimited: number): number {
  const stated = fees.reduce((sum, fee) => (fee.name === unit ? sum + fee.most : sum), 0);
  if (stated === Infinity) return unlimited;
  return Math.min(Math.max(0, stated), facts[unit].isFee ? mostUses : Infinity);
}

/** How often the provider may read the conversation again. */
export function countRounds({ size: { rounds = 0 } }: ClientCall, unlimited: number): number {
  return rounds === Infinity ? unlimited : Math.min(rounds, mostUses);
}

/**
 * The most that a call can use. `unlimited` replaces the number of tool uses if the call sets no limit. Most
 * providers read the whole conversation again after each use, with the result, and bill every reading.
 */
export function boundUse(
  call: ClientCall,
  target: Pick<Target, 'model' | 'protocol' | 'schedule'>,
  granted: number | undefined,
  unlimited: number = unlimitedUses.expected,
): UseBound {
  const { size, candidates } = call;
  const { model, protocol } = target;
  const { caching } = protocol.upstream;
  // The provider refuses what does not fit.
  const longest = getContext(call, model);
  const sent = Math.min(boundInput(call, model), longest);
  const asked = [...new Set(call.fees?.map(({ name }) => name))];
  const uses = asked.map((unit) => ({ unit, count: countUses(call, unit, unlimited) }));
  const rounds = countRounds(call, unlimited);
  const adding = uses.filter(({ unit }) => facts[unit].adds !== undefined);
  const runs = adding.reduce((left, { count }) => left - count, rounds);
  const found = adding.reduce(
    (sum, { unit, count }) => sum + count * (facts[unit].adds ?? 0),
    Math.max(0, runs) * tokensPerRun,
  );
  const once = size.fetched ? longest : Math.min(longest, sent + found);
  const all =
    caching && rounds > 0 ? Math.max(once, sumReadings(sent, found / rounds, rounds, longest)) : once;
  const input = caching === 'automatic' ? once : all;
  const cached = all - input + (size.cached ? longest - once : 0);
  return {
    input,
    cached,
    output: boundBilled(call, model, granted),
    candidates,
    mode: getAskedMode(call),
    uses: uses.map((use) => (isBilledOnce(use, model) ? { ...use, count: Math.min(1, use.count) } : use)),
    uncached: size.uncached === true && caching === 'marked',
    brief: size.brief ?? false,
    rules: target.schedule?.listPossibleRules(Date.now()),
  };
}

/** Whether the vendor bills all searches of a call as one. */
function isBilledOnce({ unit }: Use, { capabilities }: Model): boolean {
  return capabilities.searchesBilled === 'once' && (unit === 'webSearch' || unit === 'previewSearch');
}

/** The input tokens of all readings of a conversation that grows until it fills the context. */
function sumReadings(sent: number, growth: number, rounds: number, longest: number): number {
  const growing = growth === 0 ? rounds : Math.min(rounds, Math.floor((longest - sent) / growth));
  return Math.ceil(
    (growing + 1) * sent + (growth * growing * (growing + 1)) / 2 + (rounds - growing) * longest,
  );
}

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
 * The worst case by the output of each candidate: every input token at the highest input rate, every output
 * token at the highest output rate, at the dearest rule that the call can meet.
 */
export function boundCost(bound: Bound, price: Price): (output: number) => Nano {
  const sums = listWorstSums(bound, price);
  return (output) =>
    sums.reduce((worst, { others, token }) => {
      const cost = roundSum(others + token * BigInt(Math.ceil(output)));
      return cost > worst ? cost : worst;
    }, 0n);
}

export function computeWorstCost(bound: UseBound, price: Price): Nano {
  return boundCost(bound, price)(bound.output);
}

/** The largest output limit per candidate whose worst case fits `amount`; negative if there is none. */
export function computeAffordableOutput(amount: Nano, bound: Bound, price: Price): number {
  const limits = listWorstSums(bound, price).map(({ others, token }) => {
    const left = toSum(amount) - others;
    if (left < 0n) return -1;
    return token === 0n ? Number.MAX_SAFE_INTEGER : Number(left / token);
  });
  return Math.min(...limits);
}

/** Under each of the terms, as unrounded sums: all but the output, and a token of each candidate's output. */
function listWorstSums(
  bound: Bound,
  price: Price,
): readonly { readonly others: bigint; readonly token: bigint }[] {
  return listTerms(price, bound).map((terms) => {
    const tables = listTables(terms, bound);
    const output = findHighest(tables, isOutput);
    return {
      others: sumOthers(bound, tables),
      token: multiplyRate(bound.candidates, output, facts.output.per),
    };
  });
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
