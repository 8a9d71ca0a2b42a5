import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isGatewayError, requestSchema } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { checkEvents } from '../contract/protocol.ts';
import { decodeAll, fold, readStream } from '../contract/replies.ts';
import { anyChunk, replyEvents, requestBody } from './arbitrary.ts';
import { callWith, modelFor, sentBody } from './bodies.ts';

const { client, upstream } = protocol;

describe('for any conversation', () => {
  it('decoding and encoding again gives the same body, by way of a canonical request', () => {
    fc.assert(
      fc.property(requestBody, (body) => {
        const text = JSON.stringify(body);
        const call = client.read(JSON.parse(text), text, { operation: 'generate' }, {});
        const request = call.decode();
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
        const call = client.read(JSON.parse(text), text, { operation: 'generate' }, {});
        const model = modelFor(body);
        const retargeted = upstream.retarget(text, { call, model: model.upstream, outputLimit: undefined, capabilities: model.capabilities });
        expect(JSON.parse(retargeted)).toEqual(sentBody(JSON.parse(text), model));
      }),
      { numRuns: 200 },
    );
  });
});

describe('for any reply', () => {
  it('a stream of it says the same, wherever its bytes are cut', () => {
    fc.assert(
      fc.property(replyEvents, fc.nat(), (events, place) => {
        const call = callWith({ n: events.filter(({ type }) => type === 'finish').length, stream: true, stream_options: { include_usage: true } });
        const encoder = client.encodeEvents({ id: 'x1', model: 'a/b', created: 1, call });
        const bytes = Buffer.from(events.map((event) => encoder.push(event)).join(''));
        const again = decodeAll(upstream.decodeEvents(call), readStream(bytes, place % (bytes.length + 1)));
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 300 },
    );
  });

  it('a whole reply of it says the same', () => {
    fc.assert(
      fc.property(replyEvents, (events) => {
        const call = callWith();
        const body = client.encodeReply(events, { id: 'x1', model: 'a/b', created: 1, call });
        const again = upstream.decodeReply(JSON.parse(JSON.stringify(body)), call);
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 300 },
    );
  });
});

describe('whatever comes', () => {
  it('a vendor stream of anything gives events in their shape and order', () => {
    fc.assert(
      fc.property(fc.array(anyChunk, { maxLength: 6 }), (chunks) => {
        const wire = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => ({ event: undefined, data }));
        checkEvents(decodeAll(upstream.decodeEvents(callWith()), wire));
      }),
      { numRuns: 500 },
    );
  });

  it('a body of anything is a call or is refused, and nothing else happens', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), requestBody.chain((body) => fc.tuple(fc.constantFrom(...Object.keys(body)), fc.jsonValue({ maxDepth: 3 })).map(([name, value]) => ({ ...body, [name]: value })))), (body) => {
        const text = JSON.stringify(body);
        try {
          client.read(JSON.parse(text), text, { operation: 'generate' }, {}).decode();
        } catch (error) {
          if (!isGatewayError(error) || error.code !== 'invalid_request') throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});
