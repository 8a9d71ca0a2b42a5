/**
 * Writes a reply in the client's protocol from canonical events, streamed or whole. Before it ends, the
 * client gets the usage that it is charged for, if that is not what the provider reported.
 */
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Usage } from '../canonical/usage.ts';
import type { Routed } from '../exchange.ts';
import type { Protocol, ReplyContext } from '../protocol.ts';
import { isOpening, type Tally } from '../tally.ts';
import { rejectAfterCancel } from '../util/timeouts.ts';
import type { Piece, ReplyLane } from './pieces.ts';
import { toCutError, type Batches } from './reply-events.ts';

/** The usage that a complete reply is charged for; undefined if the provider reported it. */
type FindCharged = () => Usage | undefined;

export async function* writeStream(
  protocol: Protocol,
  context: ReplyContext,
  batches: Batches,
  findCharged: FindCharged,
): AsyncGenerator<Piece> {
  const encoder = protocol.client.encodeEvents(context);
  let isFirst = true;
  let opening = true;
  let lastText: string | undefined;
  for await (const events of batches) {
    if (lastText !== undefined) continue;
    let text = '';
    for (const event of events) {
      const usage = event.type === 'response-end' ? findCharged() : undefined;
      if (usage) text += encoder.push({ type: 'usage', usage });
      const frames = encoder.push(event);
      opening &&= isOpening(event);
      if (event.type === 'response-end') lastText = frames;
      else text += frames;
    }
    // The first events end the wait for the provider, even if this protocol holds them back.
    if (text || opening || isFirst) yield { text, last: false, opening: opening || text === '' };
    isFirst = false;
    if (lastText !== undefined) yield { text: lastText, last: true, opening: false };
  }
  if (lastText === undefined) throw toCutError();
}

export async function* writeReply(
  protocol: Protocol,
  context: ReplyContext,
  batches: Batches,
  findCharged: FindCharged,
): AsyncGenerator<Piece> {
  const all: CanonicalEvent[] = [];
  for await (const events of batches) for (const event of events) all.push(event);
  if (all.at(-1)?.type !== 'response-end') throw toCutError();
  const usage = findCharged();
  if (usage) all.splice(-1, 0, { type: 'usage', usage });
  yield { text: JSON.stringify(protocol.client.encodeReply(all, context)), last: true, opening: false };
}

/**
 * Applies `transformStream` taps, which get one event at a time. An error that comes neither from the
 * provider nor from a cancellation is a tap's, which stops the reply.
 */
export async function* transformEvents(
  { attempt: { cancellation } }: Routed,
  batches: Batches,
  transform: NonNullable<ReplyLane['transform']>,
  tally: Tally,
): Batches {
  let hasSourceFailed = false;
  async function* flatten(): AsyncGenerator<CanonicalEvent> {
    try {
      for await (const events of batches) yield* events;
    } catch (error) {
      hasSourceFailed = true;
      throw error;
    }
  }
  let transformed: AsyncIterator<CanonicalEvent> | undefined;
  try {
    const iterator = transform(flatten())[Symbol.asyncIterator]();
    transformed = iterator;
    const next = (): Promise<IteratorResult<CanonicalEvent>> =>
      rejectAfterCancel(iterator.next(), cancellation);
    for (let step = await next(); !step.done; step = await next()) yield [step.value];
  } catch (error) {
    tally.stopped = !hasSourceFailed && !cancellation.cancelled;
    throw error;
  } finally {
    // Not awaited: an iterator that never resolves `next` does not resolve `return`.
    transformed?.return?.().catch(() => undefined);
  }
}
