/**
 * Providers of chat-completions that send no finish reason, and tool calls without arguments, as every client
 * sees them.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { openOneReply, type OneReply } from '../support/one-reply.ts';
import { wires } from '../support/replaying-vendor.ts';

const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const message = { role: 'assistant', content: 'It is me.' };
const completion = {
  id: 'gen-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  provider: 'Nebius',
  choices: [{ index: 0, message, logprobs: null, finish_reason: null, native_finish_reason: null }],
  usage,
};
const chunk = (delta: object, more: object = {}): object => ({
  id: 'gen-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
});
const counted = { id: 'gen-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage };
const stream = [
  chunk({ role: 'assistant', content: 'It is ' }),
  chunk({ content: 'me.' }),
  counted,
  '[DONE]',
];
const paid = {
  type: 'answered',
  outcome: 'completed',
  error: undefined,
  charge: { basis: 'usage', cost: 9000n, suspect: false },
};

let harness: OneReply;
beforeAll(async () => void (harness = await openOneReply('chat-completions')));

describe.each(wires)('a client of %s', (client) => {
  it("receives a reply without a finish reason whole, and pays for the provider's usage", async () => {
    for (const reply of [completion, stream]) {
      const { status, text, end } = await harness.ask(client, reply);
      expect([status, text]).toEqual([200, expect.stringMatching(/It is (me\.|[^]*me\.)/)]);
      expect(end).toMatchObject(paid);
    }
  });

  it('learns that a stream was cut if neither a reason nor usage comes before its end', async () => {
    for (const reply of [stream.slice(0, 2), [...stream.slice(0, 2), '[DONE]'], stream.slice(0, 3)]) {
      expect((await harness.ask(client, reply)).end).toMatchObject({
        outcome: 'cut',
        error: { code: 'upstream_failed' },
      });
    }
  });

  it('receives a call without arguments as a call with an empty object', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: 'null' } };
    const whole = {
      ...completion,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, tool_calls: [call] },
          finish_reason: 'tool_calls',
        },
      ],
    };
    const streamed = [
      chunk({ role: 'assistant', tool_calls: [{ index: 0, ...call }] }),
      { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      counted,
      '[DONE]',
    ];
    for (const reply of [whole, streamed]) {
      const { text } = await harness.ask(client, reply);
      expect(text).not.toContain('_raw');
      // A client of its protocol receives the provider's own bytes.
      expect(text).toMatch(
        client === 'chat-completions'
          ? /"arguments":"null"/
          : /"arguments":"\{\}"|"partial_json":"\{\}"|"input":\{\}|"args":\{\}/,
      );
    }
  });
});

it('a choice without a message counts as a failure of the provider', async () => {
  const { status, text, end } = await harness.ask('chat-completions', {
    ...completion,
    choices: [{ index: 0, message: null, finish_reason: 'stop' }],
  });
  expect([status, end.type]).toEqual([502, 'failed']);
  expect(text).toContain(
    '"The provider broke off its reply with an error: it sent a choice without a message."',
  );
});
