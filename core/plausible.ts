/**
 * A vendor's figures, as far as they can be true. A token is at least a byte of what was sent, a model puts out no
 * more than its limit, and what was answered was not for nothing: figures beyond that are not believed, whoever
 * they would favour, and the call is charged by our own estimate of them instead.
 */
import { inputBound, outputBound } from './bound.ts';
import type { Block, CanonicalRequest } from './canonical/request.ts';
import type { Usage } from './canonical/usage.ts';
import type { Routed } from './exchange.ts';
import { feeCounts } from './fees.ts';
import type { Progress } from './tally.ts';

/** Tokens a vendor may add of its own: a template around each turn, its instructions for the use of tools. */
const allowance = 4096;
/** How many times over a vendor that uses tools of its own may read the context again. */
const mostReadings = 8;
const mostSearches = 1000;

export interface Believed {
  readonly usage: Usage;
  /** Whether any figure was not believed. */
  readonly suspect: boolean;
}

export function believe(exchange: Routed, progress: Progress): Believed {
  const { usage, deliveredBytes, images, regressed, spoke } = progress;
  if (isFree(progress)) return { usage, suspect: regressed || spoke };
  const inputFalse = isInputFalse(usage, exchange);
  const outputFalse = isOutputFalse(usage, exchange, deliveredBytes > 0 || images > 0);
  const searchesFalse = feeCounts.some(([, counted]) => (usage[counted] ?? 0) > mostSearches);
  if (!inputFalse && !outputFalse && !searchesFalse) return { usage, suspect: regressed || partsExceed(usage) };
  const { input, cacheRead, cacheReadAudio, cacheWrite5m, cacheWrite1h, inputAudio, inputImage, output, reasoning, outputAudio, outputImage, webSearches, fileSearches, containers, ...rest } = usage;
  return {
    suspect: true,
    usage: {
      ...rest,
      ...(inputFalse ? {} : { input, cacheRead, cacheReadAudio, cacheWrite5m, cacheWrite1h, inputAudio, inputImage }),
      ...(outputFalse ? {} : { output, reasoning, outputAudio, outputImage }),
      ...(searchesFalse ? {} : { webSearches, fileSearches, containers }),
    },
  };
}

/**
 * Whether the vendor bills no token. Anthropic reports zero for both when it answers the result of a programmatic tool
 * call from the container alone. Only a complete reply counts: vendors also write zeros in a stream's first events.
 */
function isFree({ usage: { input, output, webSearches = 0 }, complete, images }: Progress): boolean {
  return complete && input === 0 && output === 0 && images === 0 && webSearches <= mostSearches;
}

function isInputFalse({ input }: Usage, exchange: Routed): boolean {
  if (input === undefined) return false;
  const { model } = exchange.attempt.target;
  const most = inputBound(exchange.call, model);
  if (input === 0) return most > 0;
  return input > most + allowance && input > model.contextLength * readingsOf(exchange);
}

/** How often a vendor may have read a whole context that our bytes do not show: never, where all that it reads stands in them. */
function readingsOf(exchange: Routed): number {
  let request: CanonicalRequest;
  try {
    request = exchange.canonical();
  } catch {
    // The body went on verbatim and cannot be decoded here, so nobody knows what the vendor fetched for it.
    return mostReadings;
  }
  const { tools = [], turns } = request;
  if (tools.some(({ type }) => type === 'hosted')) return mostReadings;
  return turns.some(({ blocks }) => blocks.some(isElsewhere)) ? 1 : 0;
}

/** Whether a part is not in the request, so that the vendor has to fetch it. */
function isElsewhere(block: Block): boolean {
  if (block.type === 'tool-result') return block.content.some((each) => each.type === 'media' && isElsewhere(each));
  return block.type === 'foreign' || (block.type === 'media' && (block.source.type === 'url' || block.source.type === 'file'));
}

function isOutputFalse({ output }: Usage, { call, attempt }: Routed, delivered: boolean): boolean {
  if (output === undefined) return false;
  const { model } = attempt.target;
  const most = Math.max(outputBound(call, model, undefined), model.outputLimit) * call.candidates + allowance;
  return output > most || (output === 0 && delivered);
}

/** Whether parts are larger than the whole they are of; they are priced as if they filled it. */
function partsExceed({ input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output, reasoning = 0 }: Usage): boolean {
  return (input !== undefined && cacheRead + cacheWrite5m + cacheWrite1h > input) || (output !== undefined && reasoning > output);
}
