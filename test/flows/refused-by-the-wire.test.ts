/**
 * A client gets what a model refuses on chat-completions: tools of GPT-5.5 over responses, and schemas by
 * JSON mode.
 */
import { beforeAll, expect, it } from 'vitest';
import { isObject } from '../support/json.ts';
import { postJson } from '../support/post.ts';
import { openVendorHarness, readWire, type VendorHarness } from '../support/vendor-harness.ts';

let harness: VendorHarness;
beforeAll(async () => {
  harness = await openVendorHarness();
});

const tools = [
  {
    type: 'function',
    function: {
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
    },
  },
];

function post(body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' };
  return postJson(`${harness.gateway.url}/v1/chat/completions`, body, headers);
}

function readMessage(reply: unknown): Record<string, unknown> {
  const [choice]: unknown[] = isObject(reply) && Array.isArray(reply.choices) ? reply.choices : [];
  const message = isObject(choice) ? choice.message : undefined;
  return isObject(message) ? message : {};
}

it('the gateway runs a chat client through a whole tool loop of GPT-5.5', async () => {
  harness.vendors.openai.script(
    'gpt-5.5',
    { toolCalls: [{ name: 'look', arguments: '{"at":"the sea"}' }] },
    { text: 'It is calm.' },
  );
  const question = { role: 'user', content: 'Look at the sea.' };
  const first = await post({
    model: 'openai/gpt-5.5',
    messages: [question],
    tools,
    reasoning_effort: 'high',
    seed: 7,
  });
  expect(first.status).toBe(200);
  expect(first.headers.get('x-tollgate-dropped')).toContain('seed');
  const asked = readMessage(await first.json());
  expect(asked.tool_calls).toMatchObject([
    { type: 'function', function: { name: 'look', arguments: '{"at":"the sea"}' } },
  ]);
  const [call]: unknown[] = Array.isArray(asked.tool_calls) ? asked.tool_calls : [];
  const result = { role: 'tool', tool_call_id: isObject(call) ? call.id : '', content: 'calm' };

  const second = await post({
    model: 'openai/gpt-5.5',
    messages: [question, asked, result],
    tools,
    stream: true,
  });
  expect(second.status).toBe(200);
  const stream = await second.text();
  expect(stream).toContain('chat.completion.chunk');
  expect(stream.trimEnd().endsWith('data: [DONE]')).toBe(true);
  expect(harness.journal().map(readWire)).toEqual(['responses', 'responses']);
});

it('the gateway reports what a chat client loses by going to responses', async () => {
  const reply = await post({
    model: 'openai/gpt-5.5',
    messages: [{ role: 'user', content: 'Look.' }],
    tools,
    n: 2,
  });
  expect([reply.status, reply.headers.get('x-tollgate-dropped')]).toEqual([
    200,
    expect.stringMatching(/\bn\b/),
  ]);
});

it.each([
  [{ type: 'any' }, {}, '', { thinking: { type: 'disabled' }, tool_choice: 'required' }],
  [
    { type: 'tool', name: 'look' },
    { thinking: { type: 'enabled', budget_tokens: 2000 } },
    'thinking',
    { thinking: { type: 'disabled' }, tool_choice: { function: { name: 'look' } } },
  ],
])(
  'DeepSeek does not think if a Claude client demands a call: %j with %j',
  async (choice, fields, lost, sent) => {
    const reply = await fetch(`${harness.gateway.url}/alpha/v1/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${harness.key}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({
        model: 'deepseek/deepseek-v4-flash',
        max_tokens: 4000,
        messages: [{ role: 'user', content: 'Look.' }],
        tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }],
        tool_choice: choice,
        ...fields,
      }),
    });
    expect([reply.status, reply.headers.get('x-tollgate-dropped') ?? '']).toEqual([200, lost]);
    expect(JSON.parse(harness.journal().at(-1)?.received.body.toString() ?? '')).toMatchObject(sent);
  },
);
