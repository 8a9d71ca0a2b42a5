/** Providers that correct a figure downwards before their stream ends: the gateway charges the last one. */
import { expect, it } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, station } from '../support/station.ts';

const gemini = (text: string, output: number, finish?: string): object => ({
  candidates: [
    { content: { role: 'model', parts: [{ text }] }, index: 0, ...(finish ? { finishReason: finish } : {}) },
  ],
  usageMetadata: { promptTokenCount: 4, candidatesTokenCount: output, totalTokenCount: 4 + output },
});
const chunk = (content: string, output: number, finish: string | null): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
  usage: { prompt_tokens: 4, completion_tokens: output, total_tokens: 4 + output },
});
const user = [{ role: 'user', content: 'Is it so?' }];

const cases = {
  'generate-content': {
    path: '/beta/v1beta/models/house/model:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Is it so?' }] }] },
    events: [gemini('It ', 169), gemini('is.', 79, 'STOP')],
    usage: { input: 4, output: 79 },
  },
  'chat-completions': {
    path: '/v1/chat/completions',
    body: { model: 'house/model', stream: true, messages: user },
    events: [chunk('It ', 169, null), chunk('is.', 79, 'stop')],
    usage: { input: 4, output: 79 },
  },
  messages: {
    path: '/alpha/v1/messages',
    body: { model: 'house/model', max_tokens: 100, stream: true, messages: user },
    events: [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 612, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'It is.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { input_tokens: 28, output_tokens: 3 },
      },
      { type: 'message_stop' },
    ],
    usage: { input: 28, output: 3 },
  },
} as const;

it.each(['generate-content', 'chat-completions', 'messages'] as const)(
  'a stream of %s costs what its provider reports last',
  async (wire) => {
    const { path, body, events, usage } = cases[wire];
    const sent = events
      .map((event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
      .join('');
    const vendor = await startScriptedVendor(
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(wire === 'chat-completions' ? `${sent}data: [DONE]\n\n` : sent),
    );
    const gateway = await startGateway({
      plugins: [
        acceptAnyKey(),
        chatCompletions(),
        generateContent(),
        messages(),
        station({ name: 'vendor', endpoints: { [wire]: vendor.origin } }),
      ],
    });
    const answer = await postJson(gateway.url + path, body, { 'anthropic-version': '2023-06-01' });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('is.')]);
    const cost = BigInt(usage.input) * 1000n + BigInt(usage.output) * 2000n;
    expect(await gateway.ended(1)).toMatchObject([
      { outcome: 'completed', charge: { usage, cost, basis: 'usage', suspect: false } },
    ]);
    await gateway.close();
    await vendor.close();
  },
);
