/**
 * The policy of what a call costs, by how it ended. Completed: the usage that the provider reports. Never
 * sent, or failed before output: nothing. Client disconnected after sending: the input. Broken off after
 * output: the input and what was delivered. Stopped by a plugin: as its error says. Token counts are free.
 * Missing figures are estimated from bytes, and marked as estimates.
 */
import type { Usage } from '../canonical/usage.ts';
import type { Charge, Routed, Progress } from '../exchange.ts';
import { standard, feeCounts, getFee, usualMode } from '../price-terms.ts';
import type { Price } from '../price.ts';
import type { Offer } from '../provider.ts';
import type { Nano } from '../util/money.ts';
import { boundBilled, boundUse, bytesPerToken, countPictureTokens, estimateInput } from './cost-bounds.ts';
import { computeCostLines, nameRule, getModeRates, sumLines } from './cost.ts';
import { getAskedMode } from './service-modes.ts';
import { checkUsage, capToReservation } from './trusted-usage.ts';
import { computeWorstCost } from './worst-cost.ts';

export type Outcome = 'completed' | 'aborted' | 'cut' | 'left-before-output' | 'failed';

const noCharge: Charge = { cost: 0n, lines: [], usage: {}, rule: '', basis: 'none', suspect: false };

export function computeCharge(outcome: Outcome, exchange: Routed, tally: Progress): Charge {
  if (exchange.operation === 'count') return noCharge;
  if (tally.stopped && (outcome === 'failed' || outcome === 'cut'))
    return chargeStopped(outcome, exchange, tally);
  const wasUnsent = outcome === 'left-before-output' && !exchange.attempt.sent;
  return outcome === 'failed' || wasUnsent ? noCharge : chargeServed(outcome, exchange, tally);
}

/**
 * The charge of a reply that a plugin stopped. The provider bills what it has produced. The caller pays that
 * if the plugin's error says so, or does not say and some of it was delivered.
 */
function chargeStopped(outcome: 'failed' | 'cut', exchange: Routed, tally: Progress): Charge {
  const billed = chargeServed('aborted', exchange, tally);
  const { charge = outcome === 'cut' } = exchange.attempt.error?.details ?? {};
  return charge ? billed : { ...billed, cost: 0n, lines: [], basis: 'none', vendorCost: billed.cost };
}

/** The charge at the price of the model that answered, but never more than at the price that was reserved. */
function chargeServed(outcome: Outcome, exchange: Routed, tally: Progress): Charge {
  const charge = chargeReply(outcome, exchange, tally);
  const served = findServed(exchange, tally);
  if (!served) return charge;
  const { price, schedule, model } = served;
  const { attempt } = exchange;
  const own = chargeReply(
    outcome,
    {
      ...exchange,
      getRequest: () => exchange.getRequest(),
      attempt: { ...attempt, signal: attempt.signal, target: { ...attempt.target, price, schedule } },
    },
    tally,
  );
  if (own.cost === charge.cost) return charge;
  // A dearer model was not reserved, and the caller did not ask for it.
  if (own.cost > charge.cost) return { ...charge, suspect: true };
  return { ...own, price, rule: `${own.rule} as-${model.upstream}` };
}

/**
 * The offer of the model that answered, if it is another one than was asked for. Google answers retired names
 * with their successors, at the successors' prices.
 */
function findServed({ attempt: { target } }: Routed, { model }: Progress): Offer | undefined {
  if (model === undefined || model === target.model.upstream || target.model.free) return undefined;
  const served = target.findServed?.(model);
  return served?.model.free ? undefined : served;
}

/** The charge at the price of the exchange's target. */
function chargeReply(outcome: Outcome, exchange: Routed, tally: Progress): Charge {
  const { usage, suspect, hasAddedInput } = checkUsage(exchange, tally, isKnown(outcome, tally));
  const reported = addRule(addMode(usage, exchange), exchange);
  if (suspect || isUnpriced(reported, exchange)) {
    const capped = capCharge(outcome, exchange, tally, reported);
    return hasAddedInput ? addInput(capped, reported, exchange) : capped;
  }
  const charge = chargeFigures(outcome, exchange, tally, reported);
  if (!isServedUnasked(reported, exchange) || charge.cost <= computeReservation(exchange, reported))
    return charge;
  return capCharge(outcome, exchange, tally, { ...reported, mode: usualMode });
}

/** A charge that never exceeds the reservation. */
function capCharge(outcome: Outcome, exchange: Routed, tally: Progress, reported: Usage): Charge {
  return { ...chargeFigures(outcome, exchange, tally, capToReservation(reported, exchange)), suspect: true };
}

/** Adds the reported input to a capped charge, as far as the reservation pays for it. */
function addInput(capped: Charge, { input = 0 }: Usage, exchange: Routed): Charge {
  const { price } = exchange.attempt.target;
  const most = computeReservation(exchange, capped.usage);
  const charge = (tokens: number): Charge => ({
    ...chargeForUsage({ ...capped.usage, input: tokens }, price, capped.basis),
    suspect: true,
  });
  let [least, highest] = [capped.usage.input ?? 0, input];
  while (least < highest) {
    const middle = Math.ceil((least + highest) / 2);
    if (charge(middle).cost <= most) least = middle;
    else highest = middle - 1;
  }
  return charge(least);
}

