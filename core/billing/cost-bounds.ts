/** Bounds what a call can use: for its reservation, for checks of reported usage, and for estimates. */
import { facts, type Unit, type Use } from '../canonical/units.ts';
import type { Target } from '../exchange.ts';
import type { Model } from '../model-facts.ts';
import type { ClientCall } from '../protocol.ts';
import { getAskedMode } from './cost.ts';
import type { UseBound } from './worst-cost.ts';

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
  return Math.min(estimateTokens(call, model), model.contextLength);
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

/**
 * Uses of a built-in tool that a call without a limit is expected to make, and the most that are plausible.
 */
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
  const longest = model.contextLength;
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
