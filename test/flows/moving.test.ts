/**
 * A conversation that changes providers in the middle of a tool loop, and returns: what one of them handed
 * out is kept for it and kept from the other, and no provider receives what it would refuse.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { openVendorHarness, readWire, type VendorHarness } from '../support/vendor-harness.ts';

/**
 * One model of each wire and kind, each strict about what it gave: reasoning, signatures, encrypted
 * reasoning.
 */
const models = [
  'deepseek/deepseek-v4-flash',
  'openai/gpt-4o-mini',
  'openai/gpt-5.5-pro',
  'anthropic/claude-sonnet-4-5',
  'google/gemini-3-flash-preview',
] as const;
type Model = (typeof models)[number];

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

/** A model without reasoning is not asked for any on the wire that would refuse the request. */
function mayThink(client: Wire, model: Model): boolean {
  return model !== 'openai/gpt-4o-mini' || client === 'messages' || client === 'generate-content';
}

let harness: VendorHarness;
beforeAll(async () => {
  harness = await openVendorHarness();
});
afterAll(() => harness.close());

async function moveThereAndBack(client: Wire, first: Model, second: Model, thinks: boolean): Promise<void> {
  const form = thinks ? 'streamed' : 'whole';
  const talk = harness.clients[client]({ text: 'Look around.', system: 'Be brief.', tools, thinks });
  expect((await talk.ask(first, form)).calls, 'the first asks').toHaveLength(2);
  talk.answer(['Whitby', 'noon']);
  expect((await talk.ask(second, form)).text, 'the second answers').toContain('said: Whitby');
  talk.say('Once more.');
  expect((await talk.ask(second, form)).calls, 'the second asks').toHaveLength(2);
  talk.answer(['Hull', 'dusk']);
  expect((await talk.ask(first, form)).text, 'the first answers').toContain('said: Hull');
  talk.say('And again.');
  expect((await talk.ask(first, form)).calls, 'the first asks again').toHaveLength(2);
}

/** Each pair once: a conversation moves there and back. `wandering.test.ts` starts at each wire. */
const moves = models.flatMap((first, at) =>
  models.slice(at + 1).map((second): [Model, Model] => [first, second]),
);

describe.each(wires)('a conversation of a %s client', (client) => {
  it.concurrent.each(moves)('moves from %s to %s and back', async (first, second) => {
    await moveThereAndBack(client, first, second, false);
    if (mayThink(client, first) && mayThink(client, second))
      await moveThereAndBack(client, first, second, true);
  });
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

describe('a loop that a Gemini model without signatures started', () => {
  it.each(['google/gemini-3-flash-preview', 'google/gemini-2.5-flash', 'anthropic/claude-sonnet-4-5'])(
    'continues with %s',
    async (second) => {
      const talk = harness.clients['generate-content']({ text: 'Look around.', tools, thinks: false });
      await talk.ask('google/gemini-2.5-flash', 'whole');
      talk.answer(['Whitby', 'noon']);
      expect((await talk.ask(second, 'whole')).text).toContain('said: Whitby');
    },
  );
});

describe('fields of a beta', () => {
  it("reach their provider with the beta's name on the way back too", async () => {
    const unsigned = [
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: 'Yes.' },
    ];
    const reply = await fetch(`${harness.gateway.url}/alpha/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': harness.key,
        'anthropic-version': '2023-06-01',
        'anthropic-beta': 'context-management-2025-06-27',
      },
      body: JSON.stringify({
        model: 'anthropic/claude-sonnet-4-5',
        max_tokens: 2000,
        context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
        messages: [
          { role: 'user', content: 'Well?' },
          { role: 'assistant', content: unsigned },
          { role: 'user', content: 'Really?' },
        ],
      }),
    });
    expect(await reply.json()).toMatchObject({ type: 'message' });
  });
});
