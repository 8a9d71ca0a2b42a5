/**
 * Checks reported usage for plausibility. A token is at least a byte of what was sent, output stays below the
 * limit that was sent, output is never free, and fees are charged only for what the call allows. Figures
 * beyond that are suspect, in either direction. A suspect call is charged by our estimate or its bound, never
 * more than its reservation.
 */
import type { Block, CanonicalRequest } from '../canonical/request.ts';
import type { Usage } from '../canonical/usage.ts';
import type { Routed, Progress } from '../exchange.ts';
import { feeCounts, nameSearches } from '../price-terms.ts';
import {
  boundInput,
  boundOutput,
  countPictureTokens,
  countRounds,
  unlimitedUses,
  boundUse,
} from './cost-bounds.ts';
import type { UseBound } from './worst-cost.ts';

/** Cache writes by how long they are kept. */
const shortWrites = ['cacheWrite5m', 'cacheWrite30m'] as const;
const longWrites = ['cacheWrite1h', 'cacheWrite12h'] as const;

/** What is unknown if the figure of the input is false, or that of the output. */
const inputFigures = [
  ...(['input', 'inputAudio', 'inputImage', 'cacheRead', 'cacheReadAudio'] as const),
  ...shortWrites,
  ...longWrites,
];
const outputFigures = ['output', 'reasoning', 'outputAudio', 'outputImage'] as const;

function countWrites(usage: Usage, kinds: readonly (keyof Usage)[]): number {
  let sum = 0;
  for (const kind of kinds) sum += Number(usage[kind] ?? 0);
  return sum;
}

/** Tokens that a provider may add: chat templates and tool instructions. */
const allowance = 4096;

/** Tokens by which providers miss a limit: they end a word or a call, or have a least limit of their own. */
const overshoot = 64;

export interface CheckedUsage {
  readonly usage: Usage;
  /** Whether any figure is implausible. */
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
  const {
    call,
    attempt: { target },
  } = exchange;
  const usage = nameSearches(isFinal ? progress.usage : omitZeros(progress.usage), call.fees);
  const most = boundUse(call, target, undefined, unlimitedUses.believed);
  if (isFree(progress, most)) return { usage, suspect: spoke, hasAddedInput: false };
  const judged = judgeInput(usage, most, exchange);
  const inputFalse = judged === 'false';
  const hasAddedInput = judged === 'added';
  const outputFalse = isOutputFalse(usage, exchange, deliveredBytes > 0 || images > 0);
  const suspect =
    judged !== 'true' ||
    outputFalse ||
    hasExcessOutput(usage, exchange, images) ||
    hasExcessParts(usage) ||
    hasExcessFees(usage, most) ||
    hasUnaskedWrites(usage, most) ||
    (target.price.image !== undefined && images > call.candidates);
  if (!inputFalse && !outputFalse) return { usage, suspect, hasAddedInput };
  return {
    suspect,
    hasAddedInput,
    usage: {
      ...usage,
      ...(inputFalse ? buildBlanks(inputFigures) : {}),
      ...(outputFalse ? buildBlanks(outputFigures) : {}),
    },
  };
}

/** Leaves out zeros, as at the start of a stream. Google's first chunks count no output. */
function omitZeros(usage: Usage): Usage {
  const { input, output } = usage;
  return input === 0 || output === 0
    ? { ...usage, input: input || undefined, output: output || undefined }
    : usage;
}

