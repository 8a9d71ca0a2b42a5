/**
 * Delivers a started reply to its client. Nothing is retried from here on. The last bytes, which mean
 * success, wait until the call is settled. If the client disconnects or the provider breaks off, the call
 * ends by the written policy.
 */
import type { RunningAttempt, StartedReply } from './attempt.ts';
import { computeCharge } from './billing/charge.ts';
import { isCostWanted, writeCost } from './crossing/charged-usage.ts';
import { toText, type Piece, type Pieces } from './crossing/pieces.ts';
import { toCutError } from './crossing/reply-events.ts';
import { buildEndFacts, type Answered, type Attempt } from './exchange.ts';
import type { Client, Meter } from './pipeline.ts';
import { toAttemptError } from './upstream/failures.ts';
import type { GatewayError } from './util/errors.ts';
import { withTimeout } from './util/timeouts.ts';

/** Milliseconds a provider may take to close a complete reply, so that its connection can be used again. */
const longestTail = 1000;

interface Delivery {
  readonly client: Client;
  readonly meter: Meter;
  readonly attempts: readonly Attempt[];
}

export async function deliverReply(
  running: RunningAttempt,
  started: StartedReply,
  delivery: Delivery,
): Promise<Answered> {
  const { routed, tally } = running;
  const { pieces } = started;
  const { reply, protocol } = delivery.client;
  let first: Piece | undefined;
  let last: Piece | undefined;
  try {
    for (let step = started.first; !step.done; step = await pieces.next()) {
      const { text, last: isLast } = step.value;
      if (isLast) {
        if (routed.call.stream) void finishTail(pieces, running);
        // The client of a drained reply left while the provider wrote this piece.
        const error = running.drain && toAttemptError(undefined, routed);
        return await settleCall(running, started, delivery, {
          outcome: error ? 'aborted' : 'completed',
          error,
          lastText: text,
        });
      }
      if (text.length > 0) {
        first ??= step.value;
        last = step.value;
      }
      const caughtUp = reply.write(text);
      if (caughtUp) await caughtUp;
      if (routed.cancellation.cancelled) throw toAttemptError(undefined, routed);
    }
    throw toCutError();
  } catch (thrown) {
    const error = toAttemptError(thrown, routed);
    const hadAll = tally.hasAll(routed.call.candidates);
    if (!hadAll) await drainReply(pieces, running);
    running.stop();
    pieces.return?.().catch(() => undefined);
    // If the client is gone, only the recording for `replay` gets this error. Without it the recording would
    // look complete.
    const sent = { first: first ? toText(first) : '', last: last ? toText(last) : '' };
    const lastText = protocol.client.encodeStreamError(error, routed.call, true, sent) || undefined;
    const { clientLeft } = routed.cancellation;
    if (clientLeft && hadAll)
      return settleCall(running, started, delivery, { outcome: 'completed', lastText });
    return settleCall(running, started, delivery, {
      outcome: clientLeft ? 'aborted' : 'cut',
      error,
      lastText,
    });
  }
}

interface Outcome {
  readonly outcome: Answered['outcome'];
  readonly error?: GatewayError | undefined;
  /** Undefined: the reply breaks off. */
  readonly lastText: Piece['text'] | undefined;
}

async function settleCall(
  running: RunningAttempt,
  { losses }: StartedReply,
  { client, meter, attempts }: Delivery,
  { outcome, error, lastText }: Outcome,
): Promise<Answered> {
  const { routed, tally } = running;
  running.end(error);
  const recording = client.reply.endRecording(lastText, routed.grant.headers);
  const end: Answered = {
    type: 'answered',
    exchange: routed,
    outcome,
    error,
    charge: computeCharge(outcome, routed, tally),
    ...buildEndFacts(routed, attempts),
    losses: tally.losses.length > 0 ? [...losses, ...tally.losses] : losses,
    recording,
    ending: lastText,
  };
  await meter(end);
  const { cost } = end.charge;
  client.reply.addCost(cost);
  const showsCost = outcome === 'completed' && !error && isCostWanted(routed);
  client.reply.finish(lastText && showsCost ? writeCost(toText({ text: lastText }), cost, routed) : lastText);
  return end;
}

/** Reads a reply whose client is gone to its usage, at its end, if its provider bills the whole of it. */
async function drainReply(pieces: Pieces, running: RunningAttempt): Promise<void> {
  const { drain } = running;
  if (!drain) return;
  try {
    for (let step = await pieces.next(); !step.done && !step.value.last; step = await pieces.next())
      drain.count(step.value.text.length);
  } catch {
    // The reply broke off or reached the limits of draining. The charge uses what is known so far.
  }
}

/** Reads to the end of the provider's stream, for a moment, so that its connection can be used again. */
async function finishTail(pieces: Pieces, running: RunningAttempt): Promise<void> {
  const tail = await withTimeout(pieces.next(), longestTail).catch(() => undefined);
  if (!tail?.done) running.stop();
}
