/**
 * How long a target may be silent before its reply. Unless the operator says so, it follows from the request: clients wait
 * longer for a model that thinks hard or has much to read, and a silent vendor should not use up their patience.
 */
import type { Parsed, Target } from '../exchange.ts';

/** Milliseconds, where the operator chose them. */
export interface ChosenTimeouts {
  readonly firstEvent?: number | undefined;
  readonly reply?: number | undefined;
}

const second = 1000;
/** To the first event of a model that does not think, with little to read. */
const base = 45 * second;
/** Bytes of a prompt that a slow vendor reads in a second. */
const bytesPerSecond = 40_000;
/** For thinking before the first event, by the effort asked for. */
const thinking: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['minimal', 5 * second],
  ['low', 15 * second],
  ['medium', 30 * second],
  ['high', 90 * second],
]);
/** For efforts beyond `high`, and those with other names. */
const mostThinking = 180 * second;
/** For a picture: it is one event, and a call that may have made it is never sent again. */
const painting = 240 * second;
/** Tokens of output that a slow vendor generates in a second, and of thinking where a budget is stated. */
const tokensPerSecond = 10;
const thoughtsPerSecond = 100;
/** No call waits longer unless the operator says so: the timeouts of common clients. */
const longestSilence = 300 * second;
const longestReply = 600 * second;

/** Milliseconds from an attempt's start. */
export interface AttemptTimeouts {
  /** To the first event of a stream, or to a whole JSON reply. */
  readonly firstEvent: number;
  /** To the first output: what only opens a stream may not go on for ever. */
  readonly opening: number;
}

/** The provider's own timeouts go first, then the gateway's. */
export function attemptTimeouts(
  { call }: Parsed,
  { provider: { patience }, model }: Target,
  chosen: ChosenTimeouts,
): AttemptTimeouts {
  const reply = patience?.reply ?? chosen.reply;
  if (call.stream)
    return {
      firstEvent: patience?.firstEvent ?? chosen.firstEvent ?? silenceFor(call, model),
      opening: reply ?? longestReply,
    };
  const whole = reply ?? replyFor(call, model);
  return { firstEvent: whole, opening: whole };
}

type Asked = Pick<Parsed['call'], 'effort' | 'outputLimit' | 'size' | 'candidates'>;
type Asker = Pick<Target['model'], 'capabilities' | 'output'>;

function silenceFor({ effort, size }: Asked, model: Asker): number {
  const reading = ((size.textBytes + size.mediaBytes) / bytesPerSecond) * second;
  return Math.min(
    base + reading + thinkingFor(effort, model) + (model.output.includes('image') ? painting : 0),
    longestSilence,
  );
}

function thinkingFor(effort: Asked['effort'], { capabilities }: Asker): number {
  if (typeof effort === 'number') return Math.min((effort / thoughtsPerSecond) * second, mostThinking);
  if (effort !== undefined) return thinking.get(effort) ?? mostThinking;
  return capabilities.reasoning.style === 'none' ? 0 : (thinking.get('medium') ?? 0);
}

/** Without an output limit nobody knows how long a reply will be. */
function replyFor(call: Asked, model: Asker): number {
  if (call.outputLimit === undefined || model.output.includes('image')) return longestReply;
  return Math.min(silenceFor(call, model) + (call.outputLimit / tokensPerSecond) * second, longestReply);
}
