/**
 * Replies their provider bills nothing for: Anthropic answers the result of a programmatic tool call without
 * asking its model.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { openOneReply, type OneReply } from '../support/one-reply.ts';
import { withCounts } from '../support/rates.ts';
import { wires } from '../support/replaying-vendor.ts';
import { chatReply, generateReply, responsesReply } from '../support/replies.ts';

const call = {
  type: 'tool_use',
  id: 'toolu_2',
  name: 'look',
  input: { id: 'x_7' },
  caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' },
};
const output = {
  type: 'code_execution_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: { type: 'code_execution_result', stdout: 'step one\n', stderr: '', return_code: 0, content: [] },
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-x',
  content: [output, call],
  container: { id: 'container_1', expires_at: '2026-11-22T04:00:00Z' },
  stop_reason: 'tool_use',
  stop_sequence: null,
  stop_details: null,
  usage: {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
    server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
  },
};
const stream = [{ type: 'message_start', message }, { type: 'message_stop' }];
const free = {
  type: 'answered',
  outcome: 'completed',
  error: undefined,
  charge: { cost: 0n, basis: 'usage', suspect: false },
};

describe('a message that is complete in its first event', () => {
  let harness: OneReply;
  beforeAll(async () => void (harness = await openOneReply('messages')));

  it.each(wires)(
    'reaches a client of %s whole, and costs what the provider bills: nothing',
    async (client) => {
      for (const [reply, streamed] of [
        [stream, true],
        [stream, false],
        [message, true],
        [message, false],
      ] as const) {
        const { status, text, end } = await harness.ask(client, reply, { stream: streamed });
        expect([status, text]).toEqual([200, expect.stringContaining('x_7')]);
        expect(end).toMatchObject(free);
      }
    },
  );

  it('reaches a client that speaks messages too unchanged', async () => {
    const { text } = await harness.ask('messages', stream);
    const renamed = JSON.stringify({ type: 'message_start', message: { ...message, model: 'house/model' } });
    expect(text).toBe(
      `event: message_start\ndata: ${renamed}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`,
    );
  });

  it('counts as cut if the stream ends without message_stop', async () => {
    const { text, end } = await harness.ask('chat-completions', stream.slice(0, 1));
    expect(text).not.toContain('[DONE]');
    expect(end).toMatchObject({ outcome: 'cut', error: { code: 'upstream_failed' } });
  });

  it('continues if the provider sends more, and ends as the later event says', async () => {
    const more = [
      { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'and more' } },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'max_tokens' },
        usage: { input_tokens: 7, output_tokens: 3 },
      },
    ];
    const { text, end } = await harness.ask('chat-completions', [
      ...stream.slice(0, 1),
      ...more,
      ...stream.slice(1),
    ]);
    expect(text).toContain('and more');
    expect(text).toContain('"finish_reason":"length"');
    expect(end).toMatchObject({ charge: { uses: withCounts({ input: 7, output: 3 }), cost: 13_000n } });
  });

  it('has no empty text if a relay starts its message with one', async () => {
    const begun = {
      type: 'message_start',
      message: {
        ...message,
        content: [{ type: 'text', text: '' }],
        stop_reason: '',
        usage: { input_tokens: 4, output_tokens: 1 },
      },
    };
    const block = [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
      { type: 'content_block_stop', index: 0 },
    ];
    const ending = [
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ];
    const { text, end } = await harness.ask('responses', [begun, ...block, ...ending]);
    expect(text.match(/response\.content_part\.added/g)).toHaveLength(2);
    expect(end).toMatchObject({ charge: { uses: withCounts({ input: 4, output: 9 }) } });
  });
});

describe('a provider that reports zero tokens', () => {
  const none = [0, 0] as const;
  const calls = [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"id":"x_7"}' } }];
  const message = { role: 'assistant', content: null, tool_calls: calls };
  const completion = chatReply('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }, none);
  const item = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'look',
    arguments: '{"id":"x_7"}',
    status: 'completed',
  };
  const response = responsesReply('', { output: [item] }, none);
  const parts = [{ functionCall: { name: 'look', args: { id: 'x_7' } } }];
  const candidate = { content: { role: 'model', parts }, finishReason: 'STOP', index: 0 };
  const content = generateReply('', { candidates: [candidate] }, none);

  it.each([
    ['chat-completions', completion],
    ['responses', response],
    ['generate-content', content],
  ] as const)('bills nothing for a tool call on %s, and neither does the gateway', async (wire, reply) => {
    const harness = await openOneReply(wire);
    for (const client of wires) {
      const { status, text, end } = await harness.ask(client, reply);
      expect([status, text]).toEqual([200, expect.stringContaining('x_7')]);
      expect(end).toMatchObject(free);
    }
  });
});
