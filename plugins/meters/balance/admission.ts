/**
 * What a call may cost at worst, and what of it an account can bear. Input is bounded by bytes, since a
 * tokeniser never makes more tokens than bytes and counting tokens takes too long; output by its limit. Where
 * the balance is below the worst case, the limit is lowered and not the call refused.
 */
import { affordableOutput, formatUsd, GatewayError, worstCost, type Grant, type Nano, type Planned, type Target } from '../../../core/index.ts';
import type { Balance, Quote, Reserved } from './store.ts';

export interface Policy {
  /** What happens to a call whose worst case the balance does not cover. */
  readonly whenShort: 'lower' | 'refuse';
  /** Tokens of output below which no call is worth making, unless its caller asked for fewer. */
  readonly leastOutput: number;
}

interface Bound {
  readonly input: number;
  readonly output: number;
  readonly candidates: number;
}

function boundOf({ call }: Planned, outputLimit: number | undefined, { model }: Target): Bound {
  const { textBytes, images, mediaBytes } = call.size;
  return {
    input: textBytes + mediaBytes + images * model.capabilities.imageTokens,
    output: Math.min(outputLimit ?? Infinity, call.outputLimit ?? Infinity, model.outputLimit),
    candidates: call.candidates,
  };
}

/** What each target of a grant could cost, at least and at most. */
export function quotesFor({ targets, outputLimit }: Grant, planned: Planned, { whenShort, leastOutput }: Policy): Quote[] {
  return targets.map((target) => {
    const bound = boundOf(planned, outputLimit, target);
    const most = worstCost(bound, target.price);
    const least = whenShort === 'refuse' ? most : worstCost({ ...bound, output: Math.min(bound.output, leastOutput) }, target.price);
    return { model: target.model.id, provider: target.provider.name, least, most };
  });
}

/** The grant a reservation is good for: its target first, a lower limit where it has to be, no later target that could cost more. */
export function narrow(grant: Grant, planned: Planned, { quote, amount }: Reserved, { leastOutput }: Policy): Grant {
  const [first, ...rest] = grant.targets.slice(quote);
  if (!first) throw new RangeError(`quote ${quote} was taken and there are ${grant.targets.length}`);
  const bound = boundOf(planned, grant.outputLimit, first);
  // Where the balance is short the sum is exact to the token but for the rounding of `least`, which is granted.
  const affordable = Math.max(affordableOutput(amount, bound, first.price), leastOutput);
  const isLowered = amount < worstCost(bound, first.price) && affordable < bound.output;
  const outputLimit = isLowered ? affordable : grant.outputLimit;
  const targets = [first, ...rest.filter((target) => worstCost(boundOf(planned, outputLimit, target), target.price) <= amount)];
  return outputLimit === undefined ? { targets } : { targets, outputLimit };
}

/** The refusal of a call that no quote of is affordable. */
export function outOfBalance(quotes: readonly Quote[], account: string, balance: Balance | undefined): GatewayError {
  const needed = quotes.reduce<Nano | undefined>((least, quote) => (least === undefined || quote.least < least ? quote.least : least), undefined) ?? 0n;
  const available = balance ? balance.total - balance.used - balance.pending : 0n;
  return new GatewayError(
    'out_of_balance',
    `This call could cost ${formatUsd(needed)} USD, and the account "${account}" has ${formatUsd(available)} USD available. ` +
      `Shorten the input, lower the output limit, or have credit added: tollgate credit add ${account} <usd>.`,
  );
}
