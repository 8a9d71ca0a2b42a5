import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeWorstCost } from '../../core/billing/cost-bounds.ts';
import { priceSchema } from '../../core/price.ts';
import { formatUsd, parseUsd, toUsdNumber } from '../../core/util/money.ts';
import { costOf, used } from '../support/rates.ts';

describe('amounts', () => {
  it.each([
    ['0.0375', 37_500_000n],
    ['12', 12_000_000_000n],
    ['-0.000000001', -1n],
    ['9007199.254740993', 9_007_199_254_740_993n],
  ])('parses %s USD as %s nano', (text, nano) => {
    expect(parseUsd(text)).toBe(nano);
    expect(formatUsd(nano)).toBe(text);
  });

  it.each(['', '1.', '.5', '1e3', '0.0000000001', '1,5', ' 1', 'NaN'])(
    'refuses "%s" as an amount',
    (text) => {
      expect(() => parseUsd(text)).toThrow(RangeError);
    },
  );

  it('reads back the amounts that it writes', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
        (nano) => parseUsd(formatUsd(nano)) === nano,
      ),
    );
  });

  it('converts to the nearest double only for the balance reply', () => {
    expect(toUsdNumber(300_000_000n)).toBe(0.3);
    expect(toUsdNumber(9_007_199_254_740_993n)).toBe(9007199.254740993);
  });
});

describe('the cost of a call', () => {
  const price = priceSchema.parse({
    input: '2.50',
    output: '10',
    cacheRead: '1.25',
    cacheWrite5m: '3.125',
    reasoning: '12',
    tiers: [{ above: 200_000, input: '5', output: '20' }],
  });

  it('applies long-context rates to the whole call once its input exceeds the tier', () => {
    expect(costOf({ input: 200_000, output: 0 }, price)).toBe(parseUsd('0.5'));
    expect(costOf({ input: 200_001, output: 0 }, price)).toBe(parseUsd('1.000005'));
  });

  it('counts what is priced by the piece', () => {
    const apiece = priceSchema.parse({
      input: '0',
      output: '0',
      request: '0.001',
      webSearch: '0.01',
      fileSearch: '0.0025',
      container: '0.03',
      image: '0.2',
    });
    expect(formatUsd(costOf({ webSearches: 3, fileSearches: 4, containers: 2, images: 1 }, apiece))).toBe(
      '0.301',
    );
    expect(
      formatUsd(
        computeWorstCost(
          { input: 0, output: 0, candidates: 1, ...used({ webSearches: 3, fileSearches: 4, containers: 2 }) },
          apiece,
        ),
      ),
    ).toBe('0.301');
  });

  it('applies the rates of a service mode to that mode only, however long the input is', () => {
    const fast = priceSchema.parse({
      input: '1',
      output: '2',
      modes: { fast: { input: '10', output: '20' } },
      tiers: [{ above: 100, input: '5', output: '6' }],
    });
    const costs = [{}, { mode: 'usual' }, { mode: 'fast' }].map((served) =>
      formatUsd(costOf({ input: 101, output: 0, ...served }, fast)),
    );
    expect(costs).toEqual(['0.000505', '0.000505', '0.00101']);
    expect(costOf({ input: 1000, output: 0, mode: 'fast' }, price)).toBe(
      costOf({ input: 1000, output: 0 }, price),
    );
  });

  it('never prices a part as larger than its whole', () => {
    expect(costOf({ input: 10, cacheRead: 1_000_000, output: 0 }, price)).toBe(
      costOf({ input: 10, cacheRead: 10, output: 0 }, price),
    );
  });

  it('counts cached audio once, at its own rate, the cache rate or the audio rate', () => {
    const usage = { input: 300, cacheRead: 180, cacheReadAudio: 150, inputAudio: 200, output: 0 };
    const rates = { input: '1', output: '0', inputAudio: '100' };
    const costs = [{ cacheRead: '0.1', cacheReadAudio: '10' }, { cacheRead: '0.1' }, {}].map((cached) =>
      formatUsd(costOf(usage, priceSchema.parse({ ...rates, ...cached }))),
    );
    // 70 of fresh text and 50 of fresh audio; 30 of text and 150 of audio from the cache.
    expect(costs).toEqual(['0.006573', '0.005088', '0.0201']);
  });

  it.each([
    [1n, 500_000, 0n],
    [3n, 500_000, 2n],
    [1n, 500_001, 1n],
    [5n, 500_000, 2n],
  ])('rounds %s nano per million for %i tokens half to even: %s', (input, count, cost) => {
    expect(
      costOf({ input: count, output: 0 }, priceSchema.parse({ input: formatUsd(input), output: '0' })),
    ).toBe(cost);
  });
});
