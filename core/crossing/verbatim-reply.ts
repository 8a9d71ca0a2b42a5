/**
 * Forwards a reply in the provider's own bytes, to a client of the same protocol. It edits only the model
 * name, leaves out usage that the client did not ask for, and adds a missing terminator. A copy is decoded
 * for metering.
 */
import { isOpening } from '../billing/reply-progress.ts';
import type { CanonicalEvent } from '../canonical/events.ts';
import { GatewayError } from '../errors.ts';
import type { Routed } from '../exchange.ts';
import type { Piece } from '../lanes.ts';
import type { UpstreamResponse } from '../provider.ts';
import { AlikeRun, RunSeeker, toBuffer, type AlikeEvent } from './alike-run.ts';
import { createModelRenamer, renameModelInReply, type BlockWriter } from './rename-model.ts';
import { toCutError, decodeReply, weighLongest, readWhole, type Reading } from './reply-events.ts';
import { writeFrame, longestBlock, SseReader, type SseBlock } from './sse.ts';
import { isCostWanted } from './write-cost.ts';

export async function* forwardStream(
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): AsyncGenerator<Piece> {
  const { call, attempt } = exchange;
  const { upstream } = attempt.target.protocol;
  const decoder = upstream.decodeEvents(call, attempt.target.model);
  const rename = createModelRenamer(upstream.modelPaths, attempt.target.model.id);
  const write = call.framing === 'array' ? createArrayWriter(rename) : rename;
  /** Whether what follows the last finish waits until the call is settled, as usage does that gets its cost. */
  const holdsEnd = upstream.ending === 'silence' || isCostWanted(exchange);
  let text = '';
  let lastText = '';
  let opened = false;
  let begun = false;
  /** Whether the last frame of the protocol was seen. A reply may be complete before it. */
  let terminated = false;
  let alike: AlikeEvent | undefined;
  let run: AlikeRun | undefined;
  const forward = (blocks: readonly SseBlock[]): void => {
    for (const { raw, event } of blocks) {
      if (tally.complete) break;
      const events = event ? decoder.push(event) : [];
      for (const each of events) tally.read(each);
      if (event && events.length === 0) tally.keptLength += event.data.length;
      const isTerminator =
        event !== undefined &&
        event.data.length <= upstream.terminator.length &&
        writeFrame(event.data) === upstream.terminator;
      // An incomplete reply must not look complete.
      if (events[0]?.type === 'unreadable' || (isTerminator && !tally.complete)) continue;
      opened ||= event !== undefined;
      if (event && !begun)
        begun =
          event.event !== undefined && upstream.openings
            ? !upstream.openings.has(event.event)
            : !events.every(isOpening);
      terminated = isTerminator;
      const written = isUnaskedUsage(events, call.usageWanted) ? '' : write(raw, event?.data);
      const isLast = tally.complete || (holdsEnd && tally.hasFinished(call.candidates));
      if (isLast) lastText += written;
      else text += written;
      if (alike !== decoder.alike) {
        alike = decoder.alike;
        run = event && alike && !isLast ? AlikeRun.after(raw, event.data, alike, written) : undefined;
      }
      if (lastText.length > longestBlock)
        throw new GatewayError('upstream_failed', 'The provider sent too much after the end of its reply.');
    }
  };
  /** Takes the text to send. Not a generator: `yield*` kept replies in memory long after their calls. */
  const takePiece = (bytes?: Buffer): Piece => {
    const all = bytes && text !== '' ? Buffer.concat([Buffer.from(text), bytes]) : (bytes ?? text);
    text = '';
    return { text: all, last: false, opening: !begun };
  };
  const reader = new SseReader();
  const seeker = new RunSeeker(reader);
  const held = memory.slot();
  for await (const chunk of response.body) {
    if (tally.complete) continue;
    // If a chunk cannot be read to its end, the text before the fault is sent.
    try {
      for (let rest = toBuffer(chunk); rest.length > 0 && !tally.complete;) {
        const taken = reader.waiting === 0 && lastText === '' ? run?.take(rest) : undefined;
        if (taken) {
          tally.deliveredBytes += run?.textBytes ?? 0;
          rest = rest.subarray(taken.end);
          yield takePiece(taken.bytes);
          continue;
        }
        const end = seeker.blocksEnd(rest, run);
        const blocks = reader.push(rest.subarray(0, end));
        rest = rest.subarray(end);
        held.set(reader.waiting + weighLongest(blocks) + text.length + lastText.length + tally.keptLength);
        forward(blocks);
      }
    } finally {
      // Comments before the first event do not open a reply.
      if (opened && text) yield takePiece();
    }
    if (tally.complete)
      yield { text: lastText + (terminated ? '' : upstream.terminator), last: true, opening: false };
  }
  if (tally.complete) return;
  forward(reader.end());
  if (opened && text) yield takePiece();
  if (!tally.complete) for (const event of decoder.end()) tally.read(event);
  if (!tally.complete) throw toCutError();
  yield {
    text: lastText + (terminated ? '' : upstream.terminator) + (call.framing === 'array' ? ']' : ''),
    last: true,
    opening: false,
  };
}

/** Writes the events of a stream as elements of one JSON array. The caller closes the array. */
function createArrayWriter(rename: BlockWriter): BlockWriter {
  let opening = '[';
  return (_, data) => {
    if (data === undefined) return '';
    const element = opening + rename(data, data);
    opening = ',\r\n';
    return element;
  };
}

/** True for usage that the gateway requested for itself; the client did not ask for it. */
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
  if (!tally.complete) throw toCutError();
  yield {
    text: renameModelInReply(text, target.protocol.upstream.modelPaths, target.model.id),
    last: true,
    opening: false,
  };
}
