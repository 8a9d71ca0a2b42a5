/**
 * A vendor's figures, as far as they can be true. A token is at least a byte of what was sent, a model puts out no more
 * than its limit, no work is for nothing, and a vendor charges a fee only for what the call lets it do. Figures beyond
 * that are suspect, whoever they favour. A suspect call is charged by our own estimate, or at its bound, and never more
 * than was reserved for it.
 */
import type { Block, CanonicalRequest } from '../canonical/request.ts';
import type { Usage } from '../canonical/usage.ts';
import type { Routed } from '../exchange.ts';
import type { UseBound } from '../money.ts';
import { outputBound, roundsOf, unlimitedUses, useBound } from './cost-bounds.ts';
import { feeCounts } from './fees.ts';
import type { Progress } from './reply-progress.ts';

/** Tokens a vendor may add of its own: a template around each turn, its instructions for the use of tools. */
const allowance = 4096;

export interface Believed {
  readonly usage: Usage;
  /** Whether any figure was not believed. */
  readonly suspect: boolean;
}

export function believe(exchange: Routed, progress: Progress): Believed {
  const { usage, deliveredBytes, images, spoke } = progress;
  const {
    call,
    attempt: { target },
  } = exchange;
  const most = useBound(call, target, undefined, unlimitedUses.believed);
  if (isFree(progress, most)) return { usage, suspect: spoke };
  const inputFalse = isInputFalse(usage, most, exchange);
  const outputFalse = isOutputFalse(usage, exchange, deliveredBytes > 0 || images > 0);
  const suspect =
    inputFalse ||
    outputFalse ||
    partsExceed(usage) ||
    feesExceed(usage, most) ||
    writesUnasked(usage, most) ||
    (target.price.image !== undefined && images > call.candidates);
  if (!inputFalse && !outputFalse) return { usage, suspect };
  const {
    input,
    cacheRead,
    cacheReadAudio,
    cacheWrite5m,
    cacheWrite1h,
    inputAudio,
    inputImage,
    output,
    reasoning,
    outputAudio,
    outputImage,
    ...rest
  } = usage;
  return {
    suspect,
    usage: {
      ...rest,
      ...(inputFalse
        ? {}
        : { input, cacheRead, cacheReadAudio, cacheWrite5m, cacheWrite1h, inputAudio, inputImage }),
      ...(outputFalse ? {} : { output, reasoning, outputAudio, outputImage }),
    },
  };
}

/**
 * Whether the vendor bills no token. Anthropic reports zero for both when it answers the result of a programmatic tool
 * call from the container alone. Only a complete reply counts: vendors also write zeros in a stream's first events.
 */
function isFree({ usage, complete, images }: Progress, most: UseBound): boolean {
  return complete && usage.input === 0 && usage.output === 0 && images === 0 && !feesExceed(usage, most);
}

/** A suspect call's figures, none of them above what was reserved for. */
export function withinReserved(usage: Usage, { call, grant, attempt }: Routed): Usage {
  const {
    input,
    cached = 0,
    output,
    candidates,
    uncached,
    ...bound
  } = useBound(call, attempt.target, grant.outputLimit);
  const least: Record<string, number> = {};
  const limit = (
    name: 'input' | 'output' | 'cacheWrite5m' | 'cacheWrite1h' | (typeof feeCounts)[number][1],
    most: number,
  ): void => {
    const told = usage[name];
    if (told !== undefined && told > most) least[name] = most;
  };
  limit('input', input + Math.min(cached, usage.cacheRead ?? 0));
  limit('output', output * candidates);
  if (uncached) for (const kind of ['cacheWrite5m', 'cacheWrite1h'] as const) limit(kind, 0);
  for (const [, counted] of feeCounts) limit(counted, bound[counted] ?? 0);
  return { ...usage, ...least };
}

function isInputFalse({ input, cacheRead = 0 }: Usage, most: UseBound, exchange: Routed): boolean {
  if (input === undefined) return false;
  if (input === 0) return most.input > 0;
  const { cached = 0 } = most;
  if (input <= most.input + allowance + Math.min(cached, cacheRead)) return false;
  const {
    call,
    attempt: {
      target: { model },
    },
  } = exchange;
  const rounds = roundsOf(call, unlimitedUses.believed);
  if (input > model.contextLength * (rounds + 1)) return true;
  return rounds === 0 && !bringsMore(exchange);
}

/** Whether the vendor may have read something that the request does not contain, beyond what its bound allows for. */
function bringsMore(exchange: Routed): boolean {
  let request: CanonicalRequest;
  try {
    request = exchange.canonical();
  } catch {
    // The body went on verbatim and cannot be decoded here, so nobody knows what the vendor fetched for it.
    return true;
  }
  return request.turns.some(({ blocks }) => blocks.some(isElsewhere));
}

/** Whether a part is not in the request, so that the vendor has to fetch it. */
function isElsewhere(block: Block): boolean {
  if (block.type === 'tool-result')
    return block.content.some((each) => each.type === 'media' && isElsewhere(each));
  return (
    block.type === 'foreign' ||
    (block.type === 'media' && (block.source.type === 'url' || block.source.type === 'file'))
  );
}

function isOutputFalse({ output }: Usage, { call, attempt }: Routed, delivered: boolean): boolean {
  if (output === undefined) return false;
  const { model } = attempt.target;
  const most = Math.max(outputBound(call, model, undefined), model.outputLimit) * call.candidates + allowance;
  return output > most || (output === 0 && delivered);
}

/** Whether the vendor charges for more searches or containers than the call lets it use. */
function feesExceed(usage: Usage, most: UseBound): boolean {
  return feeCounts.some(([, counted]) => (usage[counted] ?? 0) > (most[counted] ?? 0));
}

/** Whether the vendor charges for writes to a cache that it makes only when it is asked to. */
function writesUnasked({ cacheWrite5m = 0, cacheWrite1h = 0 }: Usage, { uncached }: UseBound): boolean {
  return uncached === true && cacheWrite5m + cacheWrite1h > 0;
}

/** Whether parts are larger than the whole they are of; they are priced as if they filled it. */
function partsExceed({
  input,
  cacheRead = 0,
  cacheWrite5m = 0,
  cacheWrite1h = 0,
  output,
  reasoning = 0,
}: Usage): boolean {
  return (
    (input !== undefined && cacheRead + cacheWrite5m + cacheWrite1h > input) ||
    (output !== undefined && reasoning > output)
  );
}
