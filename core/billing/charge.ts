/**
 * The written policy of what a call costs, by how it ended: completed, the vendor's usage; never sent or failed
 * before output, nothing; the client gone after sending, its input; broken off after output, its input and what
 * was delivered. Counting tokens costs nothing. Where the vendor's figures are missing they are estimated from bytes, and said to be.
 */
import type { Usage } from '../canonical/usage.ts';
import type { Model } from '../catalog.ts';
import type { Charge, Routed } from '../exchange.ts';
import { costLines, ratesIn, sumLines, worstCost, type Nano, type Price } from '../money.ts';
import type { ClientCall } from '../protocol.ts';
import { outputBound, pictureTokens, useBound } from './cost-bounds.ts';
import { feeCounts } from './fees.ts';
import type { Progress } from './reply-progress.ts';
import { askedMode, usualMode } from './service-modes.ts';
import { believe, withinReserved } from './trusted-usage.ts';

export type Outcome = 'completed' | 'aborted' | 'cut' | 'left-before-output' | 'failed';

/** Text of most languages has about four bytes a token. */
const bytesPerToken = 4;

const nothing: Charge = { cost: 0n, lines: [], usage: {}, basis: 'none', suspect: false };

export function chargeFor(outcome: Outcome, exchange: Routed, tally: Progress): Charge {
  if (
    exchange.operation === 'count' ||
    outcome === 'failed' ||
    (outcome === 'left-before-output' && !exchange.attempt.sent)
  )
    return nothing;
  const { usage, suspect } = believe(exchange, tally);
  const told = withMode(usage, exchange);
  if (suspect || isUnpriced(told, exchange)) return suspectCharge(outcome, exchange, tally, told);
  const charge = chargeOf(outcome, exchange, tally, told);
  if (!isServedUnasked(told, exchange) || charge.cost <= reservedFor(exchange)) return charge;
  return suspectCharge(outcome, exchange, tally, { ...told, mode: usualMode });
}

/** A charge that is never more than was reserved. */
function suspectCharge(outcome: Outcome, exchange: Routed, tally: Progress, told: Usage): Charge {
  return { ...chargeOf(outcome, exchange, tally, withinReserved(told, exchange)), suspect: true };
}

function chargeOf(outcome: Outcome, exchange: Routed, tally: Progress, told: Usage): Charge {
  const { model, price } = exchange.attempt.target;
  // A client that left may have been shown an unfinished picture, and pays for it. Where the vendor broke off nobody does.
  const images = Math.min(outcome === 'aborted' ? tally.imagesShown : tally.images, exchange.call.candidates);
  const counted = countImages(told, price, images);
  // A reply that was read on to its end after the client had left is known in full as well.
  const isKnown = outcome === 'completed' || (outcome === 'aborted' && tally.complete);
  if (isKnown && isWhole(counted, price)) return chargeForUsage(counted, price, 'usage');
  const usage = {
    ...counted,
    input: told.input ?? inputEstimate(exchange.call, model),
    ...estimateOutput(outcome, exchange, told, tally.deliveredBytes, images),
  };
  return chargeForUsage(usage, price, 'estimate');
}

function chargeForUsage(usage: Usage, price: Price, basis: Charge['basis']): Charge {
  const lines = costLines(usage, price);
  return { usage, lines, cost: sumLines(lines), basis, suspect: false };
}

/** Whether the vendor served the call, at rates that are known, in a way that it did not ask for. */
function isServedUnasked({ mode = usualMode }: Usage, { call }: Routed): boolean {
  return mode !== usualMode && mode !== askedMode(call);
}

/** The most that the call was expected to cost; at least this much is reserved for it. */
function reservedFor({ call, grant, attempt: { target } }: Routed): Nano {
  return worstCost(useBound(call, target, grant.outputLimit), target.price);
}

/** Where a call asked to be served otherwise than usual, and the vendor does not say how it was, it is charged as it asked. */
function withMode(usage: Usage, { call, protocol, attempt: { target } }: Routed): Usage {
  const mode = askedMode(call);
  return usage.mode === undefined && target.protocol === protocol && ratesIn(target.price, mode)
    ? { ...usage, mode }
    : usage;
}

/** What a model may take or give beyond what is known of it. */
const media = [
  ['inputAudio', 'input', 'audio'],
  ['outputAudio', 'output', 'audio'],
  ['outputImage', 'output', 'image'],
] as const;

/** Whether the vendor served it, unasked, in a way that may cost more than is known. */
function isUnpriced(
  told: Usage,
  {
    attempt: {
      target: { model, price },
    },
  }: Routed,
): boolean {
  if (model.free) return false;
  const { mode = usualMode } = told;
  const served = ratesIn(price, mode);
  if (mode !== usualMode && !served) return true;
  if (feeCounts.some(([name, counted]) => told[counted] && price[name] === undefined)) return true;
  // Rates of a way to be served are for all that it gives.
  return (
    !served &&
    media.some(([part, side, kind]) => told[part] && price[part] === undefined && !model[side].includes(kind))
  );
}

/** What a call that still runs would be charged if it broke off now. */
export function chargeSoFar(exchange: Routed): Charge {
  const { phase, error, tally } = exchange.attempt;
  if (phase === 'end' && error) return nothing;
  return chargeFor(phase === 'start' ? 'left-before-output' : 'cut', exchange, tally);
}

/** The vendor's figures, with the pictures where they are priced apiece, and as pictures where an image model's tokens are not told apart. */
function countImages(told: Usage, price: Price, images: number): Usage {
  if (images === 0) return told;
  if (price.image !== undefined) return { ...told, images };
  if (price.outputImage === undefined || told.outputImage !== undefined || told.output === undefined)
    return told;
  return { ...told, outputImage: told.output - (told.reasoning ?? 0) };
}

/** Whether nothing has to be estimated: where pictures are priced apiece and tokens cost nothing, they are all there is to count. */
function isWhole({ input, output, images }: Usage, price: Price): boolean {
  return (
    (input !== undefined && output !== undefined) ||
    (images !== undefined && price.input === 0n && price.output === 0n)
  );
}

/** The tokens of a call's input, where nobody has counted them. */
export function inputEstimate(
  { size: { textBytes, images, mediaBytes } }: ClientCall,
  { capabilities }: Model,
): number {
  return Math.ceil((textBytes + mediaBytes) / bytesPerToken) + images * capabilities.imageTokens;
}

/** Never above what was reserved for: the limit of each candidate. */
function estimateOutput(
  outcome: Outcome,
  { call, grant, attempt }: Routed,
  usage: Usage,
  deliveredBytes: number,
  images: number,
): Usage {
  if (outcome === 'left-before-output') return { output: 0 };
  const { model } = attempt.target;
  const painted = images > 0 ? images * pictureTokens(call, model) : 0;
  const delivered = Math.ceil(deliveredBytes / bytesPerToken) + painted;
  const output = Math.min(
    Math.max(usage.output ?? 0, delivered),
    outputBound(call, model, grant.outputLimit) * call.candidates,
  );
  return painted > 0 ? { output, outputImage: Math.min(usage.outputImage ?? painted, output) } : { output };
}
