import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { costOf } from '../../core/billing/cost.ts';
import { PriceSchedule } from '../../core/billing/price-schedule.ts';
import { freePrice, regionalPrice, type Price } from '../../core/billing/price.ts';
import { readCatalogue, type Model } from '../../core/model-facts.ts';
import { formatUsd } from '../../core/money.ts';

const vendors = [
  'openai',
  'anthropic',
  'google',
  'deepseek',
  'mistral',
  'groq',
  'xai',
  'together',
  'moonshot',
  'zai',
  'minimax',
  'meta',
  'alibaba',
  'cerebras',
  'fireworks',
  'perplexity',
  'cohere',
  'huggingface',
  'nvidia',
];

function fileOf(vendor: string): URL {
  return new URL(`../../plugins/providers/catalogue/${vendor}.json`, import.meta.url);
}

const catalogues = new Map(vendors.map((vendor) => [vendor, readCatalogue(fileOf(vendor))]));
const models = [...catalogues].flatMap(([vendor, listed]) => listed.map((model) => ({ vendor, ...model })));

function modelOf(vendor: string, upstream: string): Model {
  const found = catalogues.get(vendor)?.find((model) => model.upstream === upstream);
  if (!found) throw new Error(`${vendor} lists no ${upstream}`);
  return found;
}

const fees = new Set(['request', 'webSearch', 'container', 'fileSearch', 'regional']);

/** What a model costs, in the form of the file again. */
function prices({ price = {} }: { readonly price?: object | undefined }): Record<string, string> {
  return Object.fromEntries(
    Object.entries(price).flatMap(([name, rate]) =>
      typeof rate === 'bigint' && !fees.has(name) ? [[name, formatUsd(rate)]] : [],
    ),
  );
}

