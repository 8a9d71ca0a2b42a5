/**
 * Checks reported usage for plausibility. A token is at least a byte of what was sent, output stays below the
 * limit that was sent, output is never free, and fees are charged only for what the call allows. Figures
 * beyond that are suspect, in either direction. A suspect call is charged by our estimate or its bound, never
 * more than its reservation.
 */
import type { Block, CanonicalRequest } from '../canonical/request.ts';
import { facts, findCount, listUses, type Unit, type Use } from '../canonical/units.ts';
import type { Routed, Progress } from '../exchange.ts';
import { findRate, nameSearches } from '../price-terms.ts';
import {
  type UseBound,
  boundInput,
  boundOutput,
  boundUse,
  countPictureTokens,
  countRounds,
  getContext,
  unlimitedUses,
} from './cost-bounds.ts';

type Uses = readonly Use[];

function getWhole(unit: Unit): Unit {
  return facts[unit].within ?? unit;
}

/** Tokens of cache reads and writes, or of writes that are kept so long. */
function countCache(uses: Uses, kept?: 'short' | 'long'): number {
  const isWanted = ({ unit, modality }: Use): boolean =>
    modality === undefined &&
    facts[unit].within === 'input' &&
    (kept === undefined || facts[unit].kept === kept);
  return uses.reduce((sum, use) => sum + (isWanted(use) ? use.count : 0), 0);
}

/** Tokens that a provider may add: chat templates and tool instructions. */
const allowance = 4096;

/** Tokens by which providers miss a limit: they end a word or a call, or have a least limit of their own. */
const overshoot = 64;

export interface CheckedUsage {
  readonly uses: Uses;
  readonly suspect: boolean;
  /**
   * Whether the input is beyond its bytes, and a parameter that the gateway does not know may have added the
   * rest. It then counts as far as the reservation pays for it.
   */
  readonly hasAddedInput: boolean;
}

/** `isFinal`: the figures are those of the end of a reply, not of a reply that broke off. */
export function checkUsage(exchange: Routed, progress: Progress, isFinal: boolean): CheckedUsage {
  const { deliveredBytes, images, spoke } = progress;
  const { call, attempt } = exchange;
  const { target } = attempt;
  const listed = listUses(progress.usage);
  const uses = nameSearches(isFinal ? listed : omitZeros(listed), call.fees);
  const most = boundUse(call, target, undefined, unlimitedUses.believed);
  if (isFree(progress, uses, most)) return { uses, suspect: spoke, hasAddedInput: false };
  const judged = judgeInput(uses, most, exchange);
  const isInputFalse = judged === 'false';
  const isOutputFalse = judgeOutput(uses, exchange, deliveredBytes > 0 || images > 0) === 'false';
  return {
    suspect:
      judged !== 'true' ||
      isOutputFalse ||
      hasExcessOutput(uses, exchange, images) ||
      hasExcessParts(uses) ||
      hasExcessUses(uses, most) ||
      hasUnaskedWrites(uses, most) ||
      (images > call.candidates && findRate([target.price], { unit: 'image' }) !== undefined),
    hasAddedInput: judged === 'added',
    // Of a false figure the parts are unknown, too.
    uses: uses.filter(
      ({ unit }) =>
        !(isInputFalse && getWhole(unit) === 'input') && !(isOutputFalse && getWhole(unit) === 'output'),
    ),
  };
}

/** Leaves out zeros, as at the start of a stream. Google's first chunks count no output. */
function omitZeros(uses: Uses): Uses {
  return uses.filter(
    ({ unit, modality, count }) =>
      count !== 0 || modality !== undefined || (unit !== 'input' && unit !== 'output'),
  );
}

/**
 * True if the provider bills no token. Anthropic reports zero for both when it answers the result of a
 * programmatic tool call from the container alone. Only a complete reply counts, since providers also write
 * zeros in the first events of a stream.
 */
function isFree({ complete, images }: Progress, uses: Uses, most: UseBound): boolean {
  return (
    complete &&
    findCount(uses, 'input') === 0 &&
    findCount(uses, 'output') === 0 &&
    images === 0 &&
    !hasExcessUses(uses, most)
  );
}

export function capToReservation(uses: Uses, { call, grant, attempt }: Routed): Uses {
  const bound = boundUse(call, attempt.target, grant.outputLimit);
  const { input, cached = 0, output, candidates, uncached, brief } = bound;
  const findMost = (unit: Unit): number => {
    const { kept, per } = facts[unit];
    if (unit === 'input') return input + Math.min(cached, findCount(uses, 'cacheRead') ?? 0);
    if (unit === 'output') return output * candidates;
    if ((kept && uncached) || (kept === 'long' && brief)) return 0;
    return per > 1 ? Infinity : countBound(bound, unit);
  };
  return uses.map((use) =>
    use.modality === undefined ? { ...use, count: Math.min(use.count, findMost(use.unit)) } : use,
  );
}

