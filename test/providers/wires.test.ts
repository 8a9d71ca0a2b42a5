/**
 * OpenAI speaks two protocols: the gateway uses the client's own if it is one of them, otherwise the one that
 * can express more of the request.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

/** The path of the address a call reaches. */
async function findWire(path: string, body: object): Promise<string> {
  let asked = '';
  const refusing = definePlugin({
    name: 'refusing',
    options: z.strictObject({}),
    apply: (host) =>
      host.hooks.dispatch.tapPromise('refusing', async ({ url }) => {
        asked = new URL(url).pathname;
        return { status: 400, headers: {}, body: (async function* () {})() };
      }),
  });
  const gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      ...textProtocols(),
      openai({ apiKey: 'k', baseUrl: 'https://vendor.example/v1' }),
      refusing(),
    ],
  });
  await postJson(gateway.url + path, body, { 'anthropic-version': '2023-06-01' });
  await gateway.close();
  return asked;
}

const buildBody = (model: string, more: object = {}): object => ({
  model,
  max_tokens: 2000,
  messages: [{ role: 'user', content: 'Hi' }],
  ...more,
});
const look = { name: 'look', input_schema: { type: 'object' } };
const thinking = { type: 'enabled', budget_tokens: 1024 };
const search = { type: 'web_search_20250305', name: 'web_search' };
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const shown = [
  { role: 'user', content: 'Look.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [picture] }] },
];

describe('a messages client of OpenAI', () => {
  it.each([
    ['nothing in particular', buildBody('openai/gpt-5.5'), '/v1/chat/completions'],
    ['tools', buildBody('openai/gpt-4.1', { tools: [look] }), '/v1/chat/completions'],
    ['thoughts', buildBody('openai/gpt-5.5', { thinking }), '/v1/responses'],
    ['thoughts of a model that has none', buildBody('openai/gpt-4.1', { thinking }), '/v1/chat/completions'],
    [
      'tools of a model that refuses them while it reasons',
      buildBody('openai/gpt-5.5', { tools: [look] }),
      '/v1/responses',
    ],
    [
      'tools and no thoughts of it',
      buildBody('openai/gpt-5.5', { tools: [look], thinking: { type: 'disabled' } }),
      '/v1/chat/completions',
    ],
    [
      'tools of a model that does not reason unasked',
      buildBody('openai/gpt-5.4', { tools: [look] }),
      '/v1/chat/completions',
    ],
    ['a search', buildBody('openai/gpt-5.5', { tools: [search] }), '/v1/responses'],
    [
      'a picture shown by a tool',
      buildBody('openai/gpt-4.1', { tools: [look], messages: shown }),
      '/v1/responses',
    ],
    ['stop sequences', buildBody('openai/gpt-4.1', { stop_sequences: ['x'] }), '/v1/chat/completions'],
    [
      'stop sequences and a search',
      buildBody('openai/gpt-4.1', { stop_sequences: ['x'], tools: [search] }),
      '/v1/responses',
    ],
  ])('that needs %s is answered by the wire that can', async (_need, body, wire) => {
    expect(await findWire('/alpha/v1/messages', body)).toBe(wire);
  });

  it('has its tokens counted by the wire that counts', async () => {
    expect(
      await findWire('/alpha/v1/messages/count_tokens', {
        model: 'openai/gpt-5.5',
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    ).toBe('/v1/responses/input_tokens');
  });
});

const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
const looked = [
  ...contents,
  { role: 'model', parts: [{ functionCall: { name: 'look' } }] },
  {
    role: 'user',
    parts: [
      {
        functionResponse: {
          name: 'look',
          response: { output: 'x' },
          parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
        },
      },
    ],
  },
];

describe('a generate-content client of OpenAI', () => {
  it.each([
    [
      'several candidates',
      'openai/gpt-5.5',
      { contents: looked, generationConfig: { candidateCount: 2, thinkingConfig: { thinkingBudget: 2000 } } },
      '/v1/chat/completions',
    ],
    [
      'grounding',
      'openai/gpt-4o',
      { contents, tools: [{ googleSearch: {} }], generationConfig: { stopSequences: ['x'], seed: 1 } },
      '/v1/responses',
    ],
    [
      'a document by its address',
      'openai/gpt-4o',
      {
        contents: [
          {
            role: 'user',
            parts: [{ fileData: { fileUri: 'https://a.example/a.pdf', mimeType: 'application/pdf' } }],
          },
        ],
        generationConfig: { stopSequences: ['x'], seed: 1 },
      },
      '/v1/responses',
    ],
  ])(
    'that needs %s gets the wire that does not refuse it, whatever else it needs',
    async (_need, model, body, wire) => {
      expect(await findWire(`/beta/v1beta/models/${model}:generateContent`, body)).toBe(wire);
    },
  );
});

it('a client of either wire keeps its own', async () => {
  expect(
    await findWire('/v1/chat/completions', {
      model: 'openai/gpt-5.5',
      messages: [{ role: 'user', content: 'Hi' }],
      reasoning_effort: 'high',
    }),
  ).toBe('/v1/chat/completions');
  expect(await findWire('/v1/responses', { model: 'openai/gpt-4.1', input: 'Hi' })).toBe('/v1/responses');
});

describe('a chat client of OpenAI', () => {
  const tools = [
    { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
  ];
  const functions = [{ name: 'look', parameters: { type: 'object', properties: {} } }];
  const buildChat = (model: string, more: object): object => ({
    model,
    messages: [{ role: 'user', content: 'Hi' }],
    ...more,
  });

  it.each([
    ['GPT-5.5 with tools', buildChat('openai/gpt-5.5', { tools }), '/v1/responses'],
    [
      'GPT-5.5 with tools and an effort',
      buildChat('openai/gpt-5.5', { tools, reasoning_effort: 'high' }),
      '/v1/responses',
    ],
    [
      'GPT-5.5 with tools and reasoning switched off',
      buildChat('openai/gpt-5.5', { tools, reasoning_effort: 'none' }),
      '/v1/chat/completions',
    ],
    [
      'GPT-5.5 with functions, their former name',
      buildChat('openai/gpt-5.5', { functions }),
      '/v1/responses',
    ],
    [
      'GPT-5.5 without tools',
      buildChat('openai/gpt-5.5', { reasoning_effort: 'high' }),
      '/v1/chat/completions',
    ],
    ['GPT-5.4 with tools', buildChat('openai/gpt-5.4', { tools }), '/v1/chat/completions'],
    [
      'GPT-5.4 with tools and an effort',
      buildChat('openai/gpt-5.4', { tools, reasoning_effort: 'low' }),
      '/v1/responses',
    ],
    [
      'GPT-5.4 mini with tools and an effort',
      buildChat('openai/gpt-5.4-mini', { tools, reasoning: { effort: 'low' } }),
      '/v1/responses',
    ],
    [
      'GPT-5 with tools and an effort',
      buildChat('openai/gpt-5', { tools, reasoning_effort: 'low' }),
      '/v1/chat/completions',
    ],
    ['GPT-4.1 with tools', buildChat('openai/gpt-4.1', { tools }), '/v1/chat/completions'],
  ])('that calls %s is answered by the wire that takes it', async (_call, body, wire) => {
    expect(await findWire('/v1/chat/completions', body)).toBe(wire);
  });
});
