/**
 * The record of an ended call: all facts about it, collected once and written once as JSON. It is the line of
 * the call log and what the ledger stores, and `shown.ts` derives from it what callers and operators see.
 * Prompts, replies and keys are no part of it.
 */
import {
  isGatewayError,
  nameCounts,
  type Attempt,
  type End,
  type Loss,
  type Routed,
  type RouteStep,
  type Target,
} from '../../../core/index.ts';
import { getAttribution } from '../attribution.ts';
import { computeVendorCost } from '../vendor-price.ts';

/** Losses of one attempt or reply in a record. A hostile request could have thousands. */
const mostLosses = 200;
/** Characters of a record that is logged or stored. A longer one has few losses there. */
const longestKept = 16_384;
const fewLosses = 10;
/** Characters kept of names that the caller chose. */
const longestName = 200;
/** Characters kept of what the client calls itself: `claude-cli/2.1.0 (external, cli)`. */
const longestClient = 100;
/** Steps of the routing, and targets in each, that a record has. */
const mostSteps = 20;
/** A client that disconnected got no status; this is what the metrics call it. */
const goneStatus = 499;
/** pino's levels. */
const [debug, info] = [20, 30];

function getStatus(end: End): number {
  if (end.type === 'replayed') return end.replay.status;
  if (end.type === 'answered' && end.outcome === 'aborted') return goneStatus;
  return end.error?.status ?? 200;
}

/** Undefined without losses, which JSON leaves out. */
function limitLosses(losses: readonly Loss[], most: number): Loss[] | undefined {
  if (losses.length === 0) return undefined;
  return losses
    .slice(0, most)
    .map(({ path, reason, code }) => ({ path: path.slice(0, longestName), reason, code }));
}

function countOmitted(losses: readonly Loss[], most: number): number | undefined {
  return losses.length > most ? losses.length - most : undefined;
}

