/**
 * Forwards a reply in the provider's own bytes, to a client of the same protocol. It edits only the model
 * name, characters cut in half, and usage that is not what the call is charged for, leaves out usage that the
 * client did not ask for, and adds a missing terminator. A copy is decoded for metering.
 */
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Routed } from '../exchange.ts';
import type { UpstreamSide } from '../protocol.ts';
import type { UpstreamResponse } from '../provider.ts';
import { isOpening, type Tally } from '../tally.ts';
import { GatewayError } from '../util/errors.ts';
import { isEscaped } from '../util/json-text.ts';
import { detach } from '../util/text.ts';
import { type BlockWriter, StreamCorrection, correctUsage, isCostWanted } from './charged-usage.ts';
import type { Piece } from './pieces.ts';
import { decodeText, readToEnd, readWhole } from './reply-body.ts';
import { toCutError, decodeReply, weighLongest, type Reading } from './reply-events.ts';
import { locateString } from './splice.ts';
import { writeFrame, longestBlock, SseReader, type SseBlock } from './sse.ts';

/** An escaped first half of a character at the end of a text, and a second half at the start of one. */
const [firstHalf, secondHalf] = [/\\u[dD][89abAB][\da-fA-F]{2}(?=")/g, /"(?=\\u[dD][c-fC-F][\da-fA-F]{2})/g];

/** The text of a stream that is to be sent, and what its events have said so far. */
class ForwardedText {
  text = '';
  /** What may be sent only with the last piece. */
  last = '';
  hasOpened = false;
  hasBegun = false;
  readonly decoder: ReturnType<UpstreamSide['decodeEvents']>;
  /** Whether the last frame of the protocol was seen. A reply may be complete before it. */
  #isTerminated = false;
  readonly #call: Routed['call'];
  readonly #upstream: UpstreamSide;
  readonly #tally: Tally;
  /** Whether what follows the last finish waits for the settlement, as usage that gets its cost does. */
  readonly #holdsEnd: boolean;
  /** Gemini's clients fail at comments. */
  readonly #takesComments: boolean;
  readonly #write: BlockWriter;
  readonly #correction: StreamCorrection;
  /** First halves of characters that wait for the events with the second. */
  readonly #halves: string[] = [];

  constructor(exchange: Routed, tally: Tally) {
    const {
      call,
      protocol: { client },
      attempt: { target },
    } = exchange;
    this.#takesComments = client.keepAlive !== '';
    this.#call = call;
    this.#upstream = target.protocol.upstream;
    this.#tally = tally;
    this.#holdsEnd = this.#upstream.ending === 'silence' || isCostWanted(exchange);
    this.decoder = this.#upstream.decodeEvents(call, target.model);
    this.#correction = new StreamCorrection(exchange, tally);
    const rename = createModelRenamer(this.#upstream.modelPaths, target.model.id);
    this.#write = call.framing === 'array' ? createArrayWriter(rename) : rename;
  }

  add(blocks: readonly SseBlock[]): void {
    for (const block of blocks) {
      if (this.#tally.complete) break;
      this.#addBlock(block);
    }
  }

  #addBlock(received: SseBlock): void {
    const { raw, event } = received;
    if (!event && !this.#takesComments && raw.trim() !== '') return;
    const events = event ? this.decoder.push(event) : [];
    for (const each of events) this.#tally.read(each);
    if (event && events.length === 0) this.#tally.keptLength += event.data.length;
    const isTerminator = event !== undefined && this.#isTerminator(event.data);
    // An incomplete reply must not look complete.
    if (events[0]?.type === 'unreadable' || (isTerminator && !this.#tally.complete)) return;
    this.hasOpened ||= event !== undefined;
    if (event && !this.hasBegun) this.hasBegun = !this.#isOpening(event.event, events);
    this.#isTerminated = isTerminator;
    const block = this.#correctDialect(received, events);
    const written = isUnaskedUsage(events, this.#call.usageWanted)
      ? ''
      : this.#writeBlock(block.raw, block.event, events);
    const isLast = this.#tally.complete || (this.#holdsEnd && this.#tally.hasFinished(this.#call.candidates));
    if (isLast) this.last += written;
    else this.text += written;
    if (this.last.length > longestBlock)
      throw new GatewayError('upstream_failed', 'The provider sent too much after the end of its reply.');
  }

  /** The block as clients of the protocol can read it: the same one if it needs no change. */
  #correctDialect(block: SseBlock, events: readonly CanonicalEvent[]): SseBlock {
    const { event } = block;
    if (!event) return block;
    const data = this.#joinHalves(
      this.#upstream.correctReply?.(event.data, events, this.#call) ?? event.data,
    );
    if (data === event.data) return block;
    return { raw: writeFrame(data, event.event), event: { ...event, data } };
  }

  /** Moves the first half of a character to the event with the second: many clients cannot decode a half. */
  #joinHalves(data: string): string {
    if (!data.includes('\\u')) return data;
    const begun =
      this.#halves.length === 0 ? data : data.replace(secondHalf, () => `"${this.#halves.shift() ?? ''}`);
    return begun.replace(firstHalf, (half: string, at: number) => {
      if (isEscaped(begun, at)) return half;
      this.#halves.push(half);
      return '';
    });
  }

  /** Before the terminator goes what the client lacks of its usage. */
  #writeBlock(raw: string, event: SseBlock['event'], events: readonly CanonicalEvent[]): string {
    if (!event) return this.#write(raw, undefined);
    return this.#isTerminated
      ? this.#writeMissing() + raw
      : this.#correction.writeBlock(raw, event, events, this.#write);
  }

  #writeMissing(): string {
    const frame = this.#correction.writeMissing();
    return frame === '' ? '' : this.#write(frame, frame.slice('data: '.length).trimEnd());
  }

  #isTerminator(data: string): boolean {
    const { terminator } = this.#upstream;
    return data.length <= terminator.length && writeFrame(data) === terminator;
  }

  #isOpening(name: string | undefined, events: readonly CanonicalEvent[]): boolean {
    const { openings } = this.#upstream;
    return name !== undefined && openings ? openings.has(name) : events.every(isOpening);
  }

  /** Takes the text to send. Not a generator: `yield*` kept replies in memory long after their calls. */
  takePiece(): Piece {
    const { text } = this;
    this.text = '';
    return { text, last: false, opening: !this.hasBegun };
  }

  takeLast(closing = ''): Piece {
    const { terminator, ending } = this.#upstream;
    const end = this.#isTerminated || terminator === '' ? '' : this.#writeMissing() + terminator;
    const text = this.last + end + closing;
    return {
      text: ending === 'silence' ? this.#correction.correctLast(text) : text,
      last: true,
      opening: false,
    };
  }

  /** Counts what the end of the body says. Throws if the reply is incomplete. */
  end(): void {
    if (!this.#tally.complete) for (const event of this.decoder.end()) this.#tally.read(event);
    if (!this.#tally.complete) throw toCutError();
  }
}

export async function* forwardStream(
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): AsyncGenerator<Piece> {
  const forwarded = new ForwardedText(exchange, tally);
  const reader = new SseReader();
  const setHeld = memory.openSlot();
  for await (const chunk of readToEnd(exchange, response, forwarded.decoder)) {
    if (tally.complete) continue;
    // If a chunk cannot be read to its end, the text before the fault is sent.
    try {
      const blocks = reader.push(chunk);
      const { text, last } = forwarded;
      setHeld(reader.waiting + weighLongest(blocks) + text.length + last.length + tally.keptLength);
      forwarded.add(blocks);
    } finally {
      // Comments before the first event do not open a reply.
      if (forwarded.hasOpened && forwarded.text) yield forwarded.takePiece();
    }
    if (tally.complete) yield forwarded.takeLast();
  }
  if (tally.complete) return;
  forwarded.add(reader.end());
  if (forwarded.hasOpened && forwarded.text) yield forwarded.takePiece();
  forwarded.end();
  yield forwarded.takeLast(exchange.call.framing === 'array' ? ']' : '');
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
  const { protocol, model } = exchange.attempt.target;
  const { modelPaths, correctReply } = protocol.upstream;
  const received = decodeText(await readWhole(response, memory));
  const events = decodeReply(protocol, exchange, received);
  for (const event of events) tally.read(event);
  if (!tally.complete) throw toCutError();
  const corrected = correctReply?.(received, events, exchange.call) ?? received;
  const text = correctUsage(corrected, exchange, tally);
  const place = locateModel(text, modelPaths);
  const renamed = place && text.slice(0, place.start) + JSON.stringify(model.id) + text.slice(place.end);
  yield { text: renamed ?? text, last: true, opening: false };
}

/**
 * Renames the model in each event. The events of one stream begin alike, so the place is found once, and
 * later events are recognised by their beginning.
 */
function createModelRenamer(paths: UpstreamSide['modelPaths'], id: string): BlockWriter {
  const names = paths.map((path) => `"${path.at(-1)}"`);
  let beginning: string | undefined;
  let renamed = '';
  return (raw, data) => {
    // V8 compares a slice by words, but `startsWith` by characters.
    if (beginning !== undefined && raw.slice(0, beginning.length) === beginning)
      return renamed + raw.slice(beginning.length);
    if (!data?.startsWith('{') || !names.some((name) => data.includes(name))) return raw;
    const place = locateModel(data, paths);
    const offset = raw.indexOf(data);
    if (!place || offset < 0) return raw;
    beginning = detach(raw.slice(0, offset + place.end));
    renamed = detach(raw.slice(0, offset + place.start) + JSON.stringify(id));
    return renamed + raw.slice(beginning.length);
  };
}

function locateModel(text: string, paths: UpstreamSide['modelPaths']): ReturnType<typeof locateString> {
  for (const path of paths) {
    const place = locateString(text, path);
    if (place) return place;
  }
  return undefined;
}
