import { describe, expect, it } from 'vitest';
import type { Capabilities, RouteReply } from '../../core/index.ts';
import { priceSchema } from '../../core/price.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { formatPricing } from '../../plugins/shared/wire-kit/model-listing.ts';
import { callRoute, createHost, type TestHost } from '../support/host.ts';
import { makeModel } from './bodies.ts';

const priced = makeModel({
  id: 'openai/gpt-5.5',
  name: 'GPT-5.5',
  description: 'A model.',
  created: '2026-04-23',
  contextLength: 1000,
  outputLimit: 100,
  input: ['text', 'image'],
  supportedParameters: ['tools'],
  free: undefined,
  price: { input: '1.25', output: '10', cacheRead: '0.125', webSearch: '0.01', request: '0.005' },
});
const nested = makeModel({ id: 'vendor/family/model:free', name: 'Free' });
const provider = { name: 'p', endpoints: {}, sign: <Request>(request: Request): Request => request };

function offerModels(): TestHost {
  const host = createHost([chatCompletions()]);
  host.catalog.offer(provider, [priced, nested]);
  return host;
}

function get(
  host: TestHost,
  name: string,
  params: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<RouteReply> {
  return callRoute(host.routes.get(name), { params, headers });
}

describe('the model listing', () => {
  it('is public, at the path that clients use, with and without a version', () => {
    const routes = [...offerModels().routes.list()].map(({ method, path, access }) => [method, path, access]);
    expect(routes).toEqual([
      ['GET', '/v1/models', 'public'],
      ['GET', '/v1/models/*id', 'public'],
      ['GET', '/models', 'public'],
      ['GET', '/models/*id', 'public'],
    ]);
  });

  it('has the fields of each model that clients fill their menus with', async () => {
    const { status, headers, body } = await get(offerModels(), 'chat-models');
    expect([status, headers?.['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(JSON.parse(String(body))).toMatchObject({
      object: 'list',
      data: [
        {
          id: 'openai/gpt-5.5',
          object: 'model',
          created: 1776902400,
          owned_by: 'openai',
          name: 'GPT-5.5',
          description: 'A model.',
          canonical_slug: 'openai/gpt-5.5',
          context_length: 1000,
          architecture: {
            modality: 'text+image->text',
            input_modalities: ['text', 'image'],
            output_modalities: ['text'],
            tokenizer: 'Other',
            instruct_type: null,
          },
          pricing: {
            prompt: '0.00000125',
            completion: '0.00001',
            input_cache_read: '0.000000125',
            web_search: '0.01',
            request: '0.005',
          },
          top_provider: { context_length: 1000, max_completion_tokens: 100, is_moderated: false },
          supported_parameters: ['tools'],
          expiration_date: null,
        },
        { id: 'vendor/family/model:free', owned_by: 'vendor', pricing: { prompt: '0', completion: '0' } },
      ],
    });
  });

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
    const host = createHost([chatCompletions()]);
    host.catalog.offer(provider, [makeModel({ id: 'a/b', capabilities: flags })]);
    const { body } = await get(host, 'chat-model', { id: 'a/b' });
    expect(JSON.parse(String(body)).supported_parameters.join(' ')).toBe(said);
  });

  it('is not sent again to a client that has cached it', async () => {
    const host = offerModels();
    const tag = String((await get(host, 'chat-models')).headers?.etag);
    expect(tag).toMatch(/^"[\w-]{43}"$/);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      expect(await get(host, 'chat-models', {}, { 'if-none-match': known })).toEqual({
        status: 304,
        headers: { etag: tag },
        body: '',
      });
    }
    expect((await get(host, 'chat-models', {}, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('is rendered once for each state of the catalogue', async () => {
    const host = offerModels();
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
    expect((await get(host, 'chat-model', { id: nested.id })).status).toBe(404);
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
