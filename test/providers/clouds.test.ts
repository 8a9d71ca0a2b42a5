/** What the clouds sell, and how what a client said arrives there: a snapshot a case, in `golden/clouds/`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CanonicalRequest, Plugin, Target } from '../../core/index.ts';
import { freePrice, getRate } from '../../core/index.ts';
import { isModality } from '../../core/model-facts.ts';
import { toRegionalPrice } from '../../core/price.ts';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { azure } from '../../plugins/providers/azure.ts';
import { googleVertex } from '../../plugins/providers/google-vertex.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { families, type Wire } from '../support/families.ts';
import { createHost } from '../support/host.ts';
import { nameRates } from '../support/rates.ts';
import { expectSnapshot } from '../support/snapshot.ts';

const files = ['azure', 'google-vertex', 'amazon-bedrock'] as const;

function getFileUrl(name: string): URL {
  return new URL(`../../plugins/providers/catalogue/${name}.json`, import.meta.url);
}

/** Open models that only clouds sell, by the names of their makers. */
const openModels = [
  'openai/gpt-oss-safeguard-120b',
  'openai/gpt-oss-safeguard-20b',
  'zai-org/GLM-4.7-Flash',
  'mistralai/Voxtral-Mini-3B-2507',
  'nvidia/nemotron-3-super-120b-a12b',
  'nvidia/nemotron-3-nano-30b-a3b',
  'nvidia/nemotron-nano-12b-v2-vl',
  'nvidia/nvidia-nemotron-nano-9b-v2',
  'google/text-embedding-005',
  'amazon/titan-embed-text-v2',
];

describe.each(files)('the catalogue of %s', (name) => {
  const models = readCatalogue(getFileUrl(name));

  it("is dated, and says each of its models once by the cloud's own name", () => {
    const file = z.object({ vendor: z.literal(name), asOf: z.iso.date(), source: z.string().min(10) });
    expect(file.safeParse(JSON.parse(readFileSync(getFileUrl(name), 'utf8'))).success).toBe(true);
    expect(new Set(models.map(({ upstream }) => upstream)).size).toBe(models.length);
  });

  it('sells text, and pictures if it says how, at plausible prices, under ids that their makers use', () => {
    const makers = ['openai', 'google', 'anthropic', 'huggingface', 'mistral', 'xai', 'cohere']
      .flatMap((maker) => readCatalogue(getFileUrl(maker)).map(({ id }) => id))
      .concat(openModels);
    for (const {
      id,
      upstream,
      price,
      output,
      outputLimit,
      contextLength,
      description,
      protocols,
    } of models.filter((model) => model.output.some(isModality))) {
      expect(makers, upstream).toContain(id);
      const rates = nameRates(price ?? freePrice);
      // Vectors are not counted.
      const isCounted = !output.includes('embeddings');
      expect(rates.input > 0n && (rates.output >= rates.input || !isCounted), upstream).toBe(true);
      expect([output, outputLimit <= contextLength, description.endsWith('.')], upstream).toEqual([
        isCounted ? [protocols?.includes('images') ? 'image' : 'text'] : ['embeddings'],
        true,
        true,
      ]);
    }
  });
});

it('Bedrock sells a model with the same limits everywhere, and for a tenth more than globally', () => {
  const models = readCatalogue(getFileUrl('amazon-bedrock'));
  const sameEverywhere: string[] = [];
  for (const [id, variants] of Map.groupBy(models, (model) => model.id)) {
    const worldwide = variants.find(({ upstream }) => upstream.startsWith('global.'));
    if (!worldwide?.price) continue;
    const regional = { ...worldwide.price, regional: '1.1' };
    const dearer = { ...toRegionalPrice(regional), name: undefined, regional: undefined };
    for (const { upstream, price, contextLength, outputLimit, capabilities } of variants) {
      const facts = { contextLength, outputLimit, capabilities };
      expect(worldwide, upstream).toMatchObject(facts);
      if (upstream === worldwide.upstream) continue;
      if (getRate(price, 'input') === getRate(worldwide.price, 'input')) sameEverywhere.push(id);
      else expect({ ...price, name: undefined, regional: undefined }, upstream).toEqual(dearer);
    }
  }
  expect(new Set(sameEverywhere)).toEqual(new Set(['anthropic/claude-sonnet-4-0', 'cohere/embed-v4.0']));
});

const clouds: Readonly<
  Record<string, { readonly plugin: Plugin; readonly model: string; readonly wire: Wire }>
