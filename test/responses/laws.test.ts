import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestSchema } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { checkEvents } from '../contract/protocol.ts';
import { decodeAll, fold, readStream } from '../contract/replies.ts';
import { replyEvents, requestBody } from './arbitrary.ts';
import { callOf, callWith, modelFor, sentBody } from './bodies.ts';

const { client, upstream } = protocol;

describe('for any conversation', () => {
  it('decoding and encoding again gives the same body, by way of a canonical request', () => {
    fc.assert(
      fc.property(requestBody, (body) => {
        const request = callOf(body).decode();
        expect(requestSchema.safeParse(request).error?.message).toBeUndefined();
        const model = modelFor(body);
        const { body: encoded, losses } = upstream.encodeRequest(structuredClone(request), model, undefined);
        expect(JSON.parse(JSON.stringify(encoded))).toEqual(sentBody(JSON.parse(JSON.stringify(body)), model));
        expect(losses).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('the verbatim lane sends what the translated one does', () => {
    fc.assert(
      fc.property(requestBody, (body) => {
        const text = JSON.stringify(body);
        const model = modelFor(body);
        const retargeted = upstream.retarget(text, { call: callOf(body), model: model.upstream, outputLimit: undefined, capabilities: model.capabilities });
        expect(JSON.parse(retargeted)).toEqual(sentBody(JSON.parse(text), model));
      }),
      { numRuns: 100 },
    );
  });
});

describe('for any reply', () => {
  it('a stream of it says the same, wherever its bytes are cut', () => {
    fc.assert(
      fc.property(replyEvents, fc.nat(), (events, place) => {
        const call = callWith({ stream: true });
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
        const again = upstream.decodeReply(JSON.parse(JSON.stringify(client.encodeReply(events, { id: 'x1', model: 'a/b', created: 1, call }))), call);
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 300 },
    );
  });

  it('a client that sends the output back is understood: what was said, called and sealed', () => {
    fc.assert(
      fc.property(replyEvents, (events) => {
        const body = client.encodeReply(events, { id: 'x1', model: 'a/b', created: 1, call: callWith() });
        const output: unknown = JSON.parse(JSON.stringify(body)).output;
        const turns = callWith({ input: [{ role: 'user', content: 'x' }, ...(Array.isArray(output) ? output : [])] }).decode().turns.slice(1);
        const blocks = turns.flatMap((turn) => turn.blocks);
        const said = fold(events).candidates[0];
        expect(blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')).toBe(said?.text ?? '');
        expect(blocks.flatMap((block) => (block.type === 'tool-call' ? [[block.id, block.arguments, block.opaque]] : []))).toEqual(said?.calls.map((call) => [call.id, call.arguments, call.sealed]) ?? []);
        expect(blocks.flatMap((block) => (block.type === 'reasoning' && block.opaque ? [block.opaque] : []))).toEqual(said?.sealed ?? []);
      }),
      { numRuns: 200 },
    );
  });
});
