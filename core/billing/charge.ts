/**
 * The policy of what a call costs, by how it ended. Completed: the usage that the provider reports. Never
 * sent, or failed before output: nothing. Client gone after sending, before output: the input. Client gone or
 * provider cut off after output: the input and the output that was read. Drained to its end: the reported
 * usage. Stopped by a plugin: as its error says. Token counts are free. Missing figures are estimated from
 * bytes, and marked as estimates.
 */
import { facts, findCount, replaceUses, type Use, type Used } from '../canonical/units.ts';
import type { Charge, Routed, Progress } from '../exchange.ts';
import type { Model } from '../model-facts.ts';
import { findRate, getRate, standard, usualMode, type Price } from '../price-terms.ts';
import type { ClientCall } from '../protocol.ts';
import type { Offer } from '../provider.ts';
import type { Nano } from '../util/money.ts';
import {
  boundBilled,
  boundUse,
  bytesPerToken,
  computeWorstCost,
  countPictureTokens,
  estimateInput,
} from './cost-bounds.ts';
import { computeCost, computeCostLines, getAskedMode, getModeRates, nameRule, sumLines } from './cost.ts';
import { checkUsage, capToReservation } from './trusted-usage.ts';

export type Outcome = 'completed' | 'aborted' | 'cut' | 'left-before-output' | 'failed';

const noCharge: Charge = { cost: 0n, lines: [], uses: [], rule: '', basis: 'none', suspect: false };

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

function chargeReply(outcome: Outcome, exchange: Routed, tally: Progress): Charge {
  const { price } = exchange.attempt.target;
  const { used, basis, suspect } = findFigures(outcome, exchange, tally);
  const { uses, mode } = used;
  const lines = computeCostLines(used, price);
  return { uses, mode, lines, cost: sumLines(lines), rule: nameRule(used, price), basis, suspect };
}

/** What a reply is charged for, before it is priced. */
interface Figures {
  readonly used: Used;
  readonly basis: Charge['basis'];
  readonly suspect: boolean;
}

function findFigures(outcome: Outcome, exchange: Routed, tally: Progress): Figures {
  const { uses, suspect, hasAddedInput } = checkUsage(exchange, tally, isKnown(outcome, tally));
  const mode = tally.usage.mode ?? findUnreportedMode(exchange);
  const reported: Used = { uses, mode, rule: findRule(exchange) };
  if (suspect || isUnpriced(reported, exchange)) {
    const capped = capFigures(outcome, exchange, tally, reported);
    return hasAddedInput ? addInput(capped, reported, exchange) : capped;
  }
  const figures = completeFigures(outcome, exchange, tally, reported);
  if (!isServedUnasked(reported, exchange)) return figures;
  const cost = computeCost(figures.used, exchange.attempt.target.price);
  return cost <= computeReservation(exchange, reported)
    ? figures
    : capFigures(outcome, exchange, tally, { ...reported, mode: usualMode });
}

/** Figures whose charge never exceeds the reservation. */
function capFigures(outcome: Outcome, exchange: Routed, tally: Progress, reported: Used): Figures {
  const uses = capToReservation(reported.uses, exchange);
  return { ...completeFigures(outcome, exchange, tally, { ...reported, uses }), suspect: true };
}

/** Adds the reported input to capped figures, as far as the reservation pays for it. */
function addInput({ used, basis }: Figures, { uses, rule }: Used, exchange: Routed): Figures {
  const { price } = exchange.attempt.target;
  const most = computeReservation(exchange, { uses, rule });
  const withInput = (count: number): Used => ({
    ...used,
    uses: replaceUses(used.uses, [{ unit: 'input', count }]),
  });
  let [least, highest] = [findCount(used.uses, 'input') ?? 0, findCount(uses, 'input') ?? 0];
  while (least < highest) {
    const middle = Math.ceil((least + highest) / 2);
    if (computeCost(withInput(middle), price) <= most) least = middle;
    else highest = middle - 1;
  }
  return { used: withInput(least), basis, suspect: true };
}

/** The reported figures, with estimates in place of those that are missing. */
function completeFigures(outcome: Outcome, exchange: Routed, tally: Progress, reported: Used): Figures {
  const { model, price } = exchange.attempt.target;
  // A client that disconnected may have received an unfinished picture, and pays for it. If the provider
  // broke off, nothing is charged for it.
  const images = Math.min(outcome === 'aborted' ? tally.imagesShown : tally.images, exchange.call.candidates);
  const uses = countImages(reported.uses, price, images);
  const likely = listLikelyUses(exchange.call, uses, price);
  if (isKnown(outcome, tally) && isComplete(uses, price) && likely.length === 0)
    return { used: { ...reported, uses }, basis: 'usage', suspect: false };
  const input = findCount(uses, 'input') ?? estimateInput(exchange.call, model);
  const output = estimateOutput(outcome, exchange, reported, { bytes: tally.deliveredBytes, images });
  const estimated = replaceUses(uses, [{ unit: 'input', count: input }, ...output, ...likely]);
  return { used: { ...reported, uses: estimated }, basis: 'estimate', suspect: false };
}

