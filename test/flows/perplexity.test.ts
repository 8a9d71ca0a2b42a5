/** Clients of every protocol and Perplexity's Agent API: what it is sent, what they get, what it costs. */
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { UpstreamRequest } from '../../core/provider.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { perplexity } from '../../plugins/providers/perplexity.ts';
import { examineVendor } from '../../plugins/shared/provider/examine-vendor.ts';
import { openBooks } from '../support/books.ts';
import { keyHeaders, textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { startPerplexityVendor, type PerplexityRequest } from '../support/vendor/perplexity.ts';
import type { Stage } from '../support/vendor/stage.ts';

const model = 'perplexity/sonar';

let vendor: Stage<PerplexityRequest>;
let gateway: TestGateway;
let store: Store;
let key: string;
beforeAll(async () => {
  vendor = await startPerplexityVendor();
  gateway = await startGateway({
    plugins: [
      ...keyHeaders(),
      ...textProtocols(),
      perplexity({ apiKey: vendor.key, baseUrl: vendor.url }),
      balance(),
    ],
  });
  ({ store, key } = await openBooks(gateway));
  await gateway.verb('credit add', ['tester', '9']);
});

function post(path: string, body: object): Promise<Response> {
  return postJson(gateway.url + path, body, {
    authorization: `Bearer ${key}`,
    'anthropic-version': '2023-06-01',
  });
}

const url = 'https://tides.example/whitby';
const found = {
  search: 'high water',
  text: 'High water is at 14:05 [1].',
  citations: [{ url, title: 'Tide tables' }],
};
const earlier = [
  { role: 'user', content: 'Ahoy' },
  { role: 'assistant', content: 'Ahoy yourself.' },
  { role: 'user', content: 'When is high water?' },
];
const parts = ['user', 'model', 'user'].map((role, index) => ({
  role,
  parts: [{ text: earlier[index]?.content }],
}));
const calls: readonly (readonly [family: string, path: string, body: object])[] = [
  ['chat-completions', '/v1/chat/completions', { model, messages: earlier, web_search_options: {} }],
  ['responses', '/v1/responses', { model, input: 'When is high water?', tools: [{ type: 'web_search' }] }],
  [
    'messages',
    '/alpha/v1/messages',
    {
      model,
      max_tokens: 100,
      messages: earlier,
      tools: [{ type: 'web_search_20250305', name: 'web_search', blocked_domains: ['a.example'] }],
    },
  ],
  [
    'generate-content',
    `/beta/v1beta/models/${model}:generateContent`,
    { contents: parts, tools: [{ googleSearch: {} }] },
  ],
];

describe.each(calls)('a client of %s that lets Sonar search', (family, path, body) => {
  it.each([false, true])('reads its sources, and is charged for the search (stream: %s)', async (stream) => {
    vendor.script(model, {
      ...found,
      cached: 200,
      usage: { input_tokens: 1000, output_tokens: 10, total_tokens: 1010 },
    });
    const streamed = family === 'generate-content' ? path.replace(':g', ':streamG') + '?alt=sse' : path;
    const response = await post(
      stream ? streamed : path,
      family === 'generate-content' ? body : { ...body, stream },
    );
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(url)]);
    expect(response.headers.get('x-tollgate-dropped')).toBeNull();
    const [, entry] = await store.listEntries({
      call: response.headers.get('x-request-id') ?? '',
      limit: 2,
    });
    // 800 tokens at 250 nano-USD, 200 from the cache at 62.5, ten of output at 2500, and a search.
    expect(entry).toMatchObject({
      kind: 'post',
      revenue: 200_000n + 12_500n + 25_000n + 2_500_000n,
      basis: 'usage',
      flags: [],
    });
  });
});

const measure = { name: 'measure', parameters: { type: 'object', properties: { at: { type: 'string' } } } };
const chat = '/v1/chat/completions';
const tools = [{ type: 'function', function: measure }];

