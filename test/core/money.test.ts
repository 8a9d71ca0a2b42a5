import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeWorstCost } from '../../core/billing/cost-bounds.ts';
import { priceSchema } from '../../core/price.ts';
import { formatUsd, parseUsd, toUsdNumber } from '../../core/util/money.ts';
import { costOf, used } from '../support/rates.ts';

it.each([
  ['0.0375', 37_500_000n],
  ['12', 12_000_000_000n],
  ['-0.000000001', -1n],
  ['9007199.254740993', 9_007_199_254_740_993n],
])('%s USD are %s nano, and written so again', (text, nano) => {
  expect(parseUsd(text)).toBe(nano);
  expect(formatUsd(nano)).toBe(text);
});

it.each(['', '1.', '.5', '1e3', '0.0000000001', '1,5', ' 1', 'NaN'])('"%s" is no amount', (text) => {
  expect(() => parseUsd(text)).toThrow(RangeError);
});

it('an amount that is written is read back as it was', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
      (nano) => parseUsd(formatUsd(nano)) === nano,
    ),
  );
});

it('an amount converts to the nearest double only for the balance reply', () => {
  expect(toUsdNumber(300_000_000n)).toBe(0.3);
  expect(toUsdNumber(9_007_199_254_740_993n)).toBe(9007199.254740993);
});

const price = priceSchema.parse({
  input: '2.50',
  output: '10',
  cacheRead: '1.25',
  cacheWrite5m: '3.125',
  reasoning: '12',
  tiers: [{ above: 200_000, input: '5', output: '20' }],
});

it('the cost of a call has long-context rates for all of it once its input exceeds the tier', () => {
  expect(costOf({ input: 200_000, output: 0 }, price)).toBe(parseUsd('0.5'));
  expect(costOf({ input: 200_001, output: 0 }, price)).toBe(parseUsd('1.000005'));
});

it('the cost of a call counts what is priced by the piece', () => {
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

it('the cost of a call has the rates of a service mode in that mode only, however long it is', () => {
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

it('the cost of a call never prices a part as larger than its whole', () => {
  expect(costOf({ input: 10, cacheRead: 1_000_000, output: 0 }, price)).toBe(
    costOf({ input: 10, cacheRead: 10, output: 0 }, price),
  );
});

it('the cost of a call has cached audio once, at its own, the cache or the audio rate', () => {
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
])('%s nano per million for %i tokens are rounded half to even: %s', (input, count, cost) => {
  expect(
    costOf({ input: count, output: 0 }, priceSchema.parse({ input: formatUsd(input), output: '0' })),
  ).toBe(cost);
});
