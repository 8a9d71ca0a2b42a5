/**
 * A reply in the provider's own bytes, for a client of the same protocol. Only the model's name is edited, usage that the
 * client did not ask for is left out, and a missing terminator is added. A copy is decoded for metering.
 */
import { isOpening } from '../billing/reply-progress.ts';
import type { CanonicalEvent } from '../canonical/events.ts';
import { GatewayError } from '../errors.ts';
import type { Routed } from '../exchange.ts';
import type { Piece } from '../lanes.ts';
import type { UpstreamResponse } from '../provider.ts';
import { modelRenamer, renamedReply, type BlockWriter } from './rename-model.ts';
import { cutShort, decodeReply, heaviest, readWhole, type Reading } from './reply-events.ts';
import { frame, longestBlock, SseReader, type SseBlock } from './sse.ts';

export async function* forwardStream(
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): AsyncGenerator<Piece> {
  const { call, attempt } = exchange;
  const { upstream } = attempt.target.protocol;
  const decoder = upstream.decodeEvents(call, attempt.target.model);
  const rename = modelRenamer(upstream.modelPaths, attempt.target.model.id);
  const write = call.framing === 'array' ? arrayWriter(rename) : rename;
  let text = '';
  let lastWord = '';
  let opened = false;
  let begun = false;
  /** Whether the vendor said the frame that ends every stream: a reply may be complete by an event before it. */
  let terminated = false;
  const forward = (blocks: readonly SseBlock[]): void => {
    for (const { raw, event } of blocks) {
      if (tally.complete) break;
      const events = event ? decoder.push(event) : [];
      for (const each of events) tally.read(each);
      if (event && events.length === 0) tally.keptLength += event.data.length;
      const isTerminator =
        event !== undefined &&
        event.data.length <= upstream.terminator.length &&
        frame(event.data) === upstream.terminator;
      // A reply that is not complete must not look it.
      if (events[0]?.type === 'unreadable' || (isTerminator && !tally.complete)) continue;
      opened ||= event !== undefined;
      if (event && !begun)
        begun =
          event.event !== undefined && upstream.openings
            ? !upstream.openings.has(event.event)
            : !events.every(isOpening);
      terminated = isTerminator;
      const written = isUnaskedUsage(events, call.usageWanted) ? '' : write(raw, event?.data);
      const isLast = tally.complete || (upstream.ending === 'silence' && tally.hasFinished(call.candidates));
      if (isLast) lastWord += written;
      else text += written;
      if (lastWord.length > longestBlock)
        throw new GatewayError(
          'upstream_failed',
          'The provider went on for too long behind the end of its reply.',
        );
    }
  };
  /** Takes what is there to be sent. Not a generator: with a `yield*` from one, replies stayed in memory long after their calls. */
  const taken = (): Piece => {
    const piece = { text, last: false, opening: !begun };
    text = '';
    return piece;
  };
  const reader = new SseReader();
  const held = memory.slot();
  for await (const chunk of response.body) {
    if (tally.complete) continue;
    const blocks = reader.push(chunk);
    held.set(reader.waiting + heaviest(blocks) + text.length + lastWord.length + tally.keptLength);
    // Where a chunk cannot be read to its end, what came before that place is sent all the same.
    try {
      forward(blocks);
    } finally {
      // Comments before the first event do not open a reply.
      if (opened && text) yield taken();
    }
    if (tally.complete)
      yield { text: lastWord + (terminated ? '' : upstream.terminator), last: true, opening: false };
  }
  if (tally.complete) return;
  forward(reader.end());
  if (opened && text) yield taken();
  if (!tally.complete) for (const event of decoder.end()) tally.read(event);
  if (!tally.complete) throw cutShort();
  yield {
    text: lastWord + (terminated ? '' : upstream.terminator) + (call.framing === 'array' ? ']' : ''),
    last: true,
    opening: false,
  };
}

/** The events of a stream as the elements of one JSON array; its end is the last word's. */
function arrayWriter(rename: BlockWriter): BlockWriter {
  let opening = '[';
  return (_, data) => {
    if (data === undefined) return '';
    const element = opening + rename(data, data);
    opening = ',\r\n';
    return element;
  };
}

/** The figures we asked the vendor for on our own account are not for a client that did not. */
function isUnaskedUsage(events: readonly CanonicalEvent[], wanted: boolean): boolean {
  return !wanted && events.length > 0 && events.every(({ type }) => type === 'usage');
}

export async function* forwardReply(
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): AsyncGenerator<Piece> {
  const { target } = exchange.attempt;
  const text = await readWhole(response, memory);
  for (const event of decodeReply(target.protocol, exchange, text)) tally.read(event);
  if (!tally.complete) throw cutShort();
  yield {
    text: renamedReply(text, target.protocol.upstream.modelPaths, target.model.id),
    last: true,
    opening: false,
  };
}