it('Sonar is sent what its vendor documents, and the rest is reported', async () => {
  vendor.script(model, { text: 'Calm.' });
  const response = await post(chat, {
    model,
    messages: earlier,
    tools,
    parallel_tool_calls: false,
    user: 'u',
    metadata: { a: 'b' },
    response_format: { type: 'json_object' },
    temperature: 0.5,
    logprobs: true,
  });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Calm')]);
  const dropped = response.headers.get('x-tollgate-dropped')?.split(',').toSorted();
  expect(dropped).toEqual(['logprobs', 'metadata', 'parallel_tool_calls', 'response_format', 'user']);
  const sent: unknown = JSON.parse(vendor.requests.at(-1)?.body.toString() ?? '');
  expect(sent).toMatchObject({
    input: [{}, {}, { type: 'message', role: 'assistant', content: 'Ahoy yourself.' }, {}],
    temperature: 0.5,
  });
});

it.each([false, true])(
  'Sonar waits for the result of a call, and goes on with it (stream: %s)',
  async (stream) => {
    const toolCalls = [{ name: 'measure', arguments: '{"at":"Whitby"}', id: 'call_1' }];
    vendor.script(model, { text: 'Let me see.', toolCalls }, { text: 'Two metres.' });
    const asked = await post(chat, { model, messages: earlier.slice(0, 1), tools, stream });
    const said = await asked.text();
    expect([asked.status, said]).toEqual([200, expect.stringContaining('"finish_reason":"tool_calls"')]);
    const answer = {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'measure', arguments: '{}' } }],
    };
    const result = { role: 'tool', tool_call_id: 'call_1', content: '2 m' };
    const response = await post(chat, { model, messages: [earlier[0], answer, result], tools, stream });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('metres')]);
  },
);

it.each([
  ['models', { models: ['openai/gpt-5.4'] }],
  ['preset', { preset: 'high' }],
  ['profile', { profile: { type: 'custom', id: 'p' } }],
  ['tools[0].type', { tools: [{ type: 'fetch_url' }] }],
  ['tools[0].type', { tools: [{ type: 'sandbox' }] }],
  ['tools[0].search_type', { tools: [{ type: 'web_search', search_type: 'fast' }] }],
])('Sonar is not called with "%s", whose price is not known: %j', async (param, fields) => {
  const arrived = vendor.requests.length;
  const response = await post('/v1/responses', { model, input: 'Ahoy', ...fields });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  expect(vendor.requests.length).toBe(arrived);
});

it('Sonar names the model that took the place of those that ended with chat completions', async () => {
  const response = await post(chat, { model: 'perplexity/sonar-pro', messages: earlier });
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining(model)]);
});

it('Sonar tells the doctor whether its vendor accepts the key', async () => {
  const examine = async (apiKey: string): Promise<unknown> => {
    const provider = {
      name: 'perplexity',
      endpoints: {},
      sign: (request: UpstreamRequest) => ({ ...request, headers: { authorization: `Bearer ${apiKey}` } }),
    };
    const probe = { url: `${vendor.url}/agent/resp_none`, missing: true, variable: 'PERPLEXITY_API_KEY' };
    const [finding] = await examineVendor(provider, probe);
    return finding?.state;
  };
  expect([await examine(vendor.key), await examine('wrong')]).toEqual(['well', 'fault']);
});

it('Sonar compacts a conversation, and reads the summary later', async () => {
  vendor.script(model, { text: 'They asked for high water.' }, { text: 'At 14:05.' });
  const conversation = earlier.map((message) => ({ type: 'message', ...message }));
  const asked = { model, input: [...conversation, { type: 'compaction_trigger' }] };
  const compacted = z
    .object({ output: z.tuple([z.looseObject({ type: z.literal('compaction') })]) })
    .parse(await (await post('/v1/responses', asked)).json());
  const input = [...compacted.output, { role: 'user', content: 'So when?' }];
  expect((await post('/v1/responses', { model, input })).status).toBe(200);
  const sent: unknown = JSON.parse(vendor.requests.at(-1)?.body.toString() ?? '');
  expect(sent).toMatchObject({ input: [{ type: 'message' }, { type: 'message', content: 'So when?' }] });
  expect(JSON.stringify(sent)).toContain('They asked for high water.');
});