function buildBlanks(names: readonly (keyof Usage)[]): Readonly<Record<string, undefined>> {
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

/**
 * True if the provider bills no token. Anthropic reports zero for both when it answers the result of a
 * programmatic tool call from the container alone. Only a complete reply counts, since providers also write
 * zeros in the first events of a stream.
 */
function isFree({ usage, complete, images }: Progress, most: UseBound): boolean {
  return complete && usage.input === 0 && usage.output === 0 && images === 0 && !hasExcessFees(usage, most);
}

/** Caps the figures of a suspect call to what was reserved. */
export function capToReservation(usage: Usage, { call, grant, attempt }: Routed): Usage {
  const {
    input,
    cached = 0,
    output,
    candidates,
    uncached,
    brief,
    ...bound
  } = boundUse(call, attempt.target, grant.outputLimit);
  const least: Record<string, number> = {};
  const limit = (
    name:
      | 'input'
      | 'output'
      | (typeof longWrites)[number]
      | (typeof shortWrites)[number]
      | (typeof feeCounts)[number][1],
    most: number,
  ): void => {
    const reported = usage[name];
    if (reported !== undefined && reported > most) least[name] = most;
  };
  limit('input', input + Math.min(cached, usage.cacheRead ?? 0));
  limit('output', output * candidates);
  if (uncached) for (const kind of shortWrites) limit(kind, 0);
  if (uncached || brief) for (const kind of longWrites) limit(kind, 0);
  for (const [, counted] of feeCounts) limit(counted, bound[counted] ?? 0);
  return { ...usage, ...least };
}

/**
 * Whether the input can be true. `added`: only if a parameter that the gateway does not know makes the
 * provider add tokens, as some switches for searches and skills do.
 */
function judgeInput(
  { input, cacheRead = 0 }: Usage,
  most: UseBound,
  exchange: Routed,
): 'true' | 'added' | 'false' {
  if (input === undefined) return 'true';
  if (input === 0) return most.input > 0 ? 'false' : 'true';
  const {
    call,
    attempt: {
      target: { model },
    },
  } = exchange;
  const { cached = 0 } = most;
  // The context may be longer than the catalogue knows.
  const likely = Math.max(most.input, boundInput(call, model));
  if (input <= likely + allowance + Math.min(cached, cacheRead)) return 'true';
  const rounds = countRounds(call, unlimitedUses.believed);
  if (input > model.contextLength * (rounds + 1)) return 'false';
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

/** True if the provider must fetch the part. */
function mustBeFetched(block: Block): boolean {
  if (block.type === 'tool-result') return block.content.some(mustBeFetched);
  return (
    block.type === 'foreign' ||
    (block.type === 'media' && (block.source.type === 'url' || block.source.type === 'file'))
  );
}

function isOutputFalse({ output }: Usage, { call, attempt }: Routed, delivered: boolean): boolean {
  if (output === undefined) return false;
  const { model } = attempt.target;
  const most = Math.max(boundOutput(call, model, undefined), model.outputLimit) * call.candidates + allowance;
  return output > most || (output === 0 && delivered);
}

/**
 * True if the output exceeds the limit that was sent, of all candidates together, though the model could make
 * that much. What a provider's own tools write may come on top, and so may pictures, which are produced
 * whole.
 */
function hasExcessOutput({ output = 0 }: Usage, { call, grant, attempt }: Routed, images: number): boolean {
  const { model } = attempt.target;
  const limit = Math.min(grant.outputLimit ?? Infinity, call.outputLimit ?? Infinity);
  if (limit >= model.outputLimit || countRounds(call, unlimitedUses.believed) > 0) return false;
  const { outsideLimit = false } = model.capabilities.reasoning;
  const most = limit + (outsideLimit ? model.outputLimit : 0);
  return output > most * call.candidates + images * countPictureTokens(call, model) + overshoot;
}

/** True if the provider reports more uses with a fee than the call allows. */
function hasExcessFees(usage: Usage, most: UseBound): boolean {
  return feeCounts.some(([, counted]) => (usage[counted] ?? 0) > (most[counted] ?? 0));
}

/** True if the provider reports cache writes that the call did not ask for. */
function hasUnaskedWrites(usage: Usage, { uncached, brief }: UseBound): boolean {
  return (
    (uncached === true && countWrites(usage, shortWrites) > 0) ||
    ((uncached === true || brief === true) && countWrites(usage, longWrites) > 0)
  );
}

/** True if a part exceeds its whole. It is then priced as if it filled the whole. */
function hasExcessParts(usage: Usage): boolean {
  const { input, cacheRead = 0, output, reasoning = 0 } = usage;
  return (
    (input !== undefined &&
      cacheRead + countWrites(usage, shortWrites) + countWrites(usage, longWrites) > input) ||
    (output !== undefined && reasoning > output)
  );
}
