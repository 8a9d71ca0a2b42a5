/** Prices and limits as the vendors published them. */
import { describe, expect, it } from 'vitest';
import { freePrice, getRate, nameKind, type Price } from '../../core/index.ts';
import { chatFlags } from '../../plugins/shared/openai/chat-flags.ts';
import { nameRates } from '../support/rates.ts';
import { catalogues, requireModel, models } from './catalogues.ts';

const fees = new Set(['request', 'webSearch', 'previewSearch', 'container', 'fileSearch', 'regional']);

/** What a model costs, in the form of the file again. */
function formatPrices({ price = freePrice }: { readonly price?: Price | undefined }): Record<string, string> {
  return Object.fromEntries(
    price.rates.flatMap((each) => (fees.has(each.unit) ? [] : [[nameKind(each), each.rate]])),
  );
}

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
    expect(formatPrices(requireModel(vendor, upstream))).toEqual(expected);
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
    expect(getRate(requireModel(vendor, upstream).price, 'webSearch')).toBe(expected);
  });

  it('charges 25 USD per thousand preview searches of OpenAI models that do not reason, of no others', () => {
    const searching = (catalogues.get('openai') ?? []).filter(
      ({ price }) => getRate(price, 'webSearch') !== undefined,
    );
    expect(searching.length).toBeGreaterThan(40);
    for (const { id, price, capabilities } of searching)
      expect(getRate(price, 'previewSearch'), id).toBe(
        capabilities.reasoning.style === 'none' ? '0.025' : undefined,
      );
  });

  it('says what a search costs of each model that its vendor searches the web for', () => {
    const searching = models.filter(
      ({ capabilities, output }) => capabilities.hosted.includes('web-search') && output.includes('text'),
    );
    expect(searching.length).toBeGreaterThan(30);
    expect(searching.filter(({ price }) => !Number(getRate(price, 'webSearch'))).map(({ id }) => id)).toEqual(
      [],
    );
  });

  it('charges more for long prompts if the provider does', () => {
    const namePrice = (vendor: string, upstream: string) =>
      nameRates(requireModel(vendor, upstream).price ?? freePrice);
    expect(namePrice('google', 'gemini-2.5-pro').tiers).toEqual([
      { above: 200_000, input: 2_500_000_000n, output: 15_000_000_000n, cacheRead: 250_000_000n },
    ]);
    expect(namePrice('openai', 'gpt-5.4').tiers).toMatchObject([
      { above: 272_000, input: 5_000_000_000n, output: 22_500_000_000n },
    ]);
  });

  it('at Anthropic, writing a cache costs 5/4 of the input for five minutes and twice for an hour', () => {
    for (const { id, price } of catalogues.get('anthropic') ?? []) {
      const rates = nameRates(price ?? freePrice);
      const { input } = rates;
      expect(rates, id).toMatchObject({ cacheWrite5m: (input * 5n) / 4n, cacheWrite1h: input * 2n });
    }
  });

  it('keeps limits, modalities and dates', () => {
    expect(requireModel('openai', 'gpt-5')).toMatchObject({
      contextLength: 400_000,
      outputLimit: 128_000,
      input: ['text', 'image'],
      created: '2025-08-07',
    });
    expect(requireModel('google', 'gemini-2.5-pro')).toMatchObject({
      contextLength: 1_048_576,
      outputLimit: 65_536,
      input: ['text', 'image', 'audio', 'video', 'pdf'],
    });
    expect(requireModel('openai', 'gpt-5-chat-latest')).toMatchObject({
      contextLength: 128_000,
      outputLimit: 16_384,
    });
  });

  it('knows what each can be asked for', () => {
    expect(requireModel('openai', 'gpt-5').capabilities).toMatchObject({
      sampling: false,
      reasoning: { style: 'effort', canDisable: false },
      wire: { 'chat-completions': { outputLimitField: 'max_completion_tokens' } },
    });
    expect(requireModel('openai', 'gpt-5.1').capabilities.reasoning).toEqual({
      style: 'effort',
      efforts: ['none', 'low', 'medium', 'high'],
      canDisable: true,
    });
    expect(requireModel('anthropic', 'claude-haiku-4-5').capabilities).toMatchObject({
      sampling: true,
      reasoning: { style: 'budget', budget: { min: 1024 } },
    });
    expect(requireModel('anthropic', 'claude-fable-5').capabilities).toMatchObject({
      sampling: false,
      reasoning: { style: 'adaptive', canDisable: false },
    });
    expect(requireModel('google', 'gemini-2.5-flash').capabilities.reasoning).toEqual({
      style: 'budget',
      budget: { min: 0, max: 24_576 },
      canDisable: true,
    });
    expect(requireModel('google', 'gemini-3-flash-preview').capabilities.reasoning.style).toBe('level');
    expect(requireModel('groq', 'llama-3.1-8b-instant').capabilities).toMatchObject({
      structuredOutput: false,
      tools: true,
      reasoning: { style: 'none' },
    });
    expect(requireModel('xai', 'grok-4.20-multi-agent-0309').capabilities.tools).toBe(false);
  });

  it('sends no chat call to a model that only the responses endpoint serves', () => {
    for (const upstream of ['gpt-5-pro', 'gpt-5-codex', 'o3-pro'])
      expect(requireModel('openai', upstream).protocols).toEqual(['responses']);
    expect(requireModel('openai', 'gpt-5').protocols).toEqual(['chat-completions', 'responses']);
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
    expect(requireModel('openai', 'gpt-4o-mini').capabilities.imageTokens).toBeGreaterThan(48_000);
    expect(requireModel('openai', 'gpt-4o').capabilities.imageTokens).toBe(4000);
    expect(requireModel('anthropic', 'claude-opus-4-8').capabilities.imageTokens).toBeGreaterThan(4784);
  });

  it('carries the facts of the public listing, and stated defaults if it has none', () => {
    expect(requireModel('openai', 'gpt-5-mini')).toMatchObject({
      canonicalSlug: 'openai/gpt-5-mini-2025-08-07',
      tokenizer: 'GPT',
      moderated: true,
      instructType: null,
    });
    expect(requireModel('openai', 'gpt-5-mini').supportedParameters).toContain('reasoning');
    expect(requireModel('together', 'zai-org/GLM-5')).toMatchObject({
      tokenizer: 'Other',
      instructType: null,
      moderated: false,
      expires: null,
      supportedParameters: [],
    });
  });
});

describe('the limits of models that think', () => {
  it('limits thinking and answer together, or says that thinking comes on top', () => {
    const limitedInFull = ['qwen3.8-max', 'qwen3.7-max', 'qwen3.7-plus', 'qwen3.6-plus'];
    const qwens = models.filter(({ id }) => id.startsWith('alibaba/'));
    expect(qwens.length).toBeGreaterThan(limitedInFull.length);
    for (const { id, capabilities } of qwens) {
      const isLimited = limitedInFull.includes(id.slice('alibaba/'.length));
      const { outputLimitField } = chatFlags(capabilities);
      expect([id, outputLimitField, capabilities.reasoning.outsideLimit ?? false]).toEqual([
        id,
        isLimited ? 'max_completion_tokens' : 'max_tokens',
        !isLimited,
      ]);
    }
  });
});
