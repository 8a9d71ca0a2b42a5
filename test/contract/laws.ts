/**
 * What holds of a protocol for any request and any reply, beyond its cases: drawn at random from arbitraries
 * of the protocol's own.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  isGatewayError,
  requestSchema,
  restoreRequest,
  splice,
  type CanonicalEvent,
  type CanonicalRequest,
  type ClientCall,
  type Loss,
  type Model,
  type Protocol,
} from '../../core/index.ts';
import { checkEvents } from './events.ts';
import { mutate } from './mutation.ts';
import type { ProtocolFacts } from './protocol.ts';
import { recombine } from './recombination.ts';
import { decodeAll, fold, readStream } from './replies.ts';

export interface Arbitraries {
  /** Bodies as clients may write them; made of the parts of the cases' requests unless given. */
  readonly request?: fc.Arbitrary<unknown>;
  /** Whole replies that the wire can say without a loss. */
  readonly reply: fc.Arbitrary<readonly CanonicalEvent[]>;
  /** The body of a call that is answered with such a reply; the first case's unless given. */
  readonly asking?: (reply: readonly CanonicalEvent[]) => unknown;
}

/** A client's call, and the model of its own protocol that it goes to. */
export interface OwnCall {
  readonly call: ClientCall;
  readonly text: string;
  readonly model: Model;
  /** What a plugin does to the request. */
  readonly change?: ((request: CanonicalRequest) => CanonicalRequest) | undefined;
}

/** What a provider of the client's own protocol is sent if a plugin returns a changed copy of the request. */
export function encodeOwn(
  { upstream }: Protocol,
  { call, text, model, change = (request) => request }: OwnCall,
): { readonly body: unknown; readonly losses: readonly Loss[] } {
  const before = call.decode();
  const after = change(structuredClone(before));
  if (!upstream.parts) {
    const { body, losses } = upstream.encodeRequest(after, model, undefined);
    // What is off or unset anyway need not be said.
    const unsaid = Object.entries(Object(JSON.parse(text))).filter(([, value]) => !value);
    return { body: { ...Object.fromEntries(unsaid), ...Object(asJson(body)) }, losses };
  }
  const options = { call, text, before, after, model, provider: 'vendor', outputLimit: undefined };
  const { body: json, losses } = restoreRequest(upstream, upstream.parts, options);
  return { body: JSON.parse(json), losses };
}

/** What the cases hold that the laws draw on. */
export interface Examples {
  readonly requests: readonly unknown[];
  /** The parsed data of the cases' streams. */
  readonly events: readonly unknown[];
}

type CallOf = (text: string) => ClientCall;

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Registers the laws of requests: what is read can be written again, in either lane. */
export function testRequestLaws(
  { protocol, model: modelFor, sent, arbitrary }: ProtocolFacts,
  { requests }: Examples,
  callOf: CallOf,
): void {
  const { upstream } = protocol;

  const accepts = (body: unknown): boolean => {
    try {
      callOf(JSON.stringify(body)).decode();
      return true;
    } catch (error) {
      if (isGatewayError(error)) return false;
      throw error;
    }
  };
  const request = arbitrary
    ? (arbitrary.request ?? recombine(requests)).filter(accepts)
    : fc.constantFrom(...requests);

  it('any request is restored by way of its canonical form, and nothing is lost', () => {
    fc.assert(
      fc.property(request, (body) => {
        const text = JSON.stringify(body);
        const call = callOf(text);
        expect(requestSchema.safeParse(call.decode()).error?.message).toBeUndefined();
        const model = modelFor(body);
        const restored = encodeOwn(protocol, { call, text, model });
        expect(restored).toEqual({ body: sent(asJson(body), model), losses: [] });
      }),
      { numRuns: 200 },
    );
  });

  it('any request says the same to the model in the verbatim lane', () => {
    fc.assert(
      fc.property(request, (body) => {
        const text = JSON.stringify(body);
        const model = modelFor(body);
        const retargeted = splice(
          text,
          upstream.retarget({
            call: callOf(text),
            model: model.upstream,
            provider: 'vendor',
            outputLimit: undefined,
            capabilities: model.capabilities,
          }),
        );
        expect(JSON.parse(retargeted)).toEqual(sent(asJson(body), model));
      }),
      { numRuns: 100 },
    );
  });

  it('a request with one thing wrong is a call or is refused as such, and nothing else happens', () => {
    const model = modelFor(requests[0]);
    fc.assert(
      fc.property(mutate(requests), (body) => {
        const text = JSON.stringify(body ?? null);
        try {
          const decoded = callOf(text).decode();
          expect(requestSchema.safeParse(decoded).error?.message).toBeUndefined();
          upstream.encodeRequest(decoded, model, undefined);
        } catch (error) {
          if (!isGatewayError(error) || error.status !== 400) throw error;
        }
      }),
      { numRuns: 300 },
    );
  });
}

/**
 * Registers the laws of replies: a written reply can be read, however it is cut, and any input gives events
 * in order.
 */
export function testReplyLaws(
  facts: ProtocolFacts,
  { requests, events: examples }: Examples,
  callOf: CallOf,
): void {
  const { protocol, arbitrary } = facts;
  const callFor = (reply: readonly CanonicalEvent[]): ClientCall =>
    callOf(JSON.stringify(arbitrary?.asking?.(reply) ?? requests[0]));

  if (arbitrary) testReplyLaw(facts, arbitrary, callFor);

  it('a stream with one thing wrong in each event gives events in their shape and order', () => {
    fc.assert(
      fc.property(fc.array(mutate(examples), { maxLength: 8 }), (values) => {
        const wire = values.map((value) => ({ event: undefined, data: JSON.stringify(value ?? null) }));
        checkEvents(decodeAll(protocol.upstream.decodeEvents(callFor([])), wire));
      }),
      { numRuns: 250 },
    );
  });
}

function testReplyLaw(
  { protocol }: ProtocolFacts,
  { reply }: Arbitraries,
  callFor: (reply: readonly CanonicalEvent[]) => ClientCall,
): void {
  const { client, upstream } = protocol;

  it('any reply says the same as a stream, wherever its bytes are cut', () => {
    fc.assert(
      fc.property(reply, fc.nat(), (events, place) => {
        const call = callFor(events);
        const encoder = client.encodeEvents({
          id: 'x1',
          model: 'a/b',
          created: 1,
          call: { ...call, usageWanted: true, decode: () => call.decode() },
        });
        const bytes = Buffer.from(events.map((event) => encoder.push(event)).join(''));
        const again = decodeAll(upstream.decodeEvents(call), readStream(bytes, place % (bytes.length + 1)));
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 125 },
    );
  });

  it('any reply says the same as a whole', () => {
    fc.assert(
      fc.property(reply, (events) => {
        const call = callFor(events);
        const again = upstream.decodeReply(
          asJson(client.encodeReply(events, { id: 'x1', model: 'a/b', created: 1, call })),
          call,
        );
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 125 },
    );
  });
}