function chargeFigures(outcome: Outcome, exchange: Routed, tally: Progress, reported: Usage): Charge {
  const { model, price } = exchange.attempt.target;
  // A client that disconnected may have received an unfinished picture, and pays for it. If the provider
  // broke off, nothing is charged for it.
  const images = Math.min(outcome === 'aborted' ? tally.imagesShown : tally.images, exchange.call.candidates);
  const counted = countImages(reported, price, images);
  if (isKnown(outcome, tally) && isComplete(counted, price)) return chargeForUsage(counted, price, 'usage');
  const usage = {
    ...counted,
    input: reported.input ?? estimateInput(exchange.call, model),
    ...estimateOutput(outcome, exchange, reported, { bytes: tally.deliveredBytes, images }),
  };
  return chargeForUsage(usage, price, 'estimate');
}

/** Whether the provider has reported all figures. A reply that was drained to its end has them as well. */
function isKnown(outcome: Outcome, { complete }: Progress): boolean {
  return outcome === 'completed' || (outcome === 'aborted' && complete);
}

function chargeForUsage(usage: Usage, price: Price, basis: Charge['basis']): Charge {
  const lines = computeCostLines(usage, price);
  return { usage, lines, cost: sumLines(lines), rule: nameRule(usage, price), basis, suspect: false };
}

/** True if the provider served the call in a priced mode that it did not ask for. */
function isServedUnasked({ mode = usualMode }: Usage, { call }: Routed): boolean {
  return mode !== usualMode && mode !== getAskedMode(call);
}

/** The highest expected cost of the call at its rule; at least this much is reserved. */
function computeReservation({ call, grant, attempt: { target } }: Routed, { rule }: Usage): Nano {
  return computeWorstCost({ ...boundUse(call, target, grant.outputLimit), rules: [rule] }, target.price);
}

/** If the provider does not report the mode, the call is charged for the mode it asked for. */
function addMode(usage: Usage, { call, protocol, attempt: { target } }: Routed): Usage {
  const mode = getAskedMode(call);
  return usage.mode === undefined && target.protocol === protocol && getModeRates(target.price, mode)
    ? { ...usage, mode }
    : usage;
}

/** Adds the price rule that applies at the moment by which the vendor bills. */
function addRule(usage: Usage, { attempt: { target, startedAt } }: Routed): Usage {
  const { price, schedule } = target;
  if (!schedule) return usage;
  const past = price.billedAt === 'start' ? performance.now() - startedAt : 0;
  return { ...usage, rule: schedule.findRule(Date.now() - past) ?? price.name ?? standard };
}

/** Media that a model may read or produce beyond what the catalogue states. */
const media = [
  ['inputAudio', 'input', 'audio'],
  ['outputAudio', 'output', 'audio'],
  ['outputImage', 'output', 'image'],
] as const;

/**
 * True if the call may cost more than the known price: an unknown mode, an unpriced fee or unpriced media.
 */
function isUnpriced(
  reported: Usage,
  {
    attempt: {
      target: { model, price },
    },
  }: Routed,
): boolean {
  if (model.free) return false;
  const { mode = usualMode } = reported;
  const served = mode === usualMode ? undefined : getModeRates(price, mode);
  if (mode !== usualMode && !served) return true;
  if (feeCounts.some(([name, counted]) => reported[counted] && getFee(price, name) === undefined))
    return true;
  // The rates of a mode cover all media.
  return (
    !served &&
    media.some(
      ([part, side, kind]) => reported[part] && price[part] === undefined && !model[side].includes(kind),
    )
  );
}

/** The charge of a running call if it broke off now. */
export function computeChargeSoFar(exchange: Routed): Charge {
  const { phase, error, tally } = exchange.attempt;
  if (phase === 'end' && error) return noCharge;
  return computeCharge(phase === 'start' ? 'left-before-output' : 'cut', exchange, tally);
}

/**
 * Adds pictures to the figures if they are priced apiece. For an image model that does not report image
 * tokens, its output counts as such.
 */
function countImages(reported: Usage, price: Price, images: number): Usage {
  if (images === 0) return reported;
  if (price.image !== undefined) return { ...reported, images };
  if (price.outputImage === undefined || reported.outputImage !== undefined || reported.output === undefined)
    return reported;
  return { ...reported, outputImage: reported.output - (reported.reasoning ?? 0) };
}

/** True if no figure is missing. If pictures are priced apiece and tokens are free, only pictures count. */
function isComplete({ input, output, images }: Usage, price: Price): boolean {
  return (
    (input !== undefined && output !== undefined) ||
    (images !== undefined && price.input === 0n && price.output === 0n)
  );
}

/** Estimates the output. It never exceeds the reservation: the limit of each candidate. */
function estimateOutput(
  outcome: Outcome,
  { call, grant, attempt }: Routed,
  usage: Usage,
  { bytes, images }: { readonly bytes: number; readonly images: number },
): Usage {
  if (outcome === 'left-before-output') return { output: 0 };
  const { model } = attempt.target;
  const painted = images > 0 ? images * countPictureTokens(call, model) : 0;
  const delivered = Math.ceil(bytes / bytesPerToken) + painted;
  const output = Math.min(
    Math.max(usage.output ?? 0, delivered),
    boundBilled(call, model, grant.outputLimit) * call.candidates,
  );
  return painted > 0 ? { output, outputImage: Math.min(usage.outputImage ?? painted, output) } : { output };
}
