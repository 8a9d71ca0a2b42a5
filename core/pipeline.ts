/**
 * The walk: one call from its head to its end, hook by hook. Read from `walk` downwards, this file is the
 * definition of the gateway; what each step does in detail is elsewhere.
 */
import { startAttempt, type RunningAttempt } from './attempt.ts';
import { chargeFor } from './billing/charge.ts';
import type { Tally } from './billing/reply-progress.ts';
import { atKnownRates } from './billing/service-modes.ts';
import { GatewayError, toGatewayError } from './errors.ts';
import {
  advance,
  type Answered,
  type Attempt,
  type Authenticated,
  type End,
  type Failed,
  type Grant,
  type Parsed,
  type Planned,
  type Received,
  type Refused,
  type Target,
} from './exchange.ts';
import type { Core } from './gateway.ts';
import { admitted, checkReplay, permitted } from './http/access.ts';
import type { ReadBody } from './http/json-body.ts';
import { answerHead, sendError, streamHead } from './http/reply-headers.ts';
import type { Reply } from './http/reply.ts';
import { headersNaming } from './http/request-id.ts';
import type { Piece } from './lanes.ts';
import type { Match, Protocol } from './protocol.ts';
import { firstAttempt, type Next, type NoneLeft } from './retries/next-attempt.ts';
import { failureOf, finalError, howFailed } from './upstream/failures.ts';
import { beginReply, type Begun } from './upstream/first-event.ts';
import { fitWires } from './upstream/targets.ts';
import { heeding, within } from './util/timeouts.ts';

/** The client of one call: its body, not read yet, and where its reply goes. */
export interface Client {
  readonly protocol: Protocol;
  readonly match: Match;
  readonly reply: Reply;
  /** Reads the whole body as text and as a value; throws `body_too_large` as soon as it is. */
  body(): Promise<ReadBody>;
}

/** Longest a finished reply is held for the ledger; the entry is then retried behind the client's back. */
const longestHold = 5000;
/** Longest a vendor may take to close a reply that is complete, so that its connection can be used again. */
const longestTail = 1000;

/** Takes a call from its head to its end. Never rejects: whatever goes wrong is the end, and the client is told. */
export async function walk(core: Core, received: Received, client: Client): Promise<void> {
  const end = await callOf(core, received, client);
  void core.hooks.observe.promise(end);
}

async function callOf(core: Core, received: Received, client: Client): Promise<End> {
  let planned: Planned;
  try {
    const principal = admitted(await core.hooks.authenticate.promise(received), 'user');
    const parsed = await parse(advance(received, { principal }), client);
    const replay = await core.hooks.replay.promise(parsed);
    if (replay) {
      checkReplay(
        replay,
        principal,
        core.targetsFor(parsed.call.model, parsed.protocol)[0]?.model.id ?? parsed.call.model,
      );
      // It is a call of its own, whatever was kept of the first one's head.
      client.reply.head(replay.status, { ...replay.headers, ...headersNaming(parsed.id) });
      client.reply.finish(replay.body);
      return { type: 'replayed', exchange: parsed, replay, ...factsOf(parsed, []) };
    }
    planned = advance(parsed, { targets: await route(core, parsed) });
  } catch (thrown) {
    const end = refusal(received, thrown);
    sendError(client.reply, client.protocol, end.error, client.match);
    return end;
  }
  return pay(core, planned, client);
}

async function parse(exchange: Authenticated, { body, protocol, match, reply }: Client): Promise<Parsed> {
  const { bytes, text, value } = await body();
  const call = protocol.client.read(value, text, match, exchange.headers);
  let canonical: ReturnType<typeof call.decode> | undefined;
  return advance(exchange, {
    protocol,
    bytes,
    text,
    call,
    canonical: () => (canonical ??= call.decode()),
    record: (limit: number) => reply.record(limit),
  });
}

async function route(core: Core, parsed: Parsed): Promise<readonly Target[]> {
  const targets = await core.hooks.route.promise(core.targetsFor(parsed.call.model, parsed.protocol), parsed);
  if (targets.length > 0) return fitWires(atKnownRates(permitted(targets, parsed.principal), parsed), parsed);
  throw core.catalog.missing(parsed.call.model);
}

type Meter = (end: End) => Promise<void>;

/** From `authorize` on an end is metered, exactly once, before the reply's last word. */
async function pay(core: Core, planned: Planned, client: Client): Promise<End> {
  let metered: Promise<void> | undefined;
  const meter: Meter = async (end) => {
    await within((metered ??= core.hooks.meter.promise(end)), longestHold);
  };
  try {
    const grant = await core.hooks.authorize.promise({ targets: planned.targets }, planned);
    return await tryTargets(core, planned, grant, client, meter);
  } catch (thrown) {
    const end = refusal(planned, thrown);
    await meter(end);
    sendError(client.reply, client.protocol, end.error, client.match, planned.call);
    return end;
  }
}

