/** The listings of models that chat completions, messages and generate content each have in their style. */
import { describe, expect, it } from 'vitest';
import type { Capabilities, Plugin, RouteReply } from '../../core/index.ts';
import { priceSchema } from '../../core/price.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { formatPricing } from '../../plugins/shared/wire-kit/model-listing.ts';
import { makeModel } from '../chat-completions/bodies.ts';
import { callRoute, createHost, type TestHost } from '../support/host.ts';

const priced = makeModel({
  id: 'owner/priced',
  name: 'Priced',
  description: 'A model.',
  created: '2026-04-23',
  contextLength: 1000,
  outputLimit: 100,
  input: ['text', 'image'],
  supportedParameters: ['tools'],
  free: undefined,
  price: {
    input: '1.25',
    output: '10',
    cacheRead: '0.125',
    cacheWrite5m: '6.25',
    cacheWrite1h: '11',
    inputAudio: '3',
    webSearch: '0.014',
    request: '0.005',
  },
});
const nested = makeModel({ id: 'vendor/family/model:free', name: 'Free', expires: '2027-03-31' });
const painter = makeModel({ id: 'vendor/painter', output: ['image'] });
const provider = { name: 'p', endpoints: {}, sign: <Request>(request: Request): Request => request };

function offerModels(plugin: Plugin, models = [priced, nested, painter]): TestHost {
  const host = createHost([plugin]);
  host.catalog.offer(provider, models);
  return host;
}

function get(
  host: TestHost,
  name: string,
  id = '',
  headers: Record<string, string> = {},
): Promise<RouteReply> {
  return callRoute(host.routes.get(name), { params: { id }, headers });
}

async function getJson(host: TestHost, name: string, id?: string): Promise<unknown> {
  return JSON.parse(String((await get(host, name, id)).body));
}

it.each<[style: string, plugin: Plugin, bases: string[]]>([
  ['chat-completions', chatCompletions(), ['/v1', '']],
  ['messages', messages(), ['/alpha/v1', '/alpha', '/v1', '']],
  ['messages below another mount', messages({ mount: '/claude' }), ['/claude/v1', '/claude', '/v1', '']],
  ['messages below none', messages({ mount: '' }), ['/v1', '']],
  ['generate-content', generateContent(), ['/beta/v1beta', '/v1beta', '/beta/v1', '/beta', '/v1', '']],
  [
    'generate-content below another mount',
    generateContent({ mount: '/google' }),
    ['/google/v1beta', '/v1beta', '/google/v1', '/google', '/v1', ''],
  ],
])(
  'the listing of %s is public, with every version that clients call and without one',
  (_, plugin, bases) => {
    const paths = [...offerModels(plugin).routes.list()]
      .filter(({ method, path }) => method === 'GET' && path.includes('/models'))
      .map(({ path, access }) => `${path} ${access}`);
    expect(paths).toEqual(bases.flatMap((base) => [`${base}/models public`, `${base}/models/*id public`]));
  },
);

it('the mount of a listing is refused if it is no path', () => {
  expect(() => generateContent({ mount: 'beta/' })).toThrow(/"mount"/);
});

const architecture = {
  modality: 'text+image->text',
  input_modalities: ['text', 'image'],
  output_modalities: ['text'],
  tokenizer: 'Other',
  instruct_type: null,
};
const top = { context_length: 1000, max_completion_tokens: 100, is_moderated: false };
const usual = { prompt: '0.00000125', completion: '0.00001', input_cache_read: '0.000000125' };
const inSnakeCase = {
  owned_by: 'owner',
  description: 'A model.',
  canonical_slug: 'owner/priced',
  context_length: 1000,
  architecture,
  top_provider: top,
  supported_parameters: ['tools'],
  expiration_date: null,
};

it.each<[style: string, plugin: Plugin, route: string, model: object]>([
  [
    'chat-completions',
    chatCompletions(),
    'chat-model',
    {
      id: 'owner/priced',
      object: 'model',
      created: 1776902400,
      name: 'Priced',
      pricing: {
        ...usual,
        input_cache_write: '0.00000625',
        input_cache_write_1h: '0.000011',
        audio: '0.000003',
        request: '0.005',
        web_search: '0.014',
      },
      ...inSnakeCase,
    },
  ],
  [
    'messages',
    messages(),
    'messages-model',
    {
      type: 'model',
      id: 'owner/priced',
      display_name: 'Priced',
      created_at: '2026-04-23T00:00:00Z',
      max_input_tokens: 1000,
      max_tokens: 100,
      capabilities: null,
      line: null,
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      pricing: { ...usual, input_cache_write_5m: '0.00000625', input_cache_write_1h: '0.000011' },
      ...inSnakeCase,
    },
  ],
  [
    'generate-content',
    generateContent(),
    'generate-model-v1',
    {
      name: 'models/owner/priced',
      version: '2026-04-23',
      displayName: 'Priced',
      description: 'A model.',
      inputTokenLimit: 1000,
      outputTokenLimit: 100,
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
      pricing: { ...usual, audio: '0.000003', input_cache_write: '0.00000625', web_search: '0.014' },
      ownedBy: 'owner',
      canonicalSlug: 'owner/priced',
      contextLength: 1000,
      architecture,
      topProvider: top,
      supportedParameters: ['tools'],
      expirationDate: null,
    },
  ],
])('the listing of %s has every documented field of a model', async (_, plugin, route, model) => {
  expect(await getJson(offerModels(plugin), route, 'owner/priced')).toEqual(model);
});

