/**
 * Tool loops with providers that are strict about what they handed out before. In
 * `changed-providers.test.ts` a conversation changes providers.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { wires } from '../support/replaying-vendor.ts';
import { openVendorHarness, readWire, type VendorHarness } from '../support/vendor-harness.ts';

const tools = [
  {
    name: 'find_town',
    schema: {
      type: 'object',
      properties: { town: { type: 'string' } },
      required: ['town'],
      additionalProperties: false,
    },
  },
  { name: 'now', schema: { type: 'object', properties: {} } },
];

let harness: VendorHarness;
beforeAll(async () => {
  harness = await openVendorHarness();
});

/**
 * The assistant's reasoning, by each of its messages in the last request to a provider of chat-completions.
 */
function readThoughts(): unknown {
  const body =
    harness
      .journal()
      .findLast((entry) => readWire(entry) === 'chat-completions')
      ?.received.body.toString() ?? '{}';
  const { messages }: { readonly messages: readonly Record<string, unknown>[] } = JSON.parse(body);
  return messages.filter(({ role }) => role === 'assistant').map((message) => message.reasoning_content);
}

describe.each(wires)('a tool loop of a %s client with a DeepSeek model', (client) => {
  it.each(['streamed', 'whole'] as const)("returns the model's reasoning to it, %s", async (form) => {
    const talk = harness.clients[client]({ text: 'Look around.', tools, thinks: true });
    const { reasoning } = await talk.ask('deepseek/deepseek-v4-flash', form);
    talk.answer(['Whitby', 'noon']);
    await talk.ask('deepseek/deepseek-v4-flash', form);
    expect(reasoning).not.toBe('');
    expect(readThoughts()).toEqual([reasoning]);
  });
});

it.each(['google/gemini-3-flash-preview', 'google/gemini-2.5-flash', 'anthropic/claude-sonnet-4-5'])(
  'a loop that a Gemini model without signatures started continues with %s',
  async (second) => {
    const talk = harness.clients['generate-content']({ text: 'Look around.', tools, thinks: false });
    await talk.ask('google/gemini-2.5-flash', 'whole');
    talk.answer(['Whitby', 'noon']);
    expect((await talk.ask(second, 'whole')).text).toContain('said: Whitby');
  },
);

it("fields of a beta reach their provider with the beta's name on the way back too", async () => {
  const unsigned = [
    { type: 'thinking', thinking: 'Hm.', signature: '' },
    { type: 'text', text: 'Yes.' },
  ];
  const reply = await postJson(
    `${harness.gateway.url}/alpha/v1/messages`,
    {
      model: 'anthropic/claude-sonnet-4-5',
      max_tokens: 2000,
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      messages: [
        { role: 'user', content: 'Well?' },
        { role: 'assistant', content: unsigned },
        { role: 'user', content: 'Really?' },
      ],
    },
    {
      'x-api-key': harness.key,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'context-management-2025-06-27',
    },
  );
  expect(await reply.json()).toMatchObject({ type: 'message' });
});
