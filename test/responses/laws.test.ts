import fc from 'fast-check';
import { expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { fold } from '../contract/replies.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { makeCall } from './bodies.ts';

it('reads any output that a client sends back: text, calls and sealed state', () => {
  fc.assert(
    fc.property(replyEvents, (events) => {
      const body = protocol.client.encodeReply(events, {
        id: 'x1',
        model: 'a/b',
        created: 1,
        call: makeCall(),
      });
      const output: unknown = JSON.parse(JSON.stringify(body)).output;
      const turns = makeCall({
        input: [{ role: 'user', content: 'x' }, ...(Array.isArray(output) ? output : [])],
      })
        .decode()
        .turns.slice(1);
      const blocks = turns.flatMap((turn) => turn.blocks);
      const said = fold(events).candidates[0];
      expect(blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')).toBe(
        said?.text ?? '',
      );
      expect(
        blocks.flatMap((block) =>
          block.type === 'tool-call' ? [[block.id, block.arguments, block.opaque]] : [],
        ),
      ).toEqual(said?.calls.map((call) => [call.id, call.arguments, call.sealed]) ?? []);
      expect(
        blocks.flatMap((block) => (block.type === 'reasoning' && block.opaque ? [block.opaque] : [])),
      ).toEqual(said?.sealed ?? []);
    }),
    { numRuns: 200 },
  );
});
