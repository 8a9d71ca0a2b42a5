/**
 * Decodes a provider's reply to canonical events and counts each one: a stream chunk by chunk, or a JSON
 * reply at once.
 */
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Routed } from '../exchange.ts';
import { type ReplyMemory, weighBytes, weighWhole } from '../http/reply-memory.ts';
import type { Protocol } from '../protocol.ts';
import type { UpstreamResponse } from '../provider.ts';
import type { Tally } from '../tally.ts';
import { GatewayError, isGatewayError } from '../util/errors.ts';
import { decodeText, large, readToEnd, readWhole } from './reply-body.ts';
import { type SseBlock, SseReader } from './sse.ts';

/**
 * Keeps characters whole in translated replies. Some providers cut their deltas between the two halves of a
 * surrogate pair, as in an emoji. Clients in other languages cannot decode half of one, so the first half
 * waits for the second. A half that stays alone becomes U+FFFD.
 */
const lastHalf = /[\uD800-\uDBFF]$/;

export class CharacterJoiner {
  /** First halves that wait, by their block. */
  readonly #halves = new Map<number, string>();

  /** Whether an event passes as it is. Almost all do, and the answer costs next to nothing. */
  isWhole(event: CanonicalEvent): boolean {
    if (event.type === 'block-delta') return this.#halves.size === 0 && event.text.isWellFormed();
    return event.type !== 'block-end' || this.#halves.size === 0;
  }

  /** The events in place of one that does not pass. */
  join(event: CanonicalEvent): readonly CanonicalEvent[] {
    if (event.type !== 'block-delta' && event.type !== 'block-end') return [event];
    const { candidate, block } = event;
    const half = this.#halves.get(block) ?? '';
    this.#halves.delete(block);
    if (event.type === 'block-end')
      return half === '' ? [event] : [{ type: 'block-delta', candidate, block, text: '\uFFFD' }, event];
    const text = half + event.text;
    const [next] = lastHalf.exec(text) ?? [];
    if (next !== undefined) this.#halves.set(block, next);
    const whole = (next === undefined ? text : text.slice(0, -1)).toWellFormed();
    return whole === '' && event.vendor === undefined ? [] : [{ ...event, text: whole }];
  }
}

/** What counts a reply while it is read. */
export interface Reading {
  readonly tally: Tally;
  readonly memory: ReplyMemory;
}

/** The events of a reply, by chunk. To await and send each one costs several times its translation. */
export type Batches = AsyncGenerator<readonly CanonicalEvent[]>;

export async function* decodeStream(
  protocol: Protocol,
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): Batches {
  const { call, attempt, protocol: client } = exchange;
  const reader = new SseReader();
  const setHeld = memory.openSlot();
  const decoder = protocol.upstream.decodeEvents(call, attempt.target.model);
  const counter = { tally, joiner: new CharacterJoiner() };
  const decode = ({ event }: SseBlock): readonly CanonicalEvent[] => {
    if (!event) return noEvents;
    const events = decoder.push(event);
    if (events.length === 0) tally.keptLength += event.data.length;
    return events;
  };
  for await (const chunk of readToEnd(exchange, response, decoder)) {
    if (tally.complete) continue;
    if (!call.stream) memory.add(chunk.length + weighBytes(chunk));
    const blocks = reader.push(chunk);
    const repeated = client.repeatsText ? tally.deliveredBytes : 0;
    setHeld(reader.waiting + weighLongest(blocks) + tally.keptLength + repeated);
    if (call.stream) memory.add(sumLarge(blocks));
    yield* countBatch(blocks, decode, counter);
  }
  if (tally.complete) return;
  yield* countBatch(reader.end(), decode, counter);
  if (!tally.complete) yield* countBatch([decoder.end()], passEvents, counter);
}

/** The memory of the longest event when its JSON is parsed. */
export function weighLongest(blocks: readonly SseBlock[]): number {
  let most = 0;
  // Only long events are scanned, since they are rare.
  for (const { event } of blocks)
    if (event && event.data.length > large) most = Math.max(most, weighWhole(Buffer.from(event.data)));
  return most;
}

/** Characters of large events (pictures or audio), which encoders keep to the end as well. */
function sumLarge(blocks: readonly SseBlock[]): number {
  let sum = 0;
  for (const { event } of blocks) if (event && event.data.length > large) sum += event.data.length;
  return sum;
}

const noEvents: readonly CanonicalEvent[] = [];
const passEvents = (events: readonly CanonicalEvent[]): readonly CanonicalEvent[] => events;

export async function* decodeWholeReply(
  protocol: Protocol,
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): Batches {
  // Passed on without a variable: this generator would keep the text alive while it runs.
  yield* countBatch(
    [await readWhole(response, memory).then((bytes) => decodeReply(protocol, exchange, decodeText(bytes)))],
    passEvents,
    { tally, joiner: new CharacterJoiner() },
  );
}

/**
 * Counts the events of all sources, up to the end of the reply, and yields them with whole characters as one
 * batch. If decoding throws, it yields the events before that first.
 */
function* countBatch<Source>(
  sources: readonly Source[],
  decode: (source: Source) => readonly CanonicalEvent[],
  { tally, joiner }: Counter,
): Generator<readonly CanonicalEvent[]> {
  const batch: CanonicalEvent[] = [];
  const count = (event: CanonicalEvent): void => {
    tally.read(event);
    if (event.type !== 'unreadable') batch.push(event);
  };
  try {
    for (const source of sources)
      for (const event of decode(source)) {
        if (joiner.isWhole(event)) count(event);
        else joiner.join(event).forEach(count);
        if (tally.complete) return;
      }
  } finally {
    if (batch.length > 0) yield batch;
  }
}

interface Counter {
  readonly tally: Tally;
  readonly joiner: CharacterJoiner;
}

export function decodeReply(protocol: Protocol, { call, attempt }: Routed, text: string): CanonicalEvent[] {
  try {
    return protocol.upstream.decodeReply(JSON.parse(text), call, attempt.target.model, text);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw new GatewayError('upstream_failed', 'The provider sent a reply that could not be read.', {
      cause: error,
    });
  }
}

export function toCutError(): GatewayError {
  return new GatewayError('upstream_failed', 'The provider broke off before its reply was complete.');
}
