/**
 * A provider that breaks off or sends garbage, at any event of a stream: the client gets an error, and never
 * a success.
 */
import { expect, it } from 'vitest';
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type Protocol,
  type ReplyContext,
  type WireEvent,
} from '../../core/index.ts';
import { decodeAll, fold, readStream } from './replies.ts';

const cut = new GatewayError('upstream_failed', 'The provider broke off.');
/** What no vendor means: cut JSON, and what is no JSON at all. */
const garbage = ['{"', '<html>', '}'];

/** The events a vendor's stream gives, and whether all of it came and could be read. */
function decodeUntilFault(
  { upstream }: Protocol,
  wire: readonly WireEvent[],
  call: ClientCall,
): { events: readonly CanonicalEvent[]; complete: boolean } {
  const decoder = upstream.decodeEvents(call);
  const events: CanonicalEvent[] = [];
  try {
    for (const event of wire) events.push(...decoder.push(event));
    events.push(...decoder.end());
  } catch {
    return { events, complete: false };
  }
  const wrong = events.findIndex(({ type }) => type === 'error' || type === 'unreadable');
  return wrong < 0
    ? { events, complete: fold(events).complete }
    : { events: events.slice(0, wrong), complete: false };
}

/** What a client of the same protocol makes of a reply that was begun so and then failed. */
function readFailedReply(
  { client, upstream }: Protocol,
  events: readonly CanonicalEvent[],
  context: ReplyContext,
): ReturnType<typeof fold> {
  const encoder = client.encodeEvents(context);
  const frames = events.map((event) => encoder.push(event)).join('');
  const whole = frames + client.encodeStreamError(cut, context.call, frames !== '');
  return fold(decodeAll(upstream.decodeEvents(context.call), readStream(Buffer.from(whole))));
}

/** Registers the claims for one stream of a case. */
export function testBreaks(protocol: Protocol, wire: readonly WireEvent[], context: ReplyContext): void {
  it('is an error for the client if the provider breaks off, after any event', () => {
    for (let length = 0; length < wire.length; length += 1) {
      const { events, complete } = decodeUntilFault(protocol, wire.slice(0, length), context.call);
      if (complete) continue;
      const { complete: success, error } = readFailedReply(protocol, events, context);
      expect([success, error], `after ${length} events`).toEqual([false, cut.message]);
    }
  });

  it('reports garbage of the vendor, in place of any event', () => {
    for (const [index] of wire.entries()) {
      for (const data of garbage) {
        const { events, complete } = decodeUntilFault(
          protocol,
          wire.with(index, { event: undefined, data }),
          context.call,
        );
        // What follows a reply's last word is not looked at.
        if (decodeUntilFault(protocol, wire.slice(0, index), context.call).complete) continue;
        expect(complete, `${data} in place of event ${index}`).toBe(false);
        expect(
          readFailedReply(protocol, events, context).complete,
          `${data} in place of event ${index}`,
        ).toBe(false);
      }
    }
  });
}
