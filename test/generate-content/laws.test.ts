import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestSchema } from '../../core/index.ts';
import { checkEvents } from '../contract/protocol.ts';
import { decodeAll, fold, readStream } from '../contract/replies.ts';
import { replyEvents, requestBody } from './arbitrary.ts';
import { callWith, matchOf, modelWith, protocol } from './bodies.ts';

const { client, upstream } = protocol;
const model = modelWith();

describe('for any conversation', () => {
  it('decoding and encoding again gives the same body, by way of a canonical request', () => {
    fc.assert(
      fc.property(requestBody, (body) => {
        const text = JSON.stringify(body);
        const request = client.read(JSON.parse(text), text, matchOf(), {}).decode();
        expect(requestSchema.safeParse(request).error?.message).toBeUndefined();
        const { body: encoded, losses } = upstream.encodeRequest(structuredClone(request), model, undefined);
        expect(JSON.parse(JSON.stringify(encoded))).toEqual(JSON.parse(text));
        expect(losses).toEqual([]);
      }),
      { numRuns: 250 },
    );
  });
});

describe('for any reply', () => {
  it.each(['events', 'array'] as const)('a stream of %s says the same, wherever its bytes are cut', (framing) => {
    fc.assert(
      fc.property(replyEvents, fc.nat(), (events, place) => {
        const call = callWith({ generationConfig: { candidateCount: events.filter(({ type }) => type === 'finish').length } }, matchOf(true, framing));
        const encoder = client.encodeEvents({ id: 'x1', model: 'a/b', created: 1, call });
        const told = events.map((event) => encoder.push(event)).join('');
        const bytes = Buffer.from(told);
        const again = framing === 'array' ? upstream.decodeReply(JSON.parse(told), call) : decodeAll(upstream.decodeEvents(call), readStream(bytes, place % (bytes.length + 1)));
        checkEvents(again);
        expect(fold(again)).toEqual(fold(events));
      }),
      { numRuns: 120 },
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
      { numRuns: 150 },
    );
  });
});