function roundMilliseconds(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

/** `key`: which of the provider's keys, if it has several. */
function describeTarget({ provider: { name, credential }, model }: Target) {
  return { provider: name, key: credential, model: model.id };
}

/**
 * The code of the system's error that made an attempt fail, such as `CERT_HAS_EXPIRED`. Its message may name
 * hosts, which callers do not know.
 */
function readCause(cause: unknown): string | undefined {
  if (isGatewayError(cause) || !(cause instanceof Error) || !('code' in cause)) return undefined;
  return typeof cause.code === 'string' ? cause.code : undefined;
}

function describeAttempt(attempt: Attempt, startedAt: number, most: number) {
  const { target, error, losses } = attempt;
  return {
    number: attempt.number,
    provider: target.provider.name,
    key: target.provider.credential,
    model: target.model.id,
    outcome: error?.code ?? 'completed',
    message: error?.message,
    cause: readCause(error?.details.cause),
    sent: attempt.sent,
    status: attempt.status ?? null,
    start_ms: roundMilliseconds(attempt.startedAt - startedAt),
    first_event_ms: roundMilliseconds(attempt.firstEventAfter),
    duration_ms: roundMilliseconds(attempt.duration),
    losses: limitLosses(losses, most),
    losses_omitted: countOmitted(losses, most),
  };
}

/** Targets that the call was not allowed to go to, since it could have cost too much there. */
function listNotGranted({ targets, grant }: Routed) {
  if (targets.every((target) => grant.targets.includes(target))) return undefined;
  return targets
    .filter((target) => !grant.targets.includes(target))
    .map(({ provider, model }) => ({ provider: provider.name, model: model.id }));
}

function describeStep({ by, because, given, left }: RouteStep) {
  const removed = given.filter((target) => !left.includes(target));
  return {
    by,
    reason: removed.length > 0 ? (because ?? null) : null,
    removed: removed.slice(0, mostSteps).map(describeTarget),
    order: left.slice(0, mostSteps).map(describeTarget),
  };
}

/** When each step ended, in microseconds since the headers; 0: not reached. */
function collectTiming({ exchange: { trace }, duration }: End) {
  const { authenticated, read, replayed, routed, authorized, settled } = trace;
  return {
    authenticated,
    read,
    replayed,
    routed,
    authorized,
    ended: Math.round(duration * 1000),
    settled,
  };
}

/** Milliseconds until the first event of a stream. */
function computeFirstEvent(end: End): number | null {
  if (end.type !== 'answered' || !end.exchange.call.stream) return null;
  const { attempt, startedAt } = end.exchange;
  if (attempt.firstEventAfter === undefined) return null;
  return Math.round(attempt.startedAt - startedAt + attempt.firstEventAfter);
}

/**
 * One flat literal, since every call makes it. The columns of stored calls are members of the same names;
 * among them empty texts mean: no valid key, no model found, no provider called. Amounts are in nano-dollars.
 */
function buildRecord(end: End, most: number) {
  const { exchange, attempts, losses, type } = end;
  const isAnswer = type === 'answered' || type === 'failed';
  const charge = isAnswer ? end.charge : undefined;
  const attempt = isAnswer ? end.exchange.attempt : undefined;
  const target = attempt?.target ?? (type === 'refused' ? end.exchange.targets?.[0] : undefined);
  const error = type === 'replayed' ? undefined : end.error;
  const usage = charge && nameCounts(charge.uses);
  const { input = 0, output = 0, cacheRead = 0, reasoning = 0 } = usage ?? {};
  const cost = charge?.cost ?? 0n;
  const bill =
    charge && attempt ? computeVendorCost(charge, charge.price ?? attempt.target.price) : undefined;
  const duration = Math.round(end.duration);
  const ended = exchange.receivedAt + duration;
  return {
    level: chooseLevel(end) === 'debug' ? debug : info,
    time: ended,
    call: exchange.id,
    started: exchange.receivedAt,
    ended,
    address: exchange.address,
    client: exchange.headers['user-agent']?.slice(0, longestClient),
    account: exchange.principal?.account ?? '',
    key: exchange.principal?.key ?? '',
    asked: exchange.call?.model.slice(0, longestName) ?? null,
    model: target?.model.id ?? '',
    provider: attempt?.target.provider.name ?? '',
    protocol: exchange.family,
    operation: exchange.operation,
    stream: exchange.call?.stream ? 1 : 0,
    transport: exchange.transport,
    outcome: type === 'answered' ? end.outcome : type,
    code: error?.code ?? null,
    message: error?.message,
    status: getStatus(end),
    first_event: computeFirstEvent(end),
    duration,
    attempts: attempts.length,
    input,
    output,
    cached: cacheRead,
    reasoning,
    cost: String(cost),
    // What is charged above the vendor's bill.
    margin: String(bill === undefined ? 0n : cost - bill),
    basis: charge?.basis ?? 'none',
    rule: charge?.rule || undefined,
    flags: charge?.suspect ? 'suspect' : '',
    tags: getAttribution(exchange).byName,
    usage,
    losses: limitLosses(losses, most),
    losses_omitted: countOmitted(losses, most),
    not_granted: isAnswer ? listNotGranted(end.exchange) : undefined,
    routing: exchange.trace.steps?.slice(0, mostSteps).map(describeStep),
    timing: collectTiming(end),
    tries: attempts.map((each) => describeAttempt(each, exchange.startedAt, most)),
    msg: 'call',
  };
}

export type CallRecord = ReturnType<typeof buildRecord>;

/** Calls without a valid key are logged at the level `debug`, since anybody can make thousands of them. */
export function chooseLevel({ type, exchange }: End): 'debug' | 'info' {
  return type === 'refused' && !exchange.principal ? 'debug' : 'info';
}

/** Key of the text on an end. A symbol, because values of a WeakMap outlive minor garbage collections. */
const written = Symbol('record');

/** JSON's escapes of U+0000 and of halves of a pair, after any number of escaped backslashes. */
const unstorable = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][\da-f]{2})/g;

/**
 * PostgreSQL stores neither U+0000, which a client may send, nor half of a pair, with which a cut text may
 * end. One such record would cost all records that are stored with it.
 */
function toStorable(json: string): string {
  return json.includes('\\u') ? json.replaceAll(unstorable, '$1\\ufffd') : json;
}

/** The record as JSON text. It is written once, however many plugins ask for it. */
export function buildRecordText(end: End & { [written]?: string }): string {
  return (end[written] ??= toStorable(JSON.stringify(buildRecord(end, mostLosses))));
}

/** The record as it is stored for days. */
export function buildKeptText(end: End): string {
  const text = buildRecordText(end);
  return text.length > longestKept ? toStorable(JSON.stringify(buildRecord(end, fewLosses))) : text;
}

function hasError(end: End): boolean {
  return (end.type !== 'replayed' && end.error !== undefined) || end.attempts.some(({ error }) => error);
}

/** The record as it is logged: without the messages of errors, since a provider's may quote the prompt. */
export function buildLoggedText(end: End): string {
  const text = buildKeptText(end);
  if (!hasError(end)) return text;
  const record: CallRecord = JSON.parse(text);
  const tries = record.tries.map((each) => ({ ...each, message: undefined }));
  return JSON.stringify({ ...record, message: undefined, tries });
}
