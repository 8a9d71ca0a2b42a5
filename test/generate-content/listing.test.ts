import { describe, expect, it } from 'vitest';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { callRoute, createHost, type TestHost } from '../support/host.ts';
import { makeModel } from './bodies.ts';

const priced = makeModel({
  id: 'google/gemini-3-pro',
  name: 'Gemini 3 Pro',
  description: 'A model.',
  created: '2026-04-23',
  contextLength: 1000,
  outputLimit: 100,
  input: ['text', 'image'],
  supportedParameters: ['tools'],
  free: undefined,
  price: { input: '1.25', output: '10', cacheRead: '0.125', inputAudio: '3', webSearch: '0.014' },
});
const nested = makeModel({ id: 'vendor/family/model:free', name: 'Free' });
const provider = { name: 'p', endpoints: {}, sign: <Request>(request: Request): Request => request };

function offerModels(mount?: string): TestHost {
  const host = createHost([generateContent(mount === undefined ? {} : { mount })]);
  host.catalog.offer(provider, [priced, nested]);
  return host;
}

async function getJson(name: string, params: Record<string, string> = {}): Promise<unknown> {
  return JSON.parse(String((await callRoute(offerModels().routes.get(name), { params })).body));
}

describe('the model listing', () => {
  it("is public, in both versions that the SDKs call, below the protocol's mount and at the root", () => {
    const listPaths = (mount?: string): unknown[] =>
      [...offerModels(mount).routes.list()]
        .filter(({ method }) => method === 'GET')
        .map(({ method, path, access }) => `${method} ${path} ${access}`);
    const list = (mount: string): unknown =>
      [`${mount}/v1beta`, '/v1beta', `${mount}/v1`, mount, '/v1', ''].flatMap((base) => [
        `GET ${base}/models public`,
        `GET ${base}/models/*id public`,
      ]);
    expect(listPaths()).toEqual(list('/beta'));
    expect(listPaths('/google')).toEqual(list('/google'));
    expect(() => generateContent({ mount: 'beta/' })).toThrow(/"mount"/);
  });

  it('has every field of each model that the service promises', async () => {
    expect(await getJson('generate-models-v1beta')).toMatchObject({
      models: [{ name: 'models/google/gemini-3-pro' }, { name: 'models/vendor/family/model:free' }],
    });
    expect(await getJson('generate-model-v1', { id: 'google/gemini-3-pro' })).toEqual({
      name: 'models/google/gemini-3-pro',
      version: '2026-04-23',
      displayName: 'Gemini 3 Pro',
      description: 'A model.',
      inputTokenLimit: 1000,
      outputTokenLimit: 100,
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
      ownedBy: 'google',
      canonicalSlug: 'google/gemini-3-pro',
      contextLength: 1000,
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
        audio: '0.000003',
        input_cache_read: '0.000000125',
        input_cache_write: '0.00000125',
        web_search: '0.014',
      },
      topProvider: { context_length: 1000, max_completion_tokens: 100, is_moderated: false },
      supportedParameters: ['tools'],
      expirationDate: null,
    });
  });
});
