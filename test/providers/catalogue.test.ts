import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readCatalogue, type Model } from '../../core/model-facts.ts';
import { formatUsd } from '../../core/money.ts';

const vendors = ['openai', 'anthropic', 'google', 'deepseek', 'mistral', 'groq', 'xai', 'together'];

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

const fees = new Set(['request', 'webSearch', 'container', 'fileSearch']);

/** What a model costs, back in the words of the file. */
function prices({ price = {} }: { readonly price?: object | undefined }): Record<string, string> {
  return Object.fromEntries(
    Object.entries(price).flatMap(([name, rate]) =>
      typeof rate === 'bigint' && !fees.has(name) ? [[name, formatUsd(rate)]] : [],
    ),
  );
}

describe('every catalogue file', () => {
  it.each(vendors)('%s is read, is dated and says where its facts are from', (vendor) => {
    const file = z
      .object({ vendor: z.string(), asOf: z.iso.date(), source: z.string().min(10) })
      .parse(JSON.parse(readFileSync(fileOf(vendor), 'utf8')));
    expect(file.vendor).toBe(vendor);
    expect(catalogues.get(vendor)?.length).toBeGreaterThan(3);
  });

  it.each(vendors)('%s writes money as decimal strings, never as numbers', (vendor) => {
    const written = z.object({
      models: z.array(
        z.object({
          price: z.looseObject({
            tiers: z.array(z.record(z.string(), z.unknown())).default([]),
            modes: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
          }),
        }),
      ),
    });
    for (const { price } of written.parse(JSON.parse(readFileSync(fileOf(vendor), 'utf8'))).models) {
      const { tiers, modes, ...rates } = price;
      for (const { above: _, ...tier } of [rates, ...Object.values(modes), ...tiers])
        expect(Object.values(tier).every((rate) => typeof rate === 'string')).toBe(true);
    }
  });

  it.each(models.map((model) => [`${model.vendor}: ${model.id}`, model] as const))(
    '%s is a model of text or pictures sold at a plausible price',
    (_, model) => {
      const { price } = model;
      if (!price) throw new Error('no price');
      // What makes pictures has a price for them, and says what it can be asked for.
      expect(model.output.filter((kind) => kind !== 'image' && kind !== 'text')).toEqual([]);
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
      expect(model.created <= '2026-07-02').toBe(true);
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

  it('names the owner in each id, the vendor itself where its own ids do not', () => {
    for (const { vendor, id, upstream } of models)
      expect(id).toBe(upstream.includes('/') ? upstream : `${vendor}/${upstream}`);
  });

  it('says no model twice in one file, and may say it in two', () => {
    for (const [vendor, listed] of catalogues)
      expect(new Set(listed.map(({ id }) => id)).size, vendor).toBe(listed.length);
    expect(models.filter(({ id }) => id === 'openai/gpt-oss-120b').map(({ vendor }) => vendor)).toEqual([
      'groq',
      'together',
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
    ['deepseek', 'deepseek-v4-pro', { input: '0.435', output: '0.87', cacheRead: '0.003625' }],
    ['mistral', 'mistral-large-2512', { input: '0.5', output: '1.5' }],
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

  it('charges more for long prompts where the vendor does', () => {
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

  it('lists no top_k where the vendor itself has none: Gemini CLI sends it with every call, and Mistral refuses what it does not know', () => {
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

  it('carries the facts of the public listing, and stated defaults where it has none', () => {
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
