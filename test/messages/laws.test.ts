import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestSchema, type ClientCall } from '../../core/index.ts';
import { checkEvents } from '../contract/protocol.ts';
import { decodeAll, fold, readStream } from '../contract/replies.ts';
import { anyEvent, replyEvents, requestBody } from './arbitrary.ts';
import { callWith, modelFor, protocol, sentBody, version } from './bodies.ts';

const { client, upstream } = protocol;

function read(text: string): ClientCall {
  return client.read(JSON.parse(text), text, { operation: 'generate' }, version);
}

describe('for any conversation', () => {
  it('decoding and encoding again gives the same body, by way of a canonical request', () => {
    fc.assert(
      fc.property(requestBody, (body) => {
        const text = JSON.stringify(body);
        const request = read(text).decode();
        expect(requestSchema.safeParse(request).error?.message).toBeUndefined();
        const model = modelFor(body);
        const { body: encoded, losses } = upstream.encodeRequest(request, model, undefined);
        expect(JSON.parse(JSON.stringify(encoded))).toEqual(sentBody(JSON.parse(text), model));
        expect(losses).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  it('the verbatim lane sends what the translated one does', () => {
    fc.assert(
      fc.property(requestBody, (body) => {
        const text = JSON.stringify(body);
        const model = modelFor(body);
        const retargeted = upstream.retarget(text, { call: read(text), model: model.upstream, outputLimit: undefined, capabilities: model.capabilities });
        expect(JSON.parse(retargeted)).toEqual(sentBody(JSON.parse(text), model));
      }),
      { numRuns: 200 },
    );
  });
});

describe('for any reply', () => {
  const context = { id: 'x1', model: 'a/b', created: 1, call: callWith() };

  it('a stream of it says the same, wherever its bytes are cut', () => {
    fc.assert(
      fc.property(replyEvents, fc.nat(), (events, place) => {
        const encoder = client.encodeEvents(context);
        const bytes = Buffer.from(events.map((event) => encoder.push(event)).join(''));
        const again = decodeAll(upstream.decodeEvents(context.call), readStream(bytes, place % (bytes.length + 1)));
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 300 },
    );
  });

  it('a whole reply of it says the same', () => {
    fc.assert(
      fc.property(replyEvents, (events) => {
        const again = upstream.decodeReply(JSON.parse(JSON.stringify(client.encodeReply(events, context))), context.call);
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 300 },
    );
  });

  it('whatever a vendor sends is read to events in order, and never throws', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 6 }), (values) => {
        checkEvents(decodeAll(upstream.decodeEvents(context.call), values.map((value) => ({ event: undefined, data: JSON.stringify(value) }))));
      }),
      { numRuns: 1000 },
    );
  });
});
