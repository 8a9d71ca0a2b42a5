/**
 * Tells a stream from JSON. Some servers send a stream as `text/plain` or without a type, or JSON as
 * `text/event-stream`, and SDKs ignore the type. So if it is not the type that the call asked for, the first
 * character decides.
 */
import type { UpstreamResponse } from '../provider.ts';

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
