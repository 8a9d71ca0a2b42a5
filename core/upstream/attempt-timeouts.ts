/**
 * Computes how long a target may be silent before its reply. The operator may set it; otherwise it follows
 * from the request. A model that thinks hard or reads much needs longer, and another target should still get
 * its turn before the client gives up.
 */
import type { Parsed, Target } from '../exchange.ts';
import type { Provider } from '../provider.ts';

const second = 1000;
/** Time to the first event of a model that does not think and has little to read. */
const base = 45 * second;
/** Bytes of a prompt that a slow provider reads per second. */
const bytesPerSecond = 40_000;
/** Time to think before the first event, by reasoning effort. */
const thinking: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['minimal', 5 * second],
  ['low', 15 * second],
  ['medium', 30 * second],
  ['high', 90 * second],
]);
/** Time for efforts above `high` and unknown ones. */
const mostThinking = 180 * second;
/** Time for a picture. It is one event, and a call that may have produced one is never retried. */
const painting = 240 * second;
/** Tokens per second of a slow provider: output, and reasoning with a stated budget. */
const tokensPerSecond = 10;
const thoughtsPerSecond = 100;
/** Upper limits unless the operator sets others: the timeouts of common clients. */
const longestSilence = 300 * second;
const longestReply = 600 * second;

/** Milliseconds from the start of an attempt. */
export interface AttemptTimeouts {
  /** To the first event of a stream, or to a whole JSON reply. */
  readonly firstEvent: number;
  /** To the first output: events that only open a stream must not continue forever. */
  readonly opening: number;
}

/** The provider's own timeouts take precedence over the gateway's. */
export function computeTimeouts(
  { call }: Parsed,
  { provider: { patience }, model }: Target,
  chosen: NonNullable<Provider['patience']>,
): AttemptTimeouts {
  const reply = patience?.reply ?? chosen.reply;
  if (call.stream)
    return {
      firstEvent: patience?.firstEvent ?? chosen.firstEvent ?? estimateSilence(call, model),
      opening: reply ?? longestReply,
    };
  const whole = reply ?? estimateReply(call, model);
  return { firstEvent: whole, opening: whole };
}

type CallFacts = Pick<Parsed['call'], 'effort' | 'outputLimit' | 'size' | 'candidates'>;
type ModelFacts = Pick<Target['model'], 'capabilities' | 'output'>;

function estimateSilence({ effort, size }: CallFacts, model: ModelFacts): number {
  const reading = ((size.textBytes + size.mediaBytes) / bytesPerSecond) * second;
  return Math.min(
    base + reading + estimateThinking(effort, model) + (model.output.includes('image') ? painting : 0),
    longestSilence,
  );
}

function estimateThinking(effort: CallFacts['effort'], { capabilities }: ModelFacts): number {
  if (typeof effort === 'number') return Math.min((effort / thoughtsPerSecond) * second, mostThinking);
  if (effort !== undefined) return thinking.get(effort) ?? mostThinking;
  return capabilities.reasoning.style === 'none' ? 0 : (thinking.get('medium') ?? 0);
}

/** Without an output limit the length of the reply is unknown. */
function estimateReply(call: CallFacts, model: ModelFacts): number {
  if (call.outputLimit === undefined || model.output.includes('image')) return longestReply;
  return Math.min(estimateSilence(call, model) + (call.outputLimit / tokensPerSecond) * second, longestReply);
}
