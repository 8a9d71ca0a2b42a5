/** How much a call can take in and put out at most: what is reserved for it, what is believed of a vendor, and what an estimate never exceeds. */
import type { Model } from '../catalog.ts';
import type { Target } from '../exchange.ts';
import type { UseBound } from '../money.ts';
import type { ClientCall } from '../protocol.ts';
import type { FeeName } from './fees.ts';
import { askedMode } from './service-modes.ts';

/** Tokens that the input of a call can come to: no tokeniser makes more of a text than it has bytes. */
export function inputBound(
  { size: { textBytes, images, mediaBytes } }: ClientCall,
  { capabilities }: Model,
): number {
  return textBytes + mediaBytes + images * capabilities.imageTokens;
}

/** The most tokens one picture of the call counts as, by the quality that is asked for; none where the model makes no pictures. */
export function pictureTokens(call: ClientCall, { capabilities }: Model): number {
  const { image } = capabilities;
  if (!image) return 0;
  const settings = call.decode().image;
  const asked = settings?.quality;
  const dearest = Math.max(...Object.values(image.tokens));
  const known = asked === undefined ? undefined : image.tokens[image.qualities[asked] ?? asked];
  return known === undefined ? dearest : Math.min(dearest, Math.ceil(known * growth(settings?.size, image)));
}

/** How many times as many pixels a size has as the largest that is listed: a larger picture counts as more tokens. */
function growth(size: string | undefined, { sizes }: NonNullable<Model['capabilities']['image']>): number {
  if (size === undefined || Object.hasOwn(sizes, size)) return 1;
  const largest = Math.max(1, ...Object.values(sizes).map(pixelsOf));
  return Math.max(1, pixelsOf(size) / largest);
}

function pixelsOf(size: string): number {
  const [, width = 0, height = 0] = /^(\d{1,6})x(\d{1,6})$/.exec(size)?.map(Number) ?? [];
  return width * height;
}

/**
 * Tokens of output a candidate can have: the limit that was granted, the caller's, or the model's own, whichever is
 * lowest. A picture is made whole or not at all: no limit goes below one picture, which is all that a model without
 * text puts out.
 */
export function outputBound(call: ClientCall, model: Model, granted: number | undefined): number {
  const limit = Math.min(granted ?? Infinity, call.outputLimit ?? Infinity, model.outputLimit);
  if (!model.capabilities.image) return limit;
  const picture = pictureTokens(call, model);
  return model.output.includes('text') ? Math.min(Math.max(limit, picture), model.outputLimit) : picture;
}

/** How often a vendor is expected to use its own tools, and how often at most it is believed to, where a call sets no limit. */
export const unlimitedUses = { expected: 10, believed: 100 } as const;
/** No limit of a caller's counts for more. */
const mostUses = 1000;

/**
 * Tokens that one use of a vendor's own tool adds to the conversation. A search of the web at Anthropic adds up to 10,000.
 * A search of files at OpenAI returns twenty chunks of 800 tokens.
 */
const tokensPerSearch = 10_000;
const tokensPerFileSearch = 16_000;
const tokensPerRun = 2000;

function usesOf({ fees = [] }: ClientCall, name: FeeName, unlimited: number): number {
  const stated = fees.reduce((sum, fee) => (fee.name === name ? sum + fee.most : sum), 0);
  return stated === Infinity ? unlimited : Math.min(Math.max(0, stated), mostUses);
}

/** How many times a vendor may read the conversation again. */
export function roundsOf({ size: { rounds = 0 } }: ClientCall, unlimited: number): number {
  return rounds === Infinity ? unlimited : Math.min(rounds, mostUses);
}

/**
 * The most a call can use. `unlimited` is the number of uses that a vendor's own tool counts for where the call sets no
 * limit. Most vendors read the whole conversation again after each use, with what the tool found, and bill all readings.
 */
export function useBound(
  call: ClientCall,
  target: Pick<Target, 'model' | 'protocol'>,
  granted: number | undefined,
  unlimited: number = unlimitedUses.expected,
): UseBound {
  const { size, fees, candidates } = call;
  const {
    model,
    protocol: {
      upstream: { caching },
    },
  } = target;
  const uncached = size.uncached === true && caching === 'marked';
  const output = outputBound(call, model, granted);
  const sent = inputBound(call, model);
  const mode = askedMode(call);
  if (!fees?.length && !size.rounds && !size.fetched && !size.cached) {
    return { input: sent, output, candidates, mode, ...(uncached ? { uncached } : {}) };
  }
  const [webSearches, fileSearches] = [
    usesOf(call, 'webSearch', unlimited),
    usesOf(call, 'fileSearch', unlimited),
  ];
  const rounds = roundsOf(call, unlimited);
  const runs = Math.max(0, rounds - webSearches - fileSearches);
  const found = webSearches * tokensPerSearch + fileSearches * tokensPerFileSearch + runs * tokensPerRun;
  // A vendor refuses what does not fit. More bytes than that may still be fewer tokens.
  const longest = Math.max(sent, model.contextLength);
  const once = size.fetched ? longest : Math.min(longest, sent + found);
  const all = caching && rounds > 0 ? Math.max(once, readings(sent, found / rounds, rounds, longest)) : once;
  const input = caching === 'automatic' ? once : all;
  const cached = all - input + (size.cached ? Math.max(0, model.contextLength - once) : 0);
  return {
    input,
    cached,
    output,
    candidates,
    mode,
    fileSearches,
    webSearches: model.capabilities.searchesBilled === 'once' ? Math.min(1, webSearches) : webSearches,
    containers: usesOf(call, 'container', unlimited),
    uncached,
  };
}

/** The tokens of all readings of a conversation that grows before each further one, until it is as long as can be. */
function readings(sent: number, growth: number, rounds: number, longest: number): number {
  const growing = growth === 0 ? rounds : Math.min(rounds, Math.floor((longest - sent) / growth));
  return Math.ceil(
    (growing + 1) * sent + (growth * growing * (growing + 1)) / 2 + (rounds - growing) * longest,
  );
}
