/**
 * Turns that a provider paused or broke off: no client may take them for finished, and a client of the
 * provider's protocol gets its word for it.
 */
import { describe, expect, it } from 'vitest';
import { openOneReply } from '../support/one-reply.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { responsesReply } from '../support/replies.ts';

const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'news' } };
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-x',
  content: [{ type: 'text', text: 'Let me look.' }, search],
  stop_reason: 'pause_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 4 },
};
const paused = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Let me look.' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'pause_turn', stop_sequence: null },
    usage: { output_tokens: 4 },
  },
  { type: 'message_stop' },
];

function buildBroken(reason: string): object {
  return {
    candidates: [
      { content: {}, finishReason: reason, index: 0, finishMessage: 'Malformed function call: look(' },
    ],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 },
    modelVersion: 'gemini-x',
    responseId: 'r1',
  };
}

const incomplete = responsesReply(
  'Let me look.',
  { status: 'incomplete', incomplete_details: { reason: 'something_new' } },
  [9, 4],
);

/** How each protocol says that a turn is not finished. */
const unfinished: Readonly<Record<Wire, RegExp>> = {
  'chat-completions': /"finish_reason":"length"/,
  responses: /"status":"(incomplete|failed)"/,
  messages: /"stop_reason":"(pause_turn|max_tokens)"/,
  'generate-content':
    /"finishReason":"(MAX_TOKENS|OTHER|MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|SOMETHING_NEW)"/,
};
const finished =
  /"finish_reason":"stop"|"type":"response\.completed"|"stop_reason":"end_turn"|"finishReason":"STOP"/;

describe.each(wires)('a client of %s', (client) => {
  it('learns that Claude paused its turn', async () => {
    const harness = await openOneReply('messages');
    for (const reply of [message, paused]) {
      const { status, text, end } = await harness.ask(client, reply);
      expect([status, text]).toEqual([200, expect.stringMatching(unfinished[client])]);
      expect(text).not.toMatch(finished);
      expect(end).toMatchObject({
        outcome: 'completed',
        charge: { basis: 'usage', usage: { input: 9, output: 4 } },
      });
    }
    await harness.close();
  });

  it.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'SOMETHING_NEW'])(
    'learns that Gemini broke off by %s',
    async (reason) => {
      const harness = await openOneReply('generate-content');
      for (const reply of [buildBroken(reason), [buildBroken(reason)]]) {
        const { status, text, end } = await harness.ask(client, reply);
        expect([status, text]).toEqual([200, expect.stringMatching(unfinished[client])]);
        expect(text).not.toMatch(finished);
        expect(end).toMatchObject({
          outcome: 'completed',
          charge: { basis: 'usage', usage: { input: 9, output: 4 } },
        });
      }
      await harness.close();
    },
  );

  it('learns that a response is incomplete, whatever the reason', async () => {
    const harness = await openOneReply('responses');
    for (const reply of [incomplete, [{ type: 'response.incomplete', response: incomplete }]]) {
      const { status, text } = await harness.ask(client, reply);
      expect([status, text]).toEqual([200, expect.stringMatching(unfinished[client])]);
      expect(text).not.toMatch(finished);
    }
    await harness.close();
  });
});

it("a client of the provider's own protocol receives its own word, unchanged", async () => {
  const claude = await openOneReply('messages');
  expect(JSON.parse((await claude.ask('messages', message)).text)).toEqual({
    ...message,
    model: 'house/model',
  });
  await claude.close();
  const gemini = await openOneReply('generate-content');
  expect(
    JSON.parse((await gemini.ask('generate-content', buildBroken('UNEXPECTED_TOOL_CALL'))).text),
  ).toEqual({
    ...buildBroken('UNEXPECTED_TOOL_CALL'),
    modelVersion: 'house/model',
  });
  await gemini.close();
});