describe('every catalogue file', () => {
  it.each(vendors)('%s is valid, is dated and states the source of its facts', (vendor) => {
    const file = z
      .object({ vendor: z.string(), asOf: z.iso.date(), source: z.string().min(10) })
      .parse(JSON.parse(readFileSync(fileOf(vendor), 'utf8')));
    expect(file.vendor).toBe(vendor);
    expect(catalogues.get(vendor)?.length).toBeGreaterThan(1);
  });

  it.each(vendors)('%s writes money as decimal strings, never as numbers', (vendor) => {
    const numbers: string[] = [];
    JSON.parse(readFileSync(fileOf(vendor), 'utf8'), (name, value: unknown) => {
      if (typeof value === 'number') numbers.push(name);
      return value;
    });
    const counts = new Set(['contextLength', 'outputLimit', 'above', 'imageTokens', 'min', 'max']);
    const own = new Set(['low', 'medium', 'high', '1K', '2K', '4K', '0.5K', '512', 'auto']);
    const size = /^(multiple|longestEdge|leastPixels|mostPixels|mostRatio)$/;
    expect(numbers.filter((name) => !counts.has(name) && !own.has(name) && !size.test(name))).toEqual([]);
  });

  it.each(models.map((model) => [`${model.vendor}: ${model.id}`, model] as const))(
    '%s is a model of text, pictures or sound sold at a plausible price',
    (_, model) => {
      const { price = { input: 1n, output: 1n, tiers: [] } satisfies Price } = model;
      // NVIDIA lets everyone try its models, and charges nothing for it.
      expect(model.free ?? false).toBe(model.vendor === 'nvidia');
      // What makes pictures or sound has a price for them, and says which pictures it can be asked for.
      const made = new Set(['audio', 'image', 'text']);
      expect(model.output.filter((kind) => !made.has(kind))).toEqual([]);
      expect(price.outputAudio !== undefined).toBe(model.output.includes('audio'));
      expect(model.capabilities.image !== undefined).toBe(model.output.includes('image'));
      if (model.capabilities.image)
        expect(Math.max(...Object.values(model.capabilities.image.tokens))).toBeLessThanOrEqual(
          model.outputLimit,
        );
      expect(
        price.outputImage === undefined ||
          (model.output.includes('image') && price.outputImage > price.output),
      ).toBe(true);
      expect(model.input).toContain('text');
      expect(model.outputLimit).toBeLessThanOrEqual(model.contextLength);
      expect(model.created <= '2026-11-10').toBe(true);
      expect(price.input > 0n && price.output >= price.input).toBe(true);
      expect(price.cacheRead === undefined || (price.cacheRead > 0n && price.cacheRead < price.input)).toBe(
        true,
      );
      for (const tier of price.tiers)
        expect(
          tier.input > price.input && tier.output > price.output && tier.above < model.contextLength,
        ).toBe(true);
      expect(model.description).toMatch(/^[A-Z].*[^.]\.$/);
    },
  );

  it('names the owner in each id, or the provider itself if its own ids do not', () => {
    for (const { vendor, id, upstream } of models) {
      // All names of Fireworks begin with an account.
      const name = vendor === 'fireworks' ? upstream.replace(/^.*\//, '') : upstream;
      expect(id).toBe(name.includes('/') ? name : `${vendor}/${name}`);
    }
  });

  it('says no model twice in one file, and may say it in two', () => {
    for (const [vendor, listed] of catalogues)
      expect(new Set(listed.map(({ id }) => id)).size, vendor).toBe(listed.length);
    expect(models.filter(({ id }) => id === 'openai/gpt-oss-120b').map(({ vendor }) => vendor)).toEqual([
      'groq',
      'together',
      'huggingface',
    ]);
  });

  it('states what each style of reasoning needs', () => {
    for (const {
      id,
      capabilities: { reasoning },
    } of models) {
      if (reasoning.style === 'effort' || reasoning.style === 'level' || reasoning.style === 'adaptive')
        expect(reasoning.efforts?.length, id).toBeGreaterThan(0);
      if (reasoning.style === 'budget') expect(reasoning.budget?.min, id).toBeGreaterThanOrEqual(0);
      if (reasoning.efforts?.includes('none') || reasoning.style === 'toggle')
        expect(reasoning.canDisable, id).toBe(true);
    }
  });
});

describe('what the vendors published', () => {
  it.each([
    ['openai', 'gpt-5', { input: '1.25', output: '10', cacheRead: '0.125' }],
    ['openai', 'gpt-4o-mini', { input: '0.15', output: '0.6', cacheRead: '0.075' }],
    ['openai', 'o1-pro', { input: '150', output: '600' }],
    [
      'anthropic',
      'claude-haiku-4-5',
      { input: '1', output: '5', cacheRead: '0.1', cacheWrite5m: '1.25', cacheWrite1h: '2' },
    ],
    [
      'anthropic',
      'claude-opus-4-8',
      { input: '5', output: '25', cacheRead: '0.5', cacheWrite5m: '6.25', cacheWrite1h: '10' },
    ],
    ['openai', 'gpt-image-2', { input: '5', output: '30', cacheRead: '1.25', inputImage: '8' }],
    [
      'openai',
      'gpt-image-1.5',
      { input: '5', output: '10', cacheRead: '1.25', inputImage: '8', outputImage: '32' },
    ],
    [
      'google',
      'gemini-2.5-flash-image',
      { input: '0.3', output: '2.5', cacheRead: '0.075', outputImage: '30' },
    ],
    [
      'google',
      'gemini-2.5-flash',
      { input: '0.3', output: '2.5', cacheRead: '0.03', cacheReadAudio: '0.1', inputAudio: '1' },
    ],
    ['deepseek', 'deepseek-v4-pro', { input: '0.66', output: '1.98', cacheRead: '0.022' }],
    ['deepseek', 'deepseek-flash', { input: '0.15', output: '0.6', cacheRead: '0.003' }],
    ['moonshot', 'kimi-k3', { input: '3', output: '15', cacheRead: '0.3' }],
    [
      'openai',
      'gpt-6.1-sol',
      { input: '2', output: '10', cacheRead: '0.1', cacheWrite30m: '2.5', cacheWrite12h: '5' },
    ],
    [
      'anthropic',
      'claude-opus-5-5',
      { input: '4', output: '20', cacheRead: '0.2', cacheWrite5m: '5', cacheWrite1h: '8' },
    ],
    ['mistral', 'mistral-large-2512', { input: '0.5', output: '1.5', cacheRead: '0.05' }],
    ['groq', 'openai/gpt-oss-20b', { input: '0.075', output: '0.3', cacheRead: '0.0375' }],
    ['xai', 'grok-4.3', { input: '1.25', output: '2.5', cacheRead: '0.2' }],
    ['together', 'moonshotai/Kimi-K2.6', { input: '1.2', output: '4.5', cacheRead: '0.2' }],
  ])('%s sells %s at these prices', (vendor, upstream, expected) => {
    expect(prices(modelOf(vendor, upstream))).toEqual(expected);
  });

  it.each([
    ['openai', 'gpt-5.5', '0.01'],
    ['anthropic', 'claude-opus-4-8', '0.01'],
    ['openai', 'gpt-5', '0.01'],
    ['openai', 'gpt-image-1', undefined],
    ['anthropic', 'claude-haiku-4-5', '0.01'],
    ['google', 'gemini-2.5-flash', '0.035'],
    ['google', 'gemini-3.5-flash', '0.014'],
    ['xai', 'grok-4.3', '0.005'],
  ])('%s charges for a search of the web with %s: %s', (vendor, upstream, expected) => {
    const { webSearch } = modelOf(vendor, upstream).price ?? {};
    expect(webSearch === undefined ? undefined : formatUsd(webSearch)).toBe(expected);
  });

  it('says what a search costs of each model that its vendor searches the web for', () => {
    const searching = models.filter(
      ({ capabilities, output }) => capabilities.hosted.includes('web-search') && output.includes('text'),
    );
    expect(searching.length).toBeGreaterThan(30);
    expect(searching.filter(({ price }) => !price?.webSearch).map(({ id }) => id)).toEqual([]);
  });

  it('charges more for long prompts if the provider does', () => {
    expect(modelOf('google', 'gemini-2.5-pro').price?.tiers).toEqual([
      { above: 200_000, input: 2_500_000_000n, output: 15_000_000_000n, cacheRead: 250_000_000n },
    ]);
    expect(modelOf('openai', 'gpt-5.4').price?.tiers).toMatchObject([
      { above: 272_000, input: 5_000_000_000n, output: 22_500_000_000n },
    ]);
  });

  it('at Anthropic, writing a cache costs 5/4 of the input for five minutes and twice for an hour', () => {
    for (const { id, price } of catalogues.get('anthropic') ?? []) {
      const input = price?.input ?? 0n;
      expect(price, id).toMatchObject({ cacheWrite5m: (input * 5n) / 4n, cacheWrite1h: input * 2n });
    }
  });

  it('keeps limits, modalities and dates', () => {
    expect(modelOf('openai', 'gpt-5')).toMatchObject({
      contextLength: 400_000,
      outputLimit: 128_000,
      input: ['text', 'image'],
      created: '2025-08-07',
    });
    expect(modelOf('google', 'gemini-2.5-pro')).toMatchObject({
      contextLength: 1_048_576,
      outputLimit: 65_536,
      input: ['text', 'image', 'audio', 'video', 'pdf'],
    });
    expect(modelOf('openai', 'gpt-5-chat-latest')).toMatchObject({
      contextLength: 128_000,
      outputLimit: 16_384,
    });
  });

  it('knows what each can be asked for', () => {
    expect(modelOf('openai', 'gpt-5').capabilities).toMatchObject({
      sampling: false,
      reasoning: { style: 'effort', canDisable: false },
      wire: { 'chat-completions': { outputLimitField: 'max_completion_tokens' } },
    });
    expect(modelOf('openai', 'gpt-5.1').capabilities.reasoning).toEqual({
      style: 'effort',
      efforts: ['none', 'low', 'medium', 'high'],
      canDisable: true,
    });
    expect(modelOf('anthropic', 'claude-haiku-4-5').capabilities).toMatchObject({
      sampling: true,
      reasoning: { style: 'budget', budget: { min: 1024 } },
    });
    expect(modelOf('anthropic', 'claude-fable-5').capabilities).toMatchObject({
      sampling: false,
      reasoning: { style: 'adaptive', canDisable: false },
    });
    expect(modelOf('google', 'gemini-2.5-flash').capabilities.reasoning).toEqual({
      style: 'budget',
      budget: { min: 0, max: 24_576 },
      canDisable: true,
    });
    expect(modelOf('google', 'gemini-3-flash-preview').capabilities.reasoning.style).toBe('level');
    expect(modelOf('groq', 'llama-3.1-8b-instant').capabilities).toMatchObject({
      structuredOutput: false,
      tools: true,
      reasoning: { style: 'none' },
    });
    expect(modelOf('xai', 'grok-4.20-multi-agent-0309').capabilities.tools).toBe(false);
  });

  it('sends no chat call to a model that only the responses endpoint serves', () => {
    for (const upstream of ['gpt-5-pro', 'gpt-5-codex', 'o3-pro'])
      expect(modelOf('openai', upstream).protocols).toEqual(['responses']);
    expect(modelOf('openai', 'gpt-5').protocols).toBeUndefined();
  });

  it('lists no top_k for providers without one, since Gemini CLI sends it and Mistral refuses it', () => {
    const without = new Set(['openai', 'azure', 'deepseek', 'mistral', 'groq', 'xai']);
    expect(
      models
        .filter(
          ({ vendor, supportedParameters }) => without.has(vendor) && supportedParameters.includes('top_k'),
        )
        .map(({ id }) => id),
    ).toEqual([]);
  });

  it('reserves what one image can count as', () => {
    expect(modelOf('openai', 'gpt-4o-mini').capabilities.imageTokens).toBeGreaterThan(48_000);
    expect(modelOf('openai', 'gpt-4o').capabilities.imageTokens).toBe(4000);
    expect(modelOf('anthropic', 'claude-opus-4-8').capabilities.imageTokens).toBeGreaterThan(4784);
  });

  it('carries the facts of the public listing, and stated defaults if it has none', () => {
    expect(modelOf('openai', 'gpt-5-mini')).toMatchObject({
      canonicalSlug: 'openai/gpt-5-mini-2025-08-07',
      tokenizer: 'GPT',
      moderated: true,
      instructType: null,
    });
    expect(modelOf('openai', 'gpt-5-mini').supportedParameters).toContain('reasoning');
    expect(modelOf('together', 'zai-org/GLM-5')).toMatchObject({
      tokenizer: 'Other',
      instructType: null,
      moderated: false,
      expires: null,
      supportedParameters: [],
    });
  });
});

describe('models and prices of November 2026', () => {
  it("states each retired model's last day, and an existing model as its successor", () => {
    const retired = models.filter(({ expires }) => expires !== null);
    expect(retired.length).toBeGreaterThan(30);
    for (const { id, vendor, expires, successor } of retired) {
      const next = catalogues.get(vendor)?.find((model) => model.id === successor);
      expect([id, next === undefined], `${successor}`).toEqual([id, false]);
      expect(String(next?.expires ?? '9999') > String(expires), id).toBe(true);
    }
    expect(modelOf('openai', 'gpt-4')).toMatchObject({
      expires: '2026-10-22',
      successor: 'openai/gpt-5.6-sol',
    });
  });

  it('bills DeepSeek twice as much in its peak hours, and not on weekends and holidays', () => {
    const price = modelOf('deepseek', 'deepseek-flash').price;
    if (!price?.rules) throw new Error('no rules');
    const schedule = new PriceSchedule(price.rules, 3_600_000);
    const costs = [
      '2026-11-23T00:59Z',
      '2026-11-23T01:00Z',
      '2026-11-23T04:00Z',
      '2026-11-23T09:59Z',
      '2026-11-22T09:00Z',
      '2026-10-02T09:00Z',
    ].map((at) => {
      const rule = schedule.ruleAt(Date.parse(at));
      return formatUsd(costOf({ input: 1_000_000, output: 0, ...(rule ? { rule } : {}) }, price));
    });
    expect(costs).toEqual(['0.15', '0.3', '0.15', '0.3', '0.15', '0.15']);
  });

  it.each([
    ['gemini-4-argon', '2026-12-01', 'from-december', 4_000_000_000n, 20_000_000_000n],
    ['gemini-3.8-flash', '2027-01-01', 'from-2027', 1_500_000_000n, 7_500_000_000n],
    ['gemini-3.6-flash', '2027-01-01', 'from-2027', 1_500_000_000n, 7_500_000_000n],
  ])('doubles the price of %s on %s, also in the cloud', (upstream, day, name, input, output) => {
    const start = Date.parse(day);
    for (const vendor of ['google', 'google-vertex']) {
      const { price } = readCatalogue(fileOf(vendor)).find((model) => model.upstream === upstream) ?? {};
      if (!price?.rules) throw new Error('no rules');
      const schedule = new PriceSchedule(price.rules, 3_600_000);
      expect([start - 60_000, start].map((at) => schedule.ruleAt(at))).toEqual([undefined, name]);
      expect(price.rules[0]).toMatchObject({ input, output, cacheRead: (price.cacheRead ?? 0n) * 2n });
    }
  });

  it('has the prices of sound that speaking models make, and doubles those of Gemini with 2027', () => {
    const audio = models.filter(({ output }) => output.includes('audio'));
    expect(audio.map(({ id, price }) => [id, price?.inputAudio, price?.outputAudio])).toEqual([
      ['openai/gpt-audio-1.5', 32_000_000_000n, 64_000_000_000n],
      ['openai/gpt-audio', 32_000_000_000n, 64_000_000_000n],
      ['google/gemini-3.8-flash-tts', undefined, 9_000_000_000n],
      ['google/gemini-3.8-flash-lite-tts', undefined, 6_000_000_000n],
    ]);
    const { price } = modelOf('google', 'gemini-3.8-flash-tts');
    expect(price?.rules).toMatchObject([{ input: 1_000_000_000n, outputAudio: 18_000_000_000n }]);
  });

  it('writes what OpenAI charges for cache writes, discounts and regions as parts of its rates', () => {
    const priced = models.filter(({ vendor, price }) => vendor === 'openai' && price?.cacheWrite30m);
    expect(priced.length).toBeGreaterThan(8);
    for (const { id, price } of priced) {
      if (!price) continue;
      for (const rates of [price, ...price.tiers])
        expect(rates, id).toMatchObject({
          cacheWrite30m: (rates.input * 5n) / 4n,
          cacheWrite12h: (rates.input * 5n) / 2n,
        });
    }
    const { price = freePrice } = modelOf('openai', 'gpt-6.1-sol');
    expect(price.modes?.flex).toMatchObject({ input: price.input / 2n, output: price.output / 2n });
    expect(regionalPrice(price)).toMatchObject({
      name: 'standard-regional',
      input: (price.input * 11n) / 10n,
      modes: { flex: { output: (price.output * 11n) / 20n } },
    });
  });

  it.each(['gpt-5.5', 'gpt-5.6-sol', 'gpt-6-sol', 'gpt-6.1-sol', 'gpt-6-astra'])(
    'sends tools with reasoning of %s to the responses endpoint',
    (upstream) => {
      const { capabilities, protocols } = modelOf('openai', upstream);
      expect(protocols).toBeUndefined();
      expect(capabilities).toMatchObject({
        sampling: false,
        wire: {
          'chat-completions': { tools: 'unless-reasoning', outputLimitField: 'max_completion_tokens' },
        },
      });
      expect(capabilities.reasoning.canDisable).toBe(capabilities.reasoning.efforts?.includes('none'));
    },
  );

  it.each([
    ['claude-opus-5-5', false],
    ['claude-sonnet-5-5', false],
    ['claude-haiku-5-5', true],
    ['claude-fable-5-2', false],
  ])('lets %s think by effort and without sampling, and not at all if it can: %s', (upstream, canDisable) => {
    expect(modelOf('anthropic', upstream).capabilities).toMatchObject({
      sampling: false,
      reasoning: {
        style: 'adaptive',
        efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
        canDisable,
      },
    });
  });
});
