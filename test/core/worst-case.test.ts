/** The most that a call can cost, against computations of its cost. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeAffordableOutput, computeWorstCost } from '../../core/billing/worst-cost.ts';
import type { Price } from '../../core/index.ts';
import { priceSchema } from '../../core/price.ts';
import { formatUsd } from '../../core/util/money.ts';
import { buildRates } from '../support/any-rates.ts';
import { costOf, used } from '../support/rates.ts';

const rate = fc.bigInt({ min: 0n, max: 10n ** 12n }).map(formatUsd);
const tokens = fc.integer({ min: 0, max: 10_000_000 });

describe('the worst case', () => {
  const anyRates = fc.record({ input: rate, output: rate, cacheWrite1h: rate, reasoning: rate });
  const anyPrice: fc.Arbitrary<Price> = anyRates.map((rates) => priceSchema.parse(rates));

  it('covers a call that asks for a service mode, whether it is served in it or not', () => {
    fc.assert(
      fc.property(
        anyRates,
        fc.record({ input: rate, output: rate, cacheWrite1h: rate }),
        tokens,
        tokens,
        fc.nat(),
        fc.boolean(),
        (usual, fastRates, input, output, part, fast) => {
          const price = priceSchema.parse({ ...usual, modes: { fast: fastRates } });
          return (
            costOf(
              { input, output, cacheWrite1h: part % (input + 1), mode: fast ? 'fast' : 'usual' },
              price,
            ) <=
            computeWorstCost({ input, output, candidates: 1, mode: 'fast' }, price) + 1n
          );
        },
      ),
    );
  });

  it('is never below the cost of a call within its bounds', () => {
    fc.assert(
      fc.property(anyPrice, tokens, tokens, fc.nat(), fc.nat(), (price, input, output, part, reasoning) => {
        const usage = {
          input,
          cacheWrite1h: part % (input + 1),
          output,
          reasoning: reasoning % (output + 1),
        };
        return costOf(usage, price) <= computeWorstCost({ input, output, candidates: 1 }, price) + 1n;
      }),
    );
  });

  const anyFees = fc.record(
    { request: rate, image: rate, webSearch: rate, fileSearch: rate, container: rate },
    { requiredKeys: [] },
  );
  const fullPrice: fc.Arbitrary<Price> = fc
    .record({
      rates: buildRates(rate),
      fees: anyFees,
      tiers: fc.array(fc.record({ above: fc.integer({ min: 1, max: 1000 }), rates: buildRates(rate) }), {
        maxLength: 2,
      }),
      fast: buildRates(rate),
    })
    .map(({ rates, fees, tiers, fast }) =>
      priceSchema.parse({
        ...rates,
        ...fees,
        tiers: tiers.map(({ above, rates: long }) => ({ above, ...long })),
        modes: { fast },
      }),
    );
  const some = fc.integer({ min: 0, max: 2000 });
  const parts = fc.record(
    {
      cacheRead: some,
      cacheReadAudio: some,
      cacheWrite5m: some,
      cacheWrite30m: some,
      cacheWrite1h: some,
      cacheWrite12h: some,
      inputAudio: some,
      inputImage: some,
      reasoning: some,
      outputAudio: some,
      outputImage: some,
    },
    { requiredKeys: [] },
  );
  const uses = fc.record({
    candidates: fc.integer({ min: 1, max: 4 }),
    searches: fc.nat(9),
    fileSearches: fc.nat(9),
    containers: fc.nat(2),
    images: fc.nat(4),
  });

  it('holds for any usage within the limits, at any rates and with any fees', () => {
    fc.assert(
      fc.property(
        fullPrice,
        some,
        some,
        parts,
        uses,
        fc.constantFrom(undefined, 'fast', 'usual'),
        (price, input, output, part, { candidates, searches, fileSearches, containers, images }, mode) => {
          const usage = {
            ...part,
            input,
            output: output * candidates,
            webSearches: searches,
            fileSearches,
            containers,
            images: Math.min(images, candidates),
            ...(mode === undefined ? {} : { mode }),
          };
          expect(costOf(usage, price)).toBeLessThanOrEqual(
            computeWorstCost(
              {
                input,
                output,
                candidates,
                ...used({ webSearches: searches, fileSearches, containers }),
                mode: mode === 'fast' ? mode : undefined,
              },
              price,
            ),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('fits into the amount for which it was made affordable', () => {
    fc.assert(
      fc.property(
        anyPrice,
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        tokens,
        fc.integer({ min: 1, max: 8 }),
        (price, amount, input, candidates) => {
          const output = computeAffordableOutput(amount, { input, candidates }, price);
          if (output < 0) return computeWorstCost({ input, output: 0, candidates }, price) >= amount;
          return (
            output === Number.MAX_SAFE_INTEGER ||
            computeWorstCost({ input, output, candidates }, price) <= amount
          );
        },
      ),
    );
  });
});
