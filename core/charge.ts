/**
 * The written policy of what a call costs, by how it ended: completed, the vendor's usage; never sent or failed
 * before output, nothing; the client gone after sending, its input; broken off after output, its input and what
 * was delivered. Counting tokens costs nothing. Where the vendor's figures are missing they are estimated from bytes, and said to be.
 */
import type { Charge, Routed } from './exchange.ts';
import { costOf } from './money.ts';
import type { Tally } from './tally.ts';

export type Outcome = 'completed' | 'aborted' | 'cut' | 'left-before-output' | 'failed';

/** Text of most languages has about four bytes a token. */
const bytesPerToken = 4;

const nothing: Charge = { cost: 0n, usage: {}, basis: 'none' };

export function chargeFor(outcome: Outcome, exchange: Routed, tally: Tally): Charge {
  if (exchange.operation === 'count' || outcome === 'failed' || (outcome === 'left-before-output' && !exchange.attempt.sent)) return nothing;
  const { price } = exchange.attempt.target;
  const told = tally.usage;
  if (outcome === 'completed' && told.input !== undefined && told.output !== undefined) {
    return { usage: told, cost: costOf(told, price), basis: 'usage' };
  }
  const usage = { ...told, input: told.input ?? estimateInput(exchange), output: estimateOutput(outcome, exchange, tally) };
  return { usage, cost: costOf(usage, price), basis: 'estimate' };
}

/** The tokens of a call's input, where nobody has counted them. */
export function estimateInput({ call, attempt }: Routed): number {
  const { textBytes, images, mediaBytes } = call.size;
  return Math.ceil((textBytes + mediaBytes) / bytesPerToken) + images * attempt.target.model.capabilities.imageTokens;
}

/** Never above what was reserved for: the limit of each candidate. */
function estimateOutput(outcome: Outcome, exchange: Routed, { usage, deliveredBytes }: Tally): number {
  if (outcome === 'left-before-output') return 0;
  const delivered = Math.ceil(deliveredBytes / bytesPerToken);
  return Math.min(Math.max(usage.output ?? 0, delivered), outputLimitOf(exchange) * exchange.call.candidates);
}

/** Tokens of output a candidate can have at most: the grant's limit, the caller's, or the model's own. */
function outputLimitOf({ grant, call, attempt }: Routed): number {
  return Math.min(grant.outputLimit ?? Infinity, call.outputLimit ?? Infinity, attempt.target.model.outputLimit);
}

