/**
 * One attempt up to its commit point, the first event that says anything of the reply: what goes wrong until then
 * concerns no client yet, and another provider may take over. What opens a stream (its id, its model) is held until then.
 */
import type { RunningAttempt } from './attempt.ts';
import { countsTokens, crossCount, estimatedCount, lacksCount } from './count.ts';
import { GatewayError } from './errors.ts';
import { refusedBy } from './failure.ts';
import type { Core } from './gateway.ts';
import { crossReply, encodeBody, isVerbatim, type Piece } from './lanes.ts';
import { lossRefusal, type Loss } from './loss.ts';
import { loweredLimit } from './lowered.ts';
import { requestFor } from './outgoing.ts';
import type { Tally } from './tally.ts';
import { checkContext, withinContext, type Shortened } from './truncation.ts';

export interface Begun {
  readonly losses: readonly Loss[];
  readonly estimated: boolean;
  readonly first: IteratorResult<Piece>;
  readonly pieces: AsyncGenerator<Piece>;
}

export async function beginReply(core: Core, running: RunningAttempt, tally: Tally): Promise<Begun> {
  const { routed } = running;
  if (routed.operation === 'count' && !countsTokens(routed.attempt.target)) return begin(estimatedCount(routed), [], true, running);
  return routed.call.truncates ? withinContext(routed, (shortened) => send(core, running, tally, shortened)) : send(core, running, tally);
}

async function send(core: Core, running: RunningAttempt, tally: Tally, shortened?: Shortened): Promise<Begun> {
  const { routed } = running;
  const { protocol, model, provider } = routed.attempt.target;
  if (routed.operation === 'generate' && !shortened) checkContext(routed);
  const verbatim = !shortened && isVerbatim(core.hooks, routed);
  const encoded = await encodeBody(core.hooks, routed, verbatim, shortened?.request);
  if (encoded.losses.length > 0 && (core.rejectsLoss || routed.call.preferences.require_parameters)) throw lossRefusal(encoded.losses, model.id);
  const losses = [...encoded.losses, ...(shortened?.losses ?? []), ...loweredLimit(routed)];
  routed.attempt.losses = losses;
  const request = await requestFor(routed, encoded);
  const reply = await core.hooks.dispatch.promise(request, routed);
  if (!reply) throw new GatewayError('internal', 'No dispatcher took the call.');
  const response = provider.unwrap ? await provider.unwrap(reply, routed.attempt.target, encoded.operation) : reply;
  routed.attempt.status = response.status;
  if (routed.operation === 'count') {
    if (lacksCount(response)) return begin(estimatedCount(routed), [], true, running);
    if (response.status === 200) return begin(crossCount(routed, response), losses, false, running);
  }
  if (response.status !== 200) throw await refusedBy(protocol, response, request);
  return begin(crossReply(core.hooks, routed, response, tally, { verbatim, stops: encoded.stops }), losses, false, running);
}

async function begin(pieces: AsyncGenerator<Piece>, losses: readonly Loss[], estimated: boolean, running: RunningAttempt): Promise<Begun> {
  let first = await pieces.next();
  let held = '';
  while (!first.done && first.value.opening) {
    running.begun();
    held += first.value.text;
    first = await pieces.next();
  }
  if (first.done) throw new GatewayError('upstream_failed', 'The provider sent no reply.');
  if (held !== '') first = { done: false, value: { ...first.value, text: held + first.value.text } };
  return { losses, estimated, pieces, first };
}
