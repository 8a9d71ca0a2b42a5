import { describe, expect, it } from 'vitest';
import type { RouteReply } from '../../core/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { callRoute, createHost, type TestHost } from '../support/host.ts';
import { makeModel } from './bodies.ts';

const priced = makeModel({
  id: 'anthropic/claude-test',
  name: 'Claude Test',
  created: '2026-04-23',
  contextLength: 1000,
  outputLimit: 100,
  supportedParameters: ['tools'],
  free: undefined,
  price: { input: '5', output: '25', cacheRead: '0.5', cacheWrite5m: '6.25', cacheWrite1h: '10' },
});
const nested = makeModel({ id: 'vendor/family/model:free', name: 'Free', expires: '2027-03-31' });
const painter = makeModel({ id: 'vendor/painter', output: ['image'] });
const provider = { name: 'p', endpoints: {}, sign: <Request>(request: Request): Request => request };

function offerModels(mount?: string): TestHost {
  const host = createHost([messages(mount === undefined ? {} : { mount })]);
  host.catalog.offer(provider, [priced, nested, painter]);
  return host;
}

function get(name: string, id = ''): Promise<RouteReply> {
  return callRoute(offerModels().routes.get(name), { params: { id } });
}

async function getIds(name: string, id?: string): Promise<unknown> {
  const { body } = await get(name, id);
  return JSON.parse(String(body), (_key, value: unknown) =>
    typeof value === 'object' && value !== null && 'id' in value ? value.id : value,
  );
}

describe('the listing in the messages style', () => {
  it("is public, below the protocol's mount and at the root, with and without a version", () => {
    const listPaths = (host: TestHost): unknown =>
      [...host.routes.list()].map(({ method, path, access }) => [method, path, access]);
    const list = (mount: string): unknown =>
      [`${mount}/v1`, mount, '/v1', ''].flatMap((base) => [
        ['GET', `${base}/models`, 'public'],
        ['GET', `${base}/models/*id`, 'public'],
      ]);
    expect(listPaths(offerModels())).toEqual(list('/alpha'));
    expect(listPaths(offerModels('/claude'))).toEqual(list('/claude'));
    expect(listPaths(offerModels(''))).toHaveLength(4);
  });

  it('lists every model that outputs text', async () => {
    expect(await getIds('messages-models')).toEqual({
      data: ['anthropic/claude-test', 'vendor/family/model:free'],
      has_more: false,
      first_id: 'anthropic/claude-test',
      last_id: 'vendor/family/model:free',
    });
  });

  it('contains the documented fields of a model', async () => {
    const { body } = await get('messages-model', 'anthropic/claude-test');
    expect(JSON.parse(String(body))).toEqual({
      type: 'model',
      id: 'anthropic/claude-test',
      display_name: 'Claude Test',
      created_at: '2026-04-23T00:00:00Z',
      max_input_tokens: 1000,
      max_tokens: 100,
      capabilities: null,
      line: null,
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      owned_by: 'anthropic',
      canonical_slug: 'anthropic/claude-test',
      description: 'For tests.',
      context_length: 1000,
      architecture: {
        modality: 'text+image+pdf->text',
        input_modalities: ['text', 'image', 'pdf'],
        output_modalities: ['text'],
        tokenizer: 'Other',
        instruct_type: null,
      },
      pricing: {
        prompt: '0.000005',
        completion: '0.000025',
        input_cache_read: '0.0000005',
        input_cache_write_5m: '0.00000625',
        input_cache_write_1h: '0.00001',
      },
      top_provider: { context_length: 1000, max_completion_tokens: 100, is_moderated: false },
      supported_parameters: ['tools'],
      expiration_date: null,
    });
  });

  it('says that a model with a last day is deprecated, and when it retires', async () => {
    const { body } = await get('messages-model', 'vendor/family/model:free');
    expect(JSON.parse(String(body))).toMatchObject({
      lifecycle: 'deprecated',
      deprecated_at: null,
      retires_at: '2027-03-31T00:00:00Z',
    });
  });

  it('prices a part without a price of its own like its whole', async () => {
    const { body } = await get('messages-model', 'vendor/family/model:free');
    expect(JSON.parse(String(body))).toMatchObject({
      pricing: {
        prompt: '0',
        completion: '0',
        input_cache_read: '0',
        input_cache_write_5m: '0',
        input_cache_write_1h: '0',
      },
    });
  });
});