it.each<[style: string, plugin: Plugin, route: string, list: object]>([
  [
    'chat-completions',
    chatCompletions(),
    'chat-models',
    { object: 'list', data: [priced, nested, painter].map(({ id }) => ({ id })) },
  ],
  [
    'messages',
    messages(),
    'messages-models',
    {
      data: [priced, nested].map(({ id }) => ({ id })),
      has_more: false,
      first_id: 'owner/priced',
      last_id: 'vendor/family/model:free',
    },
  ],
  [
    'generate-content',
    generateContent(),
    'generate-models-v1beta',
    { models: [priced, nested, painter].map(({ id }) => ({ name: `models/${id}` })) },
  ],
])('the listing of %s lists what its clients can call', async (_, plugin, route, list) => {
  const host = offerModels(plugin);
  const { status, headers } = await get(host, route);
  expect([status, headers?.['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  expect(await getJson(host, route)).toMatchObject(list);
});

it('a free model of messages with a last day is deprecated, and says when it retires', async () => {
  expect(await getJson(offerModels(messages()), 'messages-model', nested.id)).toMatchObject({
    lifecycle: 'deprecated',
    deprecated_at: null,
    retires_at: '2027-03-31T00:00:00Z',
    pricing: { prompt: '0', completion: '0' },
  });
});

it('a part without a price of its own is listed at the price of its whole', async () => {
  const plain = makeModel({ id: 'a/plain', free: undefined, price: { input: '1.25', output: '10' } });
  const whole = '0.00000125';
  expect(await getJson(offerModels(messages(), [plain]), 'messages-model', plain.id)).toMatchObject({
    pricing: { input_cache_read: whole, input_cache_write_5m: whole, input_cache_write_1h: whole },
  });
  expect(await getJson(offerModels(generateContent(), [plain]), 'generate-model-v1', plain.id)).toMatchObject(
    {
      pricing: { input_cache_read: whole, input_cache_write: whole },
    },
  );
});

describe('the listing of chat-completions', () => {
  it.each<[Partial<Capabilities>, string]>([
    [
      { reasoning: { style: 'adaptive' }, sampling: false },
      'include_reasoning max_tokens reasoning response_format stop structured_outputs tool_choice tools',
    ],
    [
      { reasoning: { style: 'none' }, tools: false, structuredOutput: false },
      'max_tokens stop temperature top_p',
    ],
  ])('says what a model takes whose vendor has no list, from its capabilities %j', async (flags, said) => {
    const host = offerModels(chatCompletions(), [makeModel({ id: 'a/b', capabilities: flags })]);
    const { body } = await get(host, 'chat-model', 'a/b');
    expect(JSON.parse(String(body)).supported_parameters.join(' ')).toBe(said);
  });

  it('is not sent again to a client that has cached it', async () => {
    const host = offerModels(chatCompletions());
    const tag = String((await get(host, 'chat-models')).headers?.etag);
    expect(tag).toMatch(/^"[\w-]{43}"$/);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      expect(await get(host, 'chat-models', '', { 'if-none-match': known })).toEqual({
        status: 304,
        headers: { etag: tag },
        body: '',
      });
    }
    expect((await get(host, 'chat-models', '', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('is rendered once for each state of the catalogue', async () => {
    const host = offerModels(chatCompletions());
    const first = await get(host, 'chat-models');
    let requestCount = 0;
    const { listModels } = host.catalog;
    host.catalog.listModels = () => {
      requestCount += 1;
      return listModels.call(host.catalog);
    };
    expect(await get(host, 'chat-models')).toEqual(first);
    expect(requestCount).toBe(0);
    host.catalog.offer(provider, [priced]);
    const later = await get(host, 'chat-models');
    expect(requestCount).toBe(1);
    expect(later.headers?.etag).not.toBe(first.headers?.etag);
    expect((await get(host, 'chat-model', nested.id)).status).toBe(404);
  });
});

describe('the price of a token', () => {
  it.each([
    ['1.25', '0.00000125'],
    ['0', '0'],
    ['0.000000001', '0.000000000000001'],
    ['2000000', '2'],
    ['1500000', '1.5'],
  ])('is exact at %s USD for a million', (input, text) => {
    const price = priceSchema.parse({ input, output: '0' });
    expect(formatPricing(price, { prompt: ['input'] })).toEqual({ prompt: text });
  });
});

it('lists what a unit costs that no listing has a name for', () => {
  const price = priceSchema.parse([{ unit: 'secondIn', rate: '0.000075' }]);
  expect(formatPricing(price, { prompt: ['input'] })).toEqual({ second_in: '0.000075' });
});
