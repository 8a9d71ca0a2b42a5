/** A vendor's reply as canonical events, each of them counted as it is read: those of a stream chunk by chunk, or all of a JSON reply. */
import type { CanonicalEvent } from './canonical/events.ts';
import { GatewayError, isGatewayError } from './errors.ts';
import type { Routed } from './exchange.ts';
import type { Protocol } from './protocol.ts';
import type { UpstreamResponse } from './provider.ts';
import { type SseBlock, SseReader } from './sse.ts';
import type { Tally } from './tally.ts';

/** A reply that has to be held whole is bounded: no vendor's JSON is larger. */
const longestReply = 256 * 1024 * 1024;

/**
 * The events of a reply, all that one chunk held at a time: to wait for each of them, and to send it by itself, costs
 * several times what translating it does.
 */
export type Batches = AsyncGenerator<readonly CanonicalEvent[]>;

export async function* streamedEvents(protocol: Protocol, { call, attempt }: Routed, response: UpstreamResponse, tally: Tally): Batches {
  const reader = new SseReader();
  const decoder = protocol.upstream.decodeEvents(call, attempt.target.model);
  const decode = ({ event }: SseBlock): readonly CanonicalEvent[] => (event ? decoder.push(event) : noEvents);
  for await (const chunk of response.body) {
    if (!tally.complete) yield* counted(reader.push(chunk), decode, tally);
  }
  if (tally.complete) return;
  yield* counted(reader.end(), decode, tally);
  if (!tally.complete) yield* counted([decoder.end()], asDecoded, tally);
}

const noEvents: readonly CanonicalEvent[] = [];
const asDecoded = (events: readonly CanonicalEvent[]): readonly CanonicalEvent[] => events;

export async function* repliedEvents(protocol: Protocol, exchange: Routed, response: UpstreamResponse, tally: Tally): Batches {
  // Handed on and not awaited: this generator would hold the text for as long as it runs.
  yield* counted([await readText(response).then((text) => decodeReply(protocol, exchange, text))], asDecoded, tally);
}

/** Counts events as they are decoded, up to the reply's end. Where decoding throws, the events before that are given first. */
function* counted<Source>(sources: readonly Source[], decode: (source: Source) => readonly CanonicalEvent[], tally: Tally): Generator<readonly CanonicalEvent[]> {
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
    throw new GatewayError('upstream_failed', 'The provider sent a reply that could not be read.', { cause: error });
  }
}

/** Keeps every byte: without `ignoreBOM` a byte order mark at the start would be taken off. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** A body as text; bounded, since a vendor's length is nothing to trust. */
export async function readText({ body }: UpstreamResponse, limit = longestReply): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new GatewayError('upstream_failed', 'The provider sent a longer reply than the gateway accepts.');
    chunks.push(chunk);
  }
  const [only] = chunks;
  return utf8.decode(only && chunks.length === 1 ? only : Buffer.concat(chunks));
}

export function cutShort(): GatewayError {
  return new GatewayError('upstream_failed', 'The provider broke off before its reply was complete.');
}
