/** Models and prices that came in November 2026. */
import { describe, expect, it } from 'vitest';
import { getRate } from '../../core/index.ts';
import { PriceSchedule } from '../../core/price-schedule.ts';
import { freePrice, toRegionalPrice } from '../../core/price.ts';
import { formatUsd } from '../../core/util/money.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { costOf, nameRates } from '../support/rates.ts';
import { catalogues, getFileUrl, requireModel, models } from './catalogues.ts';

describe('models and prices of November 2026', () => {
  it("states each retired model's last day, and an existing model as its successor", () => {
    const retired = models.filter(({ expires }) => expires !== null);
    expect(retired.length).toBeGreaterThan(30);
    for (const { id, vendor, expires, successor } of retired) {
      const next = catalogues.get(vendor)?.find((model) => model.id === successor);
      expect([id, next === undefined], `${successor}`).toEqual([id, false]);
      expect(String(next?.expires ?? '9999') > String(expires), id).toBe(true);
    }
    expect(requireModel('openai', 'gpt-4')).toMatchObject({
      expires: '2026-10-22',
      successor: 'openai/gpt-5.6-sol',
    });
  });

  it('bills DeepSeek twice as much in its peak hours, and not on weekends and holidays', () => {
    const price = requireModel('deepseek', 'deepseek-flash').price;
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
      const rule = schedule.findRule(Date.parse(at));
      return formatUsd(costOf({ input: 1_000_000, output: 0, ...(rule ? { rule } : {}) }, price));
    });
    expect(costs).toEqual(['0.15', '0.3', '0.15', '0.3', '0.15', '0.15']);
  });

  it('lists what each Gemini takes: sampling, and no penalties, which Google refuses', () => {
    const written = ['google', 'google-vertex'].flatMap((vendor) =>
      readCatalogue(getFileUrl(vendor)).filter(
        ({ id, output }) => id.startsWith('google/gemini-') && output.join() === 'text',
      ),
    );
    expect(written.length).toBeGreaterThan(20);
    for (const { id, supportedParameters: listed } of written)
      expect([id, listed.includes('temperature'), listed.includes('presence_penalty')]).toEqual([
        id,
        true,
        false,
      ]);
  });

  it.each([
    ['gemini-4-argon', '2026-12-01', 'from-december', 4_000_000_000n, 20_000_000_000n],
    ['gemini-4-carbon', '2026-12-01', 'from-december', 4_000_000_000n, 20_000_000_000n],
    ['gemini-3.8-flash', '2027-01-01', 'from-2027', 1_500_000_000n, 7_500_000_000n],
    ['gemini-3.6-flash', '2027-01-01', 'from-2027', 1_500_000_000n, 7_500_000_000n],
  ])('doubles the price of %s on %s, also in the cloud', (upstream, day, name, input, output) => {
    const start = Date.parse(day);
    for (const vendor of ['google', 'google-vertex']) {
      const { price } = readCatalogue(getFileUrl(vendor)).find((model) => model.upstream === upstream) ?? {};
      if (!price?.rules) throw new Error('no rules');
      const schedule = new PriceSchedule(price.rules, 3_600_000);
      expect([start - 60_000, start].map((at) => schedule.findRule(at))).toEqual([undefined, name]);
      const { cacheRead = 0n, rules } = nameRates(price);
      expect(rules?.[0]).toMatchObject({ input, output, cacheRead: cacheRead * 2n });
    }
  });

  it('has the prices of sound that speaking models make, and doubles those of Gemini with 2027', () => {
    const audio = models.filter(({ output }) => output.includes('audio'));
    expect(
      audio.map(({ id, price }) => [id, getRate(price, 'input', 'audio'), getRate(price, 'output', 'audio')]),
    ).toEqual([
      ['openai/gpt-audio-1.5', '32', '64'],
      ['openai/gpt-audio', '32', '64'],
      ['google/gemini-3.8-flash-tts', undefined, '9'],
      ['google/gemini-3.8-flash-lite-tts', undefined, '6'],
    ]);
    const { price = freePrice } = requireModel('google', 'gemini-3.8-flash-tts');
    expect(nameRates(price).rules).toMatchObject([{ input: 1_000_000_000n, outputAudio: 18_000_000_000n }]);
  });

  it('writes what OpenAI charges for cache writes, discounts and regions as parts of its rates', () => {
    const priced = models.filter(
      ({ vendor, price }) => vendor === 'openai' && getRate(price, 'cacheWrite30m'),
    );
    expect(priced.length).toBeGreaterThan(8);
    for (const { id, price } of priced) {
      const named = nameRates(price ?? freePrice);
      for (const rates of [named, ...named.tiers])
        expect(rates, id).toMatchObject({
          cacheWrite30m: (rates.input * 5n) / 4n,
          cacheWrite12h: (rates.input * 5n) / 2n,
        });
    }
    const { price = freePrice } = requireModel('openai', 'gpt-6.1-sol');
    const { input, output, modes } = nameRates(price);
    expect(modes?.flex).toMatchObject({ input: input / 2n, output: output / 2n });
    expect(nameRates(toRegionalPrice(price))).toMatchObject({
      name: 'standard-regional',
      input: (input * 11n) / 10n,
      modes: { flex: { output: (output * 11n) / 20n } },
    });
  });

  it.each([
    'gpt-5.5',
    'gpt-5.6-sol',
    'gpt-6-sol',
    'gpt-6.1-sol',
    'gpt-6-astra',
    'gpt-6.2-astra',
    'gpt-6.2-sol',
  ])('sends tools with reasoning of %s to the responses endpoint', (upstream) => {
    const { capabilities, protocols } = requireModel('openai', upstream);
    expect(protocols).toEqual(['chat-completions', 'responses']);
    expect(capabilities).toMatchObject({
      sampling: false,
      wire: {
        'chat-completions': { tools: 'unless-reasoning', outputLimitField: 'max_completion_tokens' },
      },
    });
    expect(capabilities.reasoning.canDisable).toBe(capabilities.reasoning.efforts?.includes('none'));
  });

  it.each([
    ['gpt-6.2-astra', ['8', '0.4', '40', '10'], ['16', '0.8', '60', '20']],
    ['gpt-6.2-sol', ['2', '0.1', '10', '2.5'], ['4', '0.2', '15', '5']],
    ['gpt-6-rosalind', ['15', '1.5', '75', '18.75'], ['30', '3', '112.5', '37.5']],
    ['gpt-6-cyber', ['20', '2', '100', '25'], ['40', '4', '150', '50']],
    ['gpt-5.6-cyber', ['12.5', '1.25', '75', '15.625'], ['25', '2.5', '112.5', '31.25']],
    ['gpt-daybreak-red-latest', ['12.5', '1.25', '75', '15.625'], ['25', '2.5', '112.5', '31.25']],
  ])('sells %s for %j, and for %j if the input has more than 272,000 tokens', (upstream, usual, long) => {
    const { price = freePrice } = requireModel('openai', upstream);
    const tables = [price, ...price.tiers].map((table) =>
      (['input', 'cacheRead', 'output', 'cacheWrite30m'] as const).map((unit) => getRate(table, unit)),
    );
    expect([tables, price.tiers.map(({ above }) => above)]).toEqual([[usual, long], [272_000]]);
  });

  it.each([
    ['openai', 'gpt-6.2-astra', ['low', 'medium', 'high', 'xhigh', 'max']],
    ['openai', 'gpt-6.2-sol', ['low', 'medium', 'high', 'xhigh', 'max']],
    ['google', 'gemini-4-carbon', ['low', 'medium', 'high']],
    ['google', 'gemini-4-hydrogen', ['low', 'medium', 'high', 'xhigh']],
    ['google', 'gemini-4-neon', ['low', 'medium', 'high', 'xhigh']],
  ])('%s lets %s think by these efforts, and never not at all: %j', (vendor, upstream, efforts) => {
    expect(requireModel(vendor, upstream).capabilities.reasoning).toMatchObject({
      efforts,
      canDisable: false,
    });
  });

  it.each([
    ['gpt-6-astra', 'fast', 2n],
    ['gpt-6-astra', 'ultrafast', 6n],
    ['gpt-6.1-sol', 'ultrafast', 6n],
    ['gpt-6.2-astra', 'fast', 2n],
  ])('sells %s served %s at %i times its usual rates, long inputs too', (upstream, mode, times) => {
    const price = nameRates(requireModel('openai', upstream).price ?? freePrice);
    expect(price.modes?.[mode]).toMatchObject({
      input: price.input * times,
      output: price.output * times,
      tiers: price.tiers.map(({ input, output }) => ({ input: input * times, output: output * times })),
    });
  });

  it.each(['gpt-image-2.5-flare', 'gpt-image-2.5-sunburst', 'gpt-image-2.6-flare', 'gpt-image-2.6-sunburst'])(
    'lets %s paint at five qualities, and bounds the tokens of each',
    (upstream) => {
      const { image } = requireModel('openai', upstream).capabilities;
      for (const quality of ['low', 'medium', 'high', 'xhigh', 'max']) {
        expect(image?.qualities[quality]).toBe(quality);
        // A square picture of 1024 pixels takes 7,024 tokens at the quality max, the dearest size 23,718.
        expect(image?.tokens[quality]).toBeLessThanOrEqual(quality === 'max' ? 24_000 : 16_000);
      }
      expect(image?.tokens.max).toBeGreaterThan(23_718);
    },
  );

  it('marks what a promotion or a single source says as unconfirmed', () => {
    const marked = models.filter(({ unconfirmed }) => unconfirmed !== undefined).map(({ id }) => id);
    expect(marked).toContain('openai/gpt-5.6-sol');
    expect(marked).toContain('openai/gpt-6-cyber');
    expect(marked).toContain('alibaba/qwen4-max');
  });

  it.each([
    ['claude-opus-5-5', false],
    ['claude-sonnet-5-5', false],
    ['claude-haiku-5-5', true],
    ['claude-fable-5-2', false],
  ])('lets %s think by effort and without sampling, and not at all if it can: %s', (upstream, canDisable) => {
    expect(requireModel('anthropic', upstream).capabilities).toMatchObject({
      sampling: false,
      reasoning: {
        style: 'adaptive',
        efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
        canDisable,
      },
    });
  });

  it.each(['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-1', 'claude-fable-5-2'])(
    'demands no call of a tool from %s, wherever it is served',
    (name) => {
      const served = models.filter(({ id }) => id === `anthropic/${name}`);
      expect(served.length).toBeGreaterThan(0);
      for (const { capabilities } of served)
        expect(capabilities.wire).toMatchObject({ messages: { forcesTools: false } });
    },
  );
});