> = {
  'azure chat-completions': {
    plugin: azure({ baseUrl: 'https://house.openai.azure.com', apiKey: 'k' }),
    model: 'openai/gpt-5',
    wire: 'chat-completions',
  },
  'azure responses': {
    plugin: azure({
      baseUrl: 'https://house.openai.azure.com',
      apiKey: 'k',
      apiVersion: '2025-04-01-preview',
    }),
    model: 'openai/gpt-5',
    wire: 'responses',
  },
  'google-vertex generate-content': {
    plugin: googleVertex({ project: 'house', location: 'eu' }),
    model: 'google/gemini-2.5-pro',
    wire: 'generate-content',
  },
  'google-vertex messages': {
    plugin: googleVertex({ project: 'house', location: 'global' }),
    model: 'anthropic/claude-sonnet-4-5',
    wire: 'messages',
  },
  'google-vertex chat-completions': {
    plugin: googleVertex({ project: 'house', location: 'us-central1' }),
    model: 'deepseek-ai/DeepSeek-V3.2',
    wire: 'chat-completions',
  },
  'amazon-bedrock chat-completions': {
    plugin: amazonBedrock({ region: 'us-east-1', apiKey: 'k' }),
    model: 'openai/gpt-oss-120b',
    wire: 'chat-completions',
  },
  'amazon-bedrock responses': {
    plugin: amazonBedrock({ region: 'us-east-1', apiKey: 'k', profile: 'us' }),
    model: 'openai/gpt-6-sol',
    wire: 'responses',
  },
  'amazon-bedrock messages': {
    plugin: amazonBedrock({ region: 'eu-west-1', apiKey: 'k', profile: 'eu' }),
    model: 'anthropic/claude-sonnet-4-5',
    wire: 'messages',
  },
};

const asked: CanonicalRequest = {
  model: 'a/b',
  stream: true,
  outputLimit: 500,
  turns: [
    { role: 'system', blocks: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'user', blocks: [{ type: 'text', text: 'Where is Ålesund?' }] },
  ],
  tools: [
    {
      type: 'function',
      name: 'find',
      description: 'Finds.',
      schema: { type: 'object', properties: { place: { type: 'string' } } },
    },
  ],
};

const buildAccount = (name: string): { client_email: string; private_key: string } => ({
  client_email: name,
  private_key: 'k',
});

it.each([
  [
    'azure',
    azure({ baseUrl: 'https://house.openai.azure.com', apiKey: ['k', 'l'], timeouts: { reply: 5 } }),
    'openai/gpt-5',
  ],
  [
    'google-vertex',
    googleVertex({
      project: 'house',
      location: 'eu',
      credentials: [buildAccount('a'), buildAccount('b')],
      timeouts: { reply: 5 },
    }),
    'google/gemini-2.5-pro',
  ],
  [
    'amazon-bedrock',
    amazonBedrock({ region: 'eu-west-1', apiKey: ['k', 'l'], timeouts: { reply: 5 } }),
    'anthropic/claude-sonnet-4-5',
  ],
])('%s with several keys is a provider with each of them', (name, plugin, model) => {
  const offers = createHost([plugin]).catalog.find(model);
  expect(offers.map(({ provider }) => [provider.name, provider.credential, provider.patience])).toEqual([
    [name, 1, { reply: 5000 }],
    [name, 2, { reply: 5000 }],
  ]);
});

/** The body as it is sent, a count's inner one legible. */
function makeLegible(text: string): unknown {
  const wrapped = z
    .object({ input: z.object({ invokeModel: z.object({ body: z.base64() }) }) })
    .safeParse(JSON.parse(text)).data;
  return wrapped
    ? {
        input: {
          invokeModel: { body: JSON.parse(Buffer.from(wrapped.input.invokeModel.body, 'base64').toString()) },
        },
      }
    : JSON.parse(text);
}

describe.each(Object.entries(clouds))('%s', (name, { plugin, model: id, wire }) => {
  const { protocol } = families[wire];

  it.each(protocol.count ? (['generate', 'count'] as const) : (['generate'] as const))(
    'receives a request for a %s as its snapshot says',
    async (operation) => {
      const [offer] = createHost([plugin]).catalog.find(id);
      if (!offer) throw new Error('not offered');
      const { provider, model } = offer;
      const target: Target = { ...offer, protocol };
      const endpoint = provider.endpoints[wire];
      const url =
        typeof endpoint === 'function'
          ? endpoint(target, operation, operation === 'generate')
          : (endpoint ?? '');
      const { body } =
        operation === 'count' && protocol.count
          ? protocol.count.encodeRequest(asked, model)
          : protocol.upstream.encodeRequest(asked, model, undefined);
      const plain = {
        method: 'POST',
        url,
        headers: protocol.upstream.buildHeaders({
          'anthropic-version': '2023-06-01',
          'anthropic-beta': 'one-2026-01-01',
        }),
        body: JSON.stringify(body),
      } as const;
      const request = provider.wrap?.(plain, target, operation) ?? plain;
      const sent = { url, headers: request.headers, body: makeLegible(String(request.body)) };
      const text = `${JSON.stringify(sent, undefined, 2)}\n`;
      expectSnapshot(
        new URL(`../golden/clouds/${name.replace(' ', '.')}.${operation}.json`, import.meta.url),
        text,
      );
    },
  );
});
