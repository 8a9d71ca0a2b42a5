/**
 * What a call may cost at worst, and what of it an account can bear. Input is bounded by bytes, since a
 * tokeniser never makes more tokens than bytes and counting tokens takes too long; output by its limit. Where
 * the balance is below the worst case, the limit is lowered and not the call refused.
 */
import { affordableOutput, askedMode, costOf, formatUsd, GatewayError, inputBound, inputEstimate, outputBound, pictureTokens, worstCost, type ClientCall, type FeeName, type Grant, type Nano, type Planned, type Principal, type Target, type UseBound } from '../../../core/index.ts';
import { priceRecord } from './prices.ts';
import type { Quote, Reserved } from './store.ts';

export interface Policy {
  /** What happens to a call whose worst case the balance does not cover. */
  readonly whenShort: 'lower' | 'refuse';
  /** Tokens of output below which no call is worth making, unless its caller asked for fewer. */
  readonly leastOutput: number;
  /** Which target so much is reserved for: with the dearest, those that cost more than the first stay in the grant. */
  readonly reserve: 'first' | 'dearest';
}

/**
 * Searches that are reserved for where the caller states no limit, and the most that are believed of a vendor; and tokens
 * that what each finds is read as, of the web and of files: OpenAI's own figures, of twenty passages of 800 tokens.
 */
const usualSearches = 10;
const mostSearches = 1000;
const tokensPerSearch = 8000;
const tokensPerFileSearch = 16_000;

function mostOf({ fees = [] }: ClientCall, name: FeeName): number {
  const stated = fees.reduce((sum, fee) => (fee.name === name ? sum + fee.most : sum), 0);
  return stated === Infinity ? usualSearches : Math.min(Math.max(0, stated), mostSearches);
}

function boundOf({ call }: Planned, outputLimit: number | undefined, { model }: Target): UseBound {
  const [searches, fileSearches, containers] = [mostOf(call, 'webSearch'), mostOf(call, 'fileSearch'), mostOf(call, 'container')];
  const sent = inputBound(call, model);
  const read = call.size.fetched ? Infinity : searches * tokensPerSearch + fileSearches * tokensPerFileSearch;
  // What is found or fetched has to find room beside what was sent.
  const found = Math.max(0, Math.min(read, model.contextLength - sent));
  return { searches, fileSearches, containers, mode: askedMode(call), input: sent + found, output: outputBound(call, model, outputLimit), candidates: call.candidates };
}

/** A limit below which the call is not worth making: no part of a picture is. */
function leastOf({ leastOutput }: Policy, { call }: Planned, { model }: Target): number {
  return Math.max(leastOutput, pictureTokens(call, model));
}

/** Before them, for the first, what others could cost that are dearer: the dearest that the balance affords is taken. */
function withDearer(quotes: readonly Quote[]): Quote[] {
  const [first] = quotes;
  if (!first) return [];
  const dearer = new Set(quotes.map(({ most }) => most).filter((most) => most > first.most));
  return [...[...dearer].toSorted((one, other) => (one > other ? -1 : 1)).map((most) => ({ ...first, least: most, most })), ...quotes];
}

/** What each target of a grant could cost, at least and at most, and what is owed for it where nobody hears of the call again. */
export function quotesFor({ targets, outputLimit }: Grant, planned: Planned, policy: Policy): Quote[] {
  const quotes = targets.map((target) => {
    const bound = boundOf(planned, outputLimit, target);
    const most = worstCost(bound, target.price);
    const least = policy.whenShort === 'refuse' ? most : worstCost({ ...bound, output: Math.min(bound.output, leastOf(policy, planned, target)) }, target.price);
    const input = inputEstimate(planned.call, target.model);
    // At the usual rates: of a call that nobody hears of again nobody can say that it was served in another way.
    const owed = costOf({ input, output: 0 }, target.price);
    return { model: target.model.id, provider: target.provider.name, price: priceRecord(target.price).version, least, most, input, owed };
  });
  return policy.reserve === 'dearest' ? withDearer(quotes) : quotes;
}

/** The grant a reservation is good for: its target first, a lower limit where it has to be, no later target that could cost more. `quotes`: how many there were. */
export function narrow(grant: Grant, planned: Planned, { quote, amount }: Extract<Reserved, { status: 'reserved' }>, policy: Policy, quotes = grant.targets.length): Grant {
  const [first, ...rest] = grant.targets.slice(Math.max(0, quote - (quotes - grant.targets.length)));
  if (!first) throw new RangeError(`quote ${quote} was taken and there are ${grant.targets.length}`);
  const bound = boundOf(planned, grant.outputLimit, first);
  // Where the balance is short the sum is exact to the token but for the rounding of `least`, which is granted.
  const affordable = Math.max(affordableOutput(amount, bound, first.price), leastOf(policy, planned, first));
  const isLowered = amount < worstCost(bound, first.price) && affordable < bound.output;
  const outputLimit = isLowered ? affordable : grant.outputLimit;
  const targets = [first, ...rest.filter((target) => worstCost(boundOf(planned, outputLimit, target), target.price) <= amount)];
  return { ...grant, targets, ...(outputLimit === undefined ? {} : { outputLimit }) };
}

/** The refusal of a call that no quote of is affordable. */
export function outOfBalance(quotes: readonly Quote[], { account, key }: Principal, { by, available }: Extract<Reserved, { status: 'short' }>): GatewayError {
  const needed = quotes.reduce<Nano | undefined>((least, quote) => (least === undefined || quote.least < least ? quote.least : least), undefined) ?? 0n;
  const could = `This call could cost ${formatUsd(needed)} USD, and`;
  const shorten = 'Shorten the input, lower the output limit, or have';
  if (by === 'cap') return new GatewayError('out_of_balance', `${could} the key ${key} has ${formatUsd(available)} USD left to spend. ${shorten} its limit raised.`);
  const rest = `the account "${account}" has ${formatUsd(available)} USD available`;
  return new GatewayError('out_of_balance', `${could} ${rest}. ${shorten} credit added: tollgate credit add ${account} <usd>.`);
}

/** The refusal of a call that is one too many for its key. */
export function tooOften({ key }: Principal, { rate, wait }: Extract<Reserved, { status: 'limited' }>): GatewayError {
  return new GatewayError('rate_limited', `The API key ${key} may make ${rate} ${rate === 1 ? 'call' : 'calls'} a minute, and has.`, { retryAfter: Math.max(1, Math.ceil(wait / 1000)) });
}
