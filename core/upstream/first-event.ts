/**
 * One attempt up to its commit point, the first event that says anything of the reply: what goes wrong until then
 * concerns no client yet, and another provider may take over. What opens a stream (its id, its model) is held until then.
 */
import type { RunningAttempt } from '../attempt.ts';
import { loweredLimit } from '../crossing/output-limit.ts';
import { unwrapCharged } from '../crossing/reply-events.ts';
import { checkContext, withinContext, type Shortened } from '../crossing/truncation.ts';
import { withoutReasoning } from '../crossing/without-reasoning.ts';
import { GatewayError } from '../errors.ts';
import type { Core } from '../gateway.ts';
import { crossReply, encodeBody, isVerbatim, type Piece } from '../lanes.ts';
import { boundLosses, lossRefusal, type Loss } from '../loss.ts';
import { refusedBy } from './failures.ts';
import type { ReplyMemory } from './reply-memory.ts';
import { countsTokens, crossCount, estimatedCount, lacksCount } from './token-count.ts';
import { requestFor } from './upstream-request.ts';

/** Characters before the first output: responses repeats the instructions and tools of its request there, twice. */
const longestOpening = 8 * 1024 * 1024;

export interface Begun {
  readonly losses: readonly Loss[];
  readonly estimated: boolean;
  readonly first: IteratorResult<Piece>;
  readonly pieces: AsyncGenerator<Piece>;
}

/** `memory` is what the call's reply may take; an attempt before this one gives back what it took. */
export async function beginReply(core: Core, running: RunningAttempt, memory: ReplyMemory): Promise<Begun> {
  const { routed } = running;
  memory.reset();
  if (routed.operation === 'count' && !countsTokens(routed.attempt.target))
    return begin(estimatedCount(routed), { losses: [], estimated: true }, running, memory);
  const whole = routed.attempt.withoutReasoning ? withoutReasoning(routed.canonical()) : undefined;
  if (whole && (core.rejectsLoss || routed.call.preferences.require_parameters))
    throw lossRefusal(whole.losses, routed.attempt.target.model.id);
  return routed.call.truncates
    ? withinContext(routed, whole, (shortened) => send(core, running, memory, shortened))
    : send(core, running, memory, whole);
}

async function send(
  core: Core,
  running: RunningAttempt,
  memory: ReplyMemory,
  shortened?: Shortened,
): Promise<Begun> {
  const { routed, tally } = running;
  const { model, provider } = routed.attempt.target;
  if (routed.operation === 'generate' && !shortened) checkContext(routed);
  const verbatim = !shortened && isVerbatim(core.hooks, routed);
  const encoded = await encodeBody(core.hooks, routed, verbatim, shortened?.request);
  if (encoded.losses.length > 0 && (core.rejectsLoss || routed.call.preferences.require_parameters))
    throw lossRefusal(encoded.losses, model.id);
  const losses = [...encoded.losses, ...boundLosses(shortened?.losses ?? []), ...loweredLimit(routed)];
  routed.attempt.losses = losses;
  const request = await requestFor(routed, encoded);
  const reply = await core.hooks.dispatch.promise(request, routed);
  if (!reply) throw new GatewayError('internal', 'No dispatcher took the call.');
  const { unwrap } = provider;
  const response = unwrap
    ? await unwrapCharged(reply, memory, (whole) => unwrap(whole, routed.attempt.target, encoded.operation))
    : reply;
  routed.attempt.status = response.status;
  if (routed.operation === 'count') {
    if (lacksCount(response))
      return begin(estimatedCount(routed), { losses: [], estimated: true }, running, memory);
    if (response.status === 200)
      return begin(crossCount(routed, response), { losses, estimated: false }, running, memory);
  }
  if (response.status !== 200) throw await refusedBy(routed.attempt.target, response, request);
  const pieces = crossReply(
    core.hooks,
    routed,
    response,
    { tally, memory },
    { verbatim, stops: encoded.stops, expects: encoded.expects },
  );
  return begin(pieces, { losses, estimated: false }, running, memory);
}

async function begin(
  pieces: AsyncGenerator<Piece>,
  facts: Pick<Begun, 'losses' | 'estimated'>,
  running: RunningAttempt,
  memory: ReplyMemory,
): Promise<Begun> {
  const opening = memory.slot();
  let first = await pieces.next();
  let held = '';
  while (!first.done && first.value.opening) {
    running.opened();
    held += first.value.text;
    if (held.length > longestOpening)
      throw new GatewayError('upstream_failed', 'The provider went on for too long before its first output.');
    opening.set(held.length);
    first = await pieces.next();
  }
  if (first.done) throw new GatewayError('upstream_failed', 'The provider sent no reply.');
  if (held !== '') first = { done: false, value: { ...first.value, text: held + first.value.text } };
  opening.set(0);
  return { ...facts, pieces, first };
}
