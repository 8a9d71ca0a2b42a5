/**
 * Reads the body of a stream to its end. A protocol without a last event needs care: a provider that leaves
 * its connection open after the reply would make the client wait until `timeouts.idle`.
 */
import type { Routed } from '../exchange.ts';
import type { EventDecoder } from '../protocol.ts';
import type { UpstreamResponse } from '../provider.ts';
import { withTimeout } from '../util/timeouts.ts';

/** Milliseconds in which a chunk with usage or sources may follow the one that finishes the reply. */
const longestQuiet = 5000;

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
