/**
 * The record of an ended call, as `GET /v1/calls/{id}` returns it and as the ledger stores it: every attempt
 * and everything that was lost, how its targets were chosen, and how long each step took. Prompts and replies
 * are no part of it.
 */
import {
  formatUsd,
  type Attempt,
  type End,
  type Loss,
  type Routed,
  type RouteStep,
  type Target,
} from '../../../core/index.ts';

/** Losses shown of one attempt or reply. A hostile request could have thousands. */
const mostLosses = 200;
/** Characters kept of names that the caller chose. */
export const longestName = 200;
/** Steps of the routing, and targets in each, that a record has. */
const mostSteps = 20;

function lossesOf(losses: readonly Loss[], most: number): object {
  const shown = losses
    .slice(0, most)
    .map(({ path, reason, code }) => ({ path: path.slice(0, longestName), reason, code }));
  return losses.length > most ? { losses: shown, losses_omitted: losses.length - most } : { losses: shown };
}

function milliseconds(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

function namesOf({ provider: { name, credential }, model }: Target): object {
  return { provider: name, ...(credential === undefined ? {} : { key: credential }), model: model.id };
}

function attemptOf(attempt: Attempt, { exchange }: End, cost: bigint, most: number): object {
  const { target, number, status, sent, startedAt, firstEventAfter, duration, error, losses } = attempt;
  return {
    number,
    ...namesOf(target),
    outcome: error?.code ?? 'completed',
    ...(error ? { message: error.message } : {}),
    sent,
    status: status ?? null,
    start_ms: milliseconds(startedAt - exchange.startedAt),
    first_event_ms: milliseconds(firstEventAfter),
    duration_ms: milliseconds(duration),
    cost: formatUsd(cost),
    ...lossesOf(losses, most),
  };
}

/** Targets that the call was not allowed to go to, since it could have cost more there than was reserved. */
function notGranted({ targets, grant }: Routed): object {
  const left = targets
    .filter((target) => !grant.targets.includes(target))
    .map(({ provider, model }) => ({ provider: provider.name, model: model.id }));
  return left.length > 0 ? { not_granted: left } : {};
}

function stepOf({ by, because, given, left }: RouteStep): object {
  const removed = given.filter((target) => !left.includes(target));
  return {
    by,
    reason: removed.length > 0 ? (because ?? null) : null,
    removed: removed.slice(0, mostSteps).map(namesOf),
    order: left.slice(0, mostSteps).map(namesOf),
  };
}

/** Milliseconds of each step. A step that was not reached is left out. */
function timingOf({ exchange: { trace }, duration }: End): object {
  const { authenticated, read, replayed, routed, authorized, settled } = trace;
  // The end of a call is known when it begins to be settled.
  const settling = settled === 0 ? 0 : Math.min(settled, Math.round(duration * 1000));
  return {
    authenticate: stepTime(0, authenticated),
    read: stepTime(authenticated, read),
    replay: stepTime(read, replayed),
    route: stepTime(replayed, routed),
    authorize: stepTime(routed, authorized),
    settle_start: stepTime(0, settling),
    settle: stepTime(settling, settled),
  };
}

function stepTime(from: number, to: number): number | undefined {
  return to === 0 ? undefined : (to - from) / 1000;
}

function recordOf(end: End, most: number): object {
  const { exchange, attempts, type } = end;
  const isAnswer = type === 'answered' || type === 'failed';
  const charge = isAnswer ? end.charge : undefined;
  const answering = isAnswer ? end.exchange.attempt : undefined;
  const { steps } = exchange.trace;
  return {
    id: exchange.id,
    object: 'call',
    created: Math.floor(exchange.receivedAt / 1000),
    protocol: exchange.family,
    operation: exchange.operation,
    stream: exchange.call?.stream ?? false,
    model: exchange.call?.model.slice(0, longestName) ?? null,
    outcome: type === 'answered' ? end.outcome : type,
    error: type === 'replayed' || !end.error ? null : { code: end.error.code, message: end.error.message },
    provider: type === 'answered' ? (answering?.target.provider.name ?? null) : null,
    answered_by: type === 'answered' ? (answering?.target.model.id ?? null) : null,
    duration_ms: Math.round(end.duration),
    cost: formatUsd(charge?.cost ?? 0n),
    cost_basis: charge?.basis ?? 'none',
    rule: charge?.rule || null,
    usage: charge?.usage ?? {},
    ...lossesOf(end.losses, most),
    ...(isAnswer ? notGranted(end.exchange) : {}),
    ...(steps ? { routing: steps.slice(0, mostSteps).map(stepOf) } : {}),
    timing: timingOf(end),
    attempts: attempts.map((attempt) =>
      attemptOf(attempt, end, attempt === answering ? (charge?.cost ?? 0n) : 0n, most),
    ),
  };
}

/** Key of the text on an end. A symbol, because values of a WeakMap outlive minor garbage collections. */
const written = Symbol('record');

/** The record as JSON text. It is written once, however many plugins ask for it. */
export function recordText(end: End & { [written]?: string }): string {
  return (end[written] ??= JSON.stringify(recordOf(end, mostLosses)));
}

/** The same with few losses, for calls whose record is too long to keep for days. */
export function shortRecordText(end: End): string {
  return JSON.stringify(recordOf(end, 10));
}
