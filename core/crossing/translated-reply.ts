/**
 * Writes a reply in the client's protocol: from canonical events, streamed or whole, or from the provider's
 * bodies if the call is no conversation. Before it ends, the client gets the usage that it is charged for, if
 * that is not what the provider reported.
 */
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Routed } from '../exchange.ts';
import type { UpstreamResponse } from '../provider.ts';
import { isOpening, type Tally } from '../tally.ts';
import { rejectAfterCancel } from '../util/timeouts.ts';
import { buildReplyContext, findChargedUsage, isCostWanted } from './charged-usage.ts';
import { toText, type Piece, type Pieces, type ReplyLane } from './pieces.ts';
import { readWhole } from './reply-body.ts';
import { toCutError, type Batches, type Reading } from './reply-events.ts';

export async function* writeStream(exchange: Routed, batches: Batches, tally: Tally): Pieces {
  const encoder = exchange.protocol.client.encodeEvents(buildReplyContext(exchange, tally));
  let isFirst = true;
  let opening = true;
  let lastText: string | undefined;
  for await (const events of batches) {
    if (lastText !== undefined) continue;
    let text = '';
    for (const event of events) {
      const usage = event.type === 'response-end' ? findChargedUsage(exchange, tally) : undefined;
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

export async function* writeReply(exchange: Routed, batches: Batches, tally: Tally): Pieces {
  const all: CanonicalEvent[] = [];
  for await (const events of batches) for (const event of events) all.push(event);
  if (all.at(-1)?.type !== 'response-end') throw toCutError();
  const usage = findChargedUsage(exchange, tally);
  if (usage) all.splice(-1, 0, { type: 'usage', usage });
  const reply = exchange.protocol.client.encodeReply(all, buildReplyContext(exchange, tally));
  yield { text: JSON.stringify(reply), last: true, opening: false };
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

/**
 * Lets the client's protocol read the replies to the bodies of a call and write its own. The last piece of it
 * waits until the call is settled; of what is no JSON the end of the body alone, which says that it is whole.
 */
export async function* joinReplies(
  exchange: Routed,
  [first, ...fetchOthers]: readonly [UpstreamResponse, ...(() => Promise<UpstreamResponse>)[]],
  { tally, memory }: Reading,
): Pieces {
  const { protocol: wire, model } = exchange.attempt.target;
  let type: string | undefined;
  const pieces = exchange.protocol.client.joinReplies?.(
    {
      wire,
      model,
      count: fetchOthers.length + 1,
      first,
      fetch: async (index) => readWhole((await fetchOthers[index - 1]?.()) ?? first, memory),
      setType: (stated) => void (type = stated),
      report: (usage) => tally.read({ type: 'usage', usage }),
      findCharged: () => findChargedUsage(exchange, tally),
    },
    buildReplyContext(exchange),
  );
  // The cost is written into the whole of a reply.
  const isJoined = isCostWanted(exchange);
  let held: Piece['text'] | undefined;
  for await (const text of pieces ?? []) {
    const isHeld = type === undefined;
    if (isHeld && isJoined && held !== undefined) held = toText({ text: held }) + toText({ text });
    else {
      const next = isHeld ? held : text;
      if (next !== undefined) yield { text: next, last: false, opening: false, type };
      held = isHeld ? text : '';
    }
  }
  if (held === undefined) throw toCutError();
  tally.read({ type: 'response-end' });
  yield { text: held, last: true, opening: false };
}
