/**
 * Reads the body of a provider's reply: as a stream or as JSON, to its end, in whole or in chunks, within
 * limits.
 */
import type { Routed } from '../exchange.ts';
import { toTooLongError, weighWhole, type ReplyMemory } from '../http/reply-memory.ts';
import type { EventDecoder } from '../protocol.ts';
import type { UpstreamResponse } from '../provider.ts';
import { Chunks } from '../util/chunks.ts';
import { withTimeout } from '../util/timeouts.ts';

/**
 * Tells a stream from JSON. Some servers send a stream as `text/plain` or without a type, or JSON as
 * `text/event-stream`, and SDKs ignore the type. So if it is not the type that the call asked for, the first
 * character decides (`correctType`).
 */
export function isStream({ headers }: UpstreamResponse): boolean {
  return String(headers['content-type'] ?? '')
    .toLowerCase()
    .includes('text/event-stream');
}

/** The first characters of `data:`, `event:`, `id:`, `retry:` and of a comment. */
const firstOfStream = new Set(Buffer.from('deir:'));
const byteOrderMark = new Set([0xef, 0xbb, 0xbf]);
const isBlank = (byte: number): boolean => byte <= 0x20 || byteOrderMark.has(byte);

/** Returns the reply with the type that its first character shows, without chunks of blanks before it. */
export async function correctType(response: UpstreamResponse): Promise<UpstreamResponse> {
  const chunks = response.body[Symbol.asyncIterator]();
  let step = await chunks.next();
  while (!step.done && step.value.every(isBlank)) step = await chunks.next();
  const first = step.done ? undefined : step.value.find((byte) => !isBlank(byte));
  const type = first !== undefined && firstOfStream.has(first) ? 'text/event-stream' : 'application/json';
  return {
    ...response,
    headers: { ...response.headers, 'content-type': type },
    body: readRest(step, chunks),
  };
}

async function* readRest(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (first.done) return;
  yield first.value;
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Milliseconds in which a chunk with usage or sources may follow the one that finishes the reply. */
const longestQuiet = 5000;

/**
 * Reads the body of a stream to its end. A protocol without a last event needs care: a provider that leaves
 * its connection open after the reply would make the client wait until `timeouts.idle`.
 */
export function readToEnd(
  { attempt }: Routed,
  { body }: UpstreamResponse,
  decoder: EventDecoder,
): AsyncIterable<Uint8Array> {
  const { protocol } = attempt.target;
  return protocol.upstream.ending === 'silence'
    ? readUntilQuiet(body, decoder, () => attempt.cancellation.cancel())
    : body;
}

async function* readUntilQuiet(
  body: UpstreamResponse['body'],
  decoder: EventDecoder,
  close: () => void,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let isOver = false;
  try {
    while (!isOver) {
      const next = chunks.next();
      const step = await (decoder.mayEnd ? withTimeout(next, longestQuiet) : next);
      if (!step) close();
      isOver = step?.done ?? true;
      if (step && !step.done) yield step.value;
    }
  } finally {
    if (!isOver) await chunks.return?.();
  }
}

/** Bytes of an error body or a token count at most. */
const longestText = 1024 * 1024;

/** Characters from which an event is large. */
export const large = 64 * 1024;

/** Omits a byte order mark at the start, which JSON does not allow. */
const utf8 = new TextDecoder('utf-8');

/** Unwraps a body with the provider plugin. Bytes that have not come out yet count as the call's memory. */
export function unwrapCounted(
  response: UpstreamResponse,
  memory: ReplyMemory,
  unwrap: (response: UpstreamResponse) => UpstreamResponse | Promise<UpstreamResponse>,
): Promise<UpstreamResponse> {
  const setHeld = memory.openSlot();
  let waiting = 0;
  async function* takeChunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of response.body) {
      waiting += chunk.length;
      setHeld(waiting);
      yield chunk;
    }
  }
  async function* giveChunks(body: UpstreamResponse['body']): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      waiting = 0;
      setHeld(0);
      yield chunk;
    }
  }
  return Promise.resolve(unwrap({ ...response, body: takeChunks() })).then((unwrapped) => ({
    ...unwrapped,
    body: giveChunks(unwrapped.body),
  }));
}

/** Reads a short body as text. The limit holds whatever length the provider states. */
export async function readText({ body }: UpstreamResponse, limit = longestText): Promise<string> {
  const chunks = new Chunks<Uint8Array>();
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw toTooLongError();
    chunks.push(chunk);
  }
  return decodeText(chunks.join());
}

/** Reads a whole reply, counted as memory of the call. */
export async function readWhole({ body }: UpstreamResponse, memory: ReplyMemory): Promise<Uint8Array> {
  const chunks = new Chunks<Uint8Array>();
  for await (const chunk of body) {
    chunks.push(chunk);
    memory.add(chunk.length);
  }
  const bytes = chunks.join();
  // A reply of ordinary size is not scanned.
  if (bytes.length > large) memory.add(weighWhole(bytes));
  return bytes;
}

export function decodeText(bytes: Uint8Array): string {
  return utf8.decode(bytes);
}
