import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkEvents } from '../contract/events.ts';
import { fold } from '../contract/replies.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { makeCall, makeMatch, protocol, showingThoughts } from './bodies.ts';

const { client, upstream } = protocol;

it('any reply decodes to the same from events and from the elements of an array', () => {
  fc.assert(
    fc.property(replyEvents, (events) => {
      const call = makeCall(
        {
          generationConfig: {
            ...showingThoughts.generationConfig,
            candidateCount: events.filter(({ type }) => type === 'finish').length,
          },
        },
        makeMatch(true, 'array'),
      );
      const encoder = client.encodeEvents({ id: 'x1', model: 'a/b', created: 1, call });
      const json = events.map((event) => encoder.push(event)).join('');
      const again = upstream.decodeReply(JSON.parse(json), call);
      checkEvents(again);
      expect(fold(again)).toEqual(fold(events));
    }),
    { numRuns: 120 },
  );
});