/** Tries the granted targets, each as often as `retries` decides, until one begins to reply. */
async function tryTargets(
  core: Core,
  planned: Planned,
  grant: Grant,
  client: Client,
  meter: Meter,
): Promise<End> {
  const { call, protocol } = planned;
  if (call.stream && protocol.client.keepAlive) {
    client.reply.head(200, { ...grant.headers, ...streamHead(call) });
    client.reply.keepAlive(protocol.client.keepAlive, core.keepAliveEvery);
  }
  const attempts: Attempt[] = [];
  let failure: Failed | undefined;
  for (let next: Next | NoneLeft = firstAttempt(grant.targets[0]); next.target;) {
    const running = startAttempt(core, planned, grant, next, attempts.length + 1);
    const { routed, tally } = running;
    attempts.push(routed.attempt);
    let begun: Begun;
    try {
      begun = await heeding(beginReply(core, running, client.reply.memory), routed.attempt.cancellation);
    } catch (thrown) {
      running.ended(failureOf(thrown, routed));
      next = await core.retries.after(routed, attempts);
      // The client may have left in the meantime.
      const error = finalError(attempts, failureOf(thrown, routed), !next.target && next.isFinal);
      failure = {
        type: 'failed',
        exchange: routed,
        error,
        charge: chargeFor(howFailed(routed), routed, tally),
        ...factsOf(routed, attempts),
      };
      continue;
    }
    running.begun();
    client.reply.head(200, answerHead(routed, begun.losses, begun.estimated));
    return deliver(running, attempts, tally, begun, client, meter);
  }
  if (!failure)
    throw new GatewayError('model_not_found', 'No provider was left for this call.', { param: 'model' });
  await meter(failure);
  client.reply.head(200, { ...grant.headers, 'x-tollgate-attempts': String(attempts.length) });
  sendError(client.reply, protocol, failure.error, client.match, call);
  return failure;
}

/** The reply has begun: it is sent to its end, nothing is retried, and the last word waits until the call is settled. */
async function deliver(
  running: RunningAttempt,
  attempts: readonly Attempt[],
  tally: Tally,
  { losses, first, pieces }: Begun,
  client: Client,
  meter: Meter,
): Promise<Answered> {
  const { routed } = running;
  const settle = async (
    outcome: Answered['outcome'],
    error: GatewayError | undefined,
    lastWord: string,
  ): Promise<Answered> => {
    running.ended(error);
    const recording = client.reply.recording(lastWord, routed.grant.headers);
    const charge = chargeFor(outcome, routed, tally);
    const allLosses = tally.losses.length > 0 ? [...losses, ...tally.losses] : losses;
    const end: Answered = {
      type: 'answered',
      exchange: routed,
      outcome,
      error,
      charge,
      ...factsOf(routed, attempts),
      losses: allLosses,
      recording,
    };
    await meter(end);
    client.reply.finish(lastWord);
    return end;
  };
  let opening = '';
  let latest = '';
  try {
    for (let step = first; !step.done; step = await pieces.next()) {
      const { text, last } = step.value;
      if (last) {
        if (routed.call.stream) void finishTail(pieces, running);
        return await settle(running.drain() ? 'aborted' : 'completed', undefined, text);
      }
      opening ||= text;
      latest = text || latest;
      await client.reply.write(text);
      if (routed.cancellation.cancelled)
        throw new GatewayError('client_gone', 'The client left before the reply was complete.');
    }
    throw new GatewayError('upstream_failed', 'The provider broke off before its reply was complete.');
  } catch (thrown) {
    const error = failureOf(thrown, routed);
    const hadAll = tally.hasAll(routed.call.candidates);
    if (!hadAll) await readOn(pieces, running);
    running.stop();
    pieces.return(undefined).catch(() => undefined);
    // Where the client has left, these frames reach only the recording kept for `replay`: it must not pass for a whole reply.
    const words = client.protocol.client.encodeStreamError(error, routed.call, true, {
      first: opening,
      last: latest,
    });
    if (routed.cancellation.left && hadAll) return settle('completed', undefined, words);
    return settle(routed.cancellation.left ? 'aborted' : 'cut', error, words);
  }
}

/** Where the client has left a vendor that bills the whole reply: reads what is left of it, for its figures. */
async function readOn(pieces: AsyncGenerator<Piece>, running: RunningAttempt): Promise<void> {
  const drain = running.drain();
  if (!drain) return;
  try {
    for (let step = await pieces.next(); !step.done && !step.value.last; step = await pieces.next())
      drain.took(step.value.text.length);
  } catch {
    // The reply broke off or was let go of: the charge goes by what is known so far.
  }
}

/** Reads on to the vendor's own end, so that its connection serves another call; not for long. */
async function finishTail(pieces: AsyncGenerator<Piece>, running: RunningAttempt): Promise<void> {
  const tail = await within(pieces.next(), longestTail).catch(() => undefined);
  if (!tail?.done) running.stop();
}

function factsOf(
  { startedAt }: Received,
  attempts: readonly Attempt[],
): Pick<Refused, 'attempts' | 'duration' | 'recording' | 'losses'> {
  return { attempts, duration: performance.now() - startedAt, recording: undefined, losses: [] };
}

function refusal(exchange: Received & Partial<Parsed>, thrown: unknown): Refused {
  return { type: 'refused', exchange, error: toGatewayError(thrown), ...factsOf(exchange, []) };
}
