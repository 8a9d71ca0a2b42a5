/** A vendor's reply as canonical events, each of them counted as it is read: those of a stream chunk by chunk, or all of a JSON reply. */
import type { Tally } from '../billing/reply-progress.ts';
import type { CanonicalEvent } from '../canonical/events.ts';
import { GatewayError, isGatewayError } from '../errors.ts';
import type { Routed } from '../exchange.ts';
import type { Protocol } from '../protocol.ts';
import type { UpstreamResponse } from '../provider.ts';
import { type ReplyMemory, weighBytes, weighText, tooLong } from '../upstream/reply-memory.ts';
import { type SseBlock, SseReader } from './sse.ts';

/** Refusals and counts are short. */
const longestAnswer = 1024 * 1024;

/** Characters from which an event is large. */
const large = 64 * 1024;

/** What a reply is counted by while it is read. */
export interface Reading {
  readonly tally: Tally;
  readonly memory: ReplyMemory;
}

/**
 * The events of a reply, all that one chunk held at a time: to wait for each of them, and to send it by itself, costs
 * several times what translating it does.
 */
export type Batches = AsyncGenerator<readonly CanonicalEvent[]>;

export async function* streamedEvents(
  protocol: Protocol,
  { call, attempt, protocol: client }: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): Batches {
  const reader = new SseReader();
  const held = memory.slot();
  const decoder = protocol.upstream.decodeEvents(call, attempt.target.model);
  const decode = ({ event }: SseBlock): readonly CanonicalEvent[] => {
    if (!event) return noEvents;
    const events = decoder.push(event);
    if (events.length === 0) tally.keptLength += event.data.length;
    return events;
  };
  for await (const chunk of response.body) {
    if (tally.complete) continue;
    const blocks = reader.push(chunk);
    held.set(
      reader.waiting + heaviest(blocks) + tally.keptLength + (client.repeatsText ? tally.deliveredBytes : 0),
    );
    memory.add(call.stream ? largeOnes(blocks) : chunk.length + weighBytes(chunk));
    yield* counted(blocks, decode, tally);
  }
  if (tally.complete) return;
  yield* counted(reader.end(), decode, tally);
  if (!tally.complete) yield* counted([decoder.end()], asDecoded, tally);
}

/** What the JSON of the longest event takes when it is parsed. */
export function heaviest(blocks: readonly SseBlock[]): number {
  let most = 0;
  for (const { event } of blocks) if (event) most = Math.max(most, weighText(event.data));
  return most;
}

/** Characters of events that hold pictures or sound, which encoders keep to the end as well. */
function largeOnes(blocks: readonly SseBlock[]): number {
  let sum = 0;
  for (const { event } of blocks) if (event && event.data.length > large) sum += event.data.length;
  return sum;
}

const noEvents: readonly CanonicalEvent[] = [];
const asDecoded = (events: readonly CanonicalEvent[]): readonly CanonicalEvent[] => events;

export async function* repliedEvents(
  protocol: Protocol,
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): Batches {
  // Handed on and not awaited: this generator would hold the text for as long as it runs.
  yield* counted(
    [await readWhole(response, memory).then((text) => decodeReply(protocol, exchange, text))],
    asDecoded,
    tally,
  );
}

/** Counts events as they are decoded, up to the reply's end. Where decoding throws, the events before that are given first. */
function* counted<Source>(
  sources: readonly Source[],
  decode: (source: Source) => readonly CanonicalEvent[],
  tally: Tally,
): Generator<readonly CanonicalEvent[]> {
  const batch: CanonicalEvent[] = [];
  try {
    for (const source of sources) {
      for (const event of decode(source)) {
        tally.read(event);
        if (event.type !== 'unreadable') batch.push(event);
        if (tally.complete) return;
      }
    }
  } finally {
    if (batch.length > 0) yield batch;
  }
}

export function decodeReply(protocol: Protocol, { call, attempt }: Routed, text: string): CanonicalEvent[] {
  try {
    return protocol.upstream.decodeReply(JSON.parse(text), call, attempt.target.model);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw new GatewayError('upstream_failed', 'The provider sent a reply that could not be read.', {
      cause: error,
    });
  }
}

/** Keeps every byte: without `ignoreBOM` a byte order mark at the start would be taken off. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * A body that its provider takes apart before the gateway reads it: what came in and did not come out yet is charged to
 * the call.
 */
export function unwrapCharged(
  response: UpstreamResponse,
  memory: ReplyMemory,
  unwrap: (response: UpstreamResponse) => UpstreamResponse | Promise<UpstreamResponse>,
): Promise<UpstreamResponse> {
  const held = memory.slot();
  let waiting = 0;
  async function* taken(): AsyncGenerator<Uint8Array> {
    for await (const chunk of response.body) {
      waiting += chunk.length;
      held.set(waiting);
      yield chunk;
    }
  }
  async function* given(body: UpstreamResponse['body']): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      waiting = 0;
      held.set(0);
      yield chunk;
    }
  }
  return Promise.resolve(unwrap({ ...response, body: taken() })).then((unwrapped) => ({
    ...unwrapped,
    body: given(unwrapped.body),
  }));
}

/** A short body as text; bounded, since a vendor's length is nothing to trust. */
export async function readText({ body }: UpstreamResponse, limit = longestAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw tooLong();
    chunks.push(chunk);
  }
  return textOf(chunks);
}

/** A whole reply as text, charged to its call while it is read. */
export async function readWhole({ body }: UpstreamResponse, memory: ReplyMemory): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    chunks.push(chunk);
    // A reply of usual size is not looked through.
    const unweighed = length <= large ? [] : length - chunk.length <= large ? chunks : [chunk];
    memory.add(unweighed.reduce((sum, each) => sum + weighBytes(each), chunk.length));
  }
  return textOf(chunks);
}

function textOf(chunks: readonly Uint8Array[]): string {
  const [only] = chunks;
  return utf8.decode(only && chunks.length === 1 ? only : Buffer.concat(chunks));
}

export function cutShort(): GatewayError {
  return new GatewayError('upstream_failed', 'The provider broke off before its reply was complete.');
}