/** What has a price and is likely used, as the call states, but is not reported. */
function listLikelyUses({ fees = [] }: ClientCall, uses: readonly Use[], price: Price): Use[] {
  return fees.flatMap(({ name: unit, expected: count }) =>
    count === undefined || findCount(uses, unit) !== undefined || !findRate([price], { unit })
      ? []
      : [{ unit, count }],
  );
}

/** Whether the provider has reported all figures. A reply that was drained to its end has them as well. */
function isKnown(outcome: Outcome, { complete }: Progress): boolean {
  return outcome === 'completed' || (outcome === 'aborted' && complete);
}

/** True if the provider served the call in a priced mode that it did not ask for. */
function isServedUnasked({ mode = usualMode }: Used, { call }: Routed): boolean {
  return mode !== usualMode && mode !== getAskedMode(call);
}

/** The highest expected cost of the call at its rule; at least this much is reserved. */
function computeReservation({ call, grant, attempt: { target } }: Routed, { rule }: Used): Nano {
  return computeWorstCost({ ...boundUse(call, target, grant.outputLimit), rules: [rule] }, target.price);
}

/** If the provider does not report the mode, the call is charged for the mode it asked for. */
function findUnreportedMode({ call, protocol, attempt: { target } }: Routed): string | undefined {
  const mode = getAskedMode(call);
  return target.protocol === protocol && getModeRates(target.price, mode) ? mode : undefined;
}

/** The price rule that applies at the moment by which the vendor bills. */
function findRule({ attempt: { target, startedAt } }: Routed): string | undefined {
  const { price, schedule } = target;
  if (!schedule) return undefined;
  const past = price.billedAt === 'start' ? performance.now() - startedAt : 0;
  return schedule.findRule(Date.now() - past) ?? price.name ?? standard;
}

/** Whether it may cost more than the known price: an unknown mode, or use or media without a rate. */
function isUnpriced({ mode = usualMode, uses }: Used, { attempt: { target } }: Routed): boolean {
  const { model, price } = target;
  if (model.free) return false;
  const served = mode === usualMode ? undefined : getModeRates(price, mode);
  if (mode !== usualMode && !served) return true;
  const tables = served ? [served, price] : [price];
  if (uses.some((use) => use.count > 0 && !use.modality && !facts[use.unit].within && !findRate(tables, use)))
    return true;
  // The rates of a mode cover all media.
  return !served && uses.some((use) => use.count > 0 && isUnknownMedia(use, price, model));
}

/**
 * Whether a model reads or produces what the catalogue does not state, at an unknown rate. Pages of documents
 * may count as pictures.
 */
function isUnknownMedia({ unit, modality }: Use, price: Price, model: Model): boolean {
  if (modality === undefined || modality === 'text' || (unit !== 'input' && unit !== 'output')) return false;
  if (unit === 'input' && modality === 'image') return false;
  return getRate(price, unit, modality) === undefined && !model[unit].includes(modality);
}

/**
 * The figures by which a complete reply is charged. Only a reply of another model has to be priced for them.
 */
export function findChargedFigures(
  exchange: Routed,
  tally: Progress,
): Pick<Charge, 'uses' | 'basis' | 'suspect'> {
  if (findServed(exchange, tally)) return computeCharge('completed', exchange, tally);
  const { used, basis, suspect } = findFigures('completed', exchange, tally);
  return { uses: used.uses, basis, suspect };
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
function countImages(uses: readonly Use[], price: Price, images: number): readonly Use[] {
  if (images === 0) return uses;
  if (getRate(price, 'image') !== undefined) return replaceUses(uses, [{ unit: 'image', count: images }]);
  const output = findCount(uses, 'output');
  if (
    getRate(price, 'output', 'image') === undefined ||
    findCount(uses, 'output', 'image') !== undefined ||
    output === undefined
  )
    return uses;
  const count = output - (findCount(uses, 'reasoning') ?? 0);
  return [...uses, { unit: 'output', modality: 'image', count }];
}

/** True if no figure is missing. If pictures are priced apiece and tokens are free, only pictures count. */
function isComplete(uses: readonly Use[], price: Price): boolean {
  const isFree = getRate(price, 'input') === '0' && getRate(price, 'output') === '0';
  return (
    (findCount(uses, 'input') !== undefined && findCount(uses, 'output') !== undefined) ||
    (findCount(uses, 'image') !== undefined && isFree)
  );
}

/** Estimates the output. It never exceeds the reservation: the limit of each candidate. */
function estimateOutput(
  outcome: Outcome,
  { call, grant, attempt }: Routed,
  { uses }: Used,
  { bytes, images }: { readonly bytes: number; readonly images: number },
): Use[] {
  if (outcome === 'left-before-output') return [{ unit: 'output', count: 0 }];
  const { model } = attempt.target;
  const painted = images > 0 ? images * countPictureTokens(call, model) : 0;
  const delivered = Math.ceil(bytes / bytesPerToken) + painted;
  const output = Math.min(
    Math.max(findCount(uses, 'output') ?? 0, delivered),
    boundBilled(call, model, grant.outputLimit) * call.candidates,
  );
  if (painted === 0) return [{ unit: 'output', count: output }];
  const ofPictures = Math.min(findCount(uses, 'output', 'image') ?? painted, output);
  return [
    { unit: 'output', count: output },
    { unit: 'output', modality: 'image', count: ofPictures },
  ];
}