/** The most of a unit that is no token. */
function countBound({ uses = [], candidates }: UseBound, unit: Unit): number {
  if (unit === 'request') return 1;
  return unit === 'image' ? candidates : (findCount(uses, unit) ?? 0);
}

/**
 * Whether the input can be true. `added`: only if a parameter that the gateway does not know makes the
 * provider add tokens, as some switches for searches and skills do.
 */
function judgeInput(uses: Uses, most: UseBound, exchange: Routed): 'true' | 'added' | 'false' {
  const input = findCount(uses, 'input');
  if (input === undefined) return 'true';
  if (input === 0) return most.input > 0 ? 'false' : 'true';
  const { call, attempt } = exchange;
  const { model } = attempt.target;
  const { cached = 0 } = most;
  // The context may be longer than the catalogue knows.
  const likely = Math.max(most.input, boundInput(call, model));
  if (input <= likely + allowance + Math.min(cached, findCount(uses, 'cacheRead') ?? 0)) return 'true';
  const rounds = countRounds(call, unlimitedUses.believed);
  if (input > getContext(call, model) * (rounds + 1)) return 'false';
  if (rounds > 0 || mayFetchMore(exchange)) return 'true';
  return hasUnknownFields(exchange) ? 'added' : 'false';
}

/** True if the request has fields for this provider that only its own protocol knows. */
function hasUnknownFields({ getRequest, attempt }: Routed): boolean {
  const request = getRequest();
  const { turns, tools = [] } = request;
  const parts = [request, ...tools, ...turns, ...turns.flatMap(({ blocks }) => blocks)];
  return parts.some(({ vendor }) => vendor?.[attempt.target.protocol.name] !== undefined);
}

/** True if the provider may have read content that is not in the request, beyond its bound. */
function mayFetchMore(exchange: Routed): boolean {
  let request: CanonicalRequest;
  try {
    request = exchange.getRequest();
  } catch {
    // The body passed verbatim and cannot be decoded here, so what the provider fetched is unknown.
    return true;
  }
  return request.turns.some(({ blocks }) => blocks.some(mustBeFetched));
}

function mustBeFetched(block: Block): boolean {
  if (block.type === 'tool-result') return block.content.some(mustBeFetched);
  return (
    block.type === 'foreign' ||
    (block.type === 'media' && (block.source.type === 'url' || block.source.type === 'file'))
  );
}

function judgeOutput(uses: Uses, { call, attempt }: Routed, isDelivered: boolean): 'true' | 'false' {
  const output = findCount(uses, 'output');
  if (output === undefined) return 'true';
  const { model } = attempt.target;
  const most = Math.max(boundOutput(call, model, undefined), model.outputLimit) * call.candidates + allowance;
  return output > most || (output === 0 && isDelivered) ? 'false' : 'true';
}

/**
 * True if the output exceeds the limit that was sent, of all candidates together, though the model could make
 * that much. What a provider's own tools write may come on top, and so may pictures, which are produced
 * whole.
 */
function hasExcessOutput(uses: Uses, { call, grant, attempt }: Routed, images: number): boolean {
  const { model } = attempt.target;
  const limit = Math.min(grant.outputLimit ?? Infinity, call.outputLimit ?? Infinity);
  if (limit >= model.outputLimit || countRounds(call, unlimitedUses.believed) > 0) return false;
  const { outsideLimit = false } = model.capabilities.reasoning;
  const most = (limit + (outsideLimit ? model.outputLimit : 0)) * call.candidates;
  return (findCount(uses, 'output') ?? 0) > most + images * countPictureTokens(call, model) + overshoot;
}

/** True if the provider reports more of what is no token than the call allows. */
function hasExcessUses(uses: Uses, most: UseBound): boolean {
  return uses.some(({ unit, count }) => facts[unit].per === 1 && count > countBound(most, unit));
}

/** True if the provider reports cache writes that the call did not ask for. */
function hasUnaskedWrites(uses: Uses, { uncached, brief }: UseBound): boolean {
  return (
    (uncached === true && countCache(uses, 'short') > 0) ||
    ((uncached === true || brief === true) && countCache(uses, 'long') > 0)
  );
}

/** True if a part exceeds its whole. It is then priced as if it filled the whole. */
function hasExcessParts(uses: Uses): boolean {
  const [input = Infinity, output = Infinity] = [findCount(uses, 'input'), findCount(uses, 'output')];
  return countCache(uses) > input || (findCount(uses, 'reasoning') ?? 0) > output;
}
