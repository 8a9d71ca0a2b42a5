/** Reservations and charges, for any price, any call and any reported usage. */
import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeCharge } from '../../core/billing/charge.ts';
import { boundUse, computeWorstCost } from '../../core/billing/cost-bounds.ts';
import { computeCostLines } from '../../core/billing/cost.ts';
import {
  nameCounts,
  type Fee,
  type Model,
  type ModelFacts,
  type Price,
  type Routed,
  type Usage,
} from '../../core/index.ts';
import { Tally } from '../../core/tally.ts';
import { target } from '../balance/targets.ts';
import { buildRates } from '../support/any-rates.ts';
import { buildRouted } from '../support/exchange.ts';
import { nameRates } from '../support/rates.ts';
import { chargeOf } from './charged.ts';

const usd = fc.nat(40_000).map((cents) => new Decimal(cents).div(1000).toFixed());
const part = fc.option(usd, { nil: undefined });
const rates = buildRates(usd);
const fee = fc
  .record({ webSearch: part, fileSearch: part, container: part, request: part, image: part })
  .map((fees) => Object.fromEntries(Object.entries(fees).filter(([, rate]) => rate !== undefined)));
const prices: fc.Arbitrary<NonNullable<ModelFacts['price']>> = fc
  .record({
    base: rates,
    fees: fee,
    tiers: fc.uniqueArray(fc.record({ above: fc.integer({ min: 1, max: 30_000 }), rates }), {
      selector: ({ above }) => above,
      maxLength: 3,
    }),
    fast: rates,
  })
  .map(({ base, fees, tiers, fast }) => ({
    ...base,
    ...fees,
    tiers: tiers.map(({ above, rates: long }) => ({ above, ...long })),
    modes: { fast },
  }));

const most = fc.constantFrom(0, 1, 3, 7, Infinity);
const fees: fc.Arbitrary<Fee[]> = fc
  .subarray([
    { name: 'webSearch' as const, field: 'a' },
    { name: 'fileSearch' as const, field: 'b' },
    { name: 'container' as const, field: 'c' },
  ])
  .chain((chosen) => fc.tuple(...chosen.map((each) => most.map((limit) => ({ ...each, most: limit })))));
const calls = fc.record({
  fees,
  outputLimit: fc.option(fc.integer({ min: 1, max: 2000 }), { nil: undefined }),
  candidates: fc.integer({ min: 1, max: 3 }),
  modes: fc.constantFrom([], [{ name: 'fast', field: 'speed' }]),
  size: fc.record({
    textBytes: fc.integer({ min: 1, max: 20_000 }),
    images: fc.nat(2),
    mediaBytes: fc.nat(5000),
    fetched: fc.boolean(),
    cached: fc.boolean(),
    uncached: fc.boolean(),
    rounds: fc.constantFrom(0, 1, 4, Infinity),
  }),
});
const protocols = fc.constantFrom(undefined, 'marked' as const, 'automatic' as const);

function buildExchange(
  price: NonNullable<ModelFacts['price']>,
  call: Partial<Routed['call']>,
  caching: 'marked' | 'automatic' | undefined,
): Routed {
  const plain = target('house', price, { contextLength: 40_000 });
  const { protocol } = plain;
  const exchange = buildRouted({
    ...plain,
    protocol: { ...protocol, upstream: { ...protocol.upstream, ...(caching ? { caching } : {}) } },
  });
  exchange.attempt.sent = true;
  return { ...exchange, call: { ...exchange.call, ...call } };
}

function computeReservation({ call, grant, attempt }: Routed): bigint {
  return computeWorstCost(boundUse(call, attempt.target, grant.outputLimit), attempt.target.price);
}

const figure = fc.oneof(fc.nat(50), fc.nat(3000), fc.nat(60_000), fc.maxSafeNat());
const usageReport: fc.Arbitrary<Usage> = fc.record(
  {
    input: figure,
    output: figure,
    cacheRead: figure,
    cacheReadAudio: figure,
    cacheWrite5m: figure,
    cacheWrite30m: figure,
    cacheWrite1h: figure,
    cacheWrite12h: figure,
    inputAudio: figure,
    inputImage: figure,
    reasoning: figure,
    outputAudio: figure,
    outputImage: figure,
    webSearches: figure,
    fileSearches: figure,
    containers: figure,
    mode: fc.constantFrom('usual', 'fast', 'unheard-of'),
  },
  { requiredKeys: [] },
);

it('suspect usage and an unrequested service mode never cost more than the reservation', () => {
  let suspects = 0;
  fc.assert(
    fc.property(
      prices,
      calls,
      protocols,
      fc.array(usageReport, { maxLength: 3 }),
      fc.constantFrom('completed' as const, 'aborted' as const, 'cut' as const),
      fc.boolean(),
      (price, call, caching, reports, outcome, paints) => {
        const exchange = buildExchange(price, call, caching);
        const tally = new Tally();
        tally.read({ type: 'block-start', candidate: 0, block: 0, kind: paints ? 'image' : 'text' });
        tally.read({ type: 'block-delta', candidate: 0, block: 0, text: 'hello there' });
        for (const usage of reports) tally.read({ type: 'usage', usage });
        const charge = chargeOf(outcome, exchange, tally);
        const isFast = charge.usage.mode === 'fast' && call.modes.length === 0;
        if (charge.suspect) suspects += 1;
        if (charge.suspect || isFast) expect(charge.cost).toBeLessThanOrEqual(computeReservation(exchange));
      },
    ),
    { numRuns: 750 },
  );
  expect(suspects).toBeGreaterThan(100);
});

/** Usage within what a call states, and within what a provider is expected to find. */
function buildHonestUsage({ call, attempt, grant }: Routed, shares: readonly number[]): Usage {
  const bound = boundUse(call, attempt.target, grant.outputLimit);
  let place = 0;
  const takeShare = (limit: number | undefined): number =>
    Math.floor((shares[place++ % shares.length] ?? 0) * (limit ?? 0));
  const [fresh, cached, output] = [
    Math.max(1, takeShare(bound.input)),
    takeShare(bound.cached),
    Math.max(1, takeShare(bound.output * bound.candidates)),
  ];
  const [cacheRead, cacheWrite1h, inputAudio] = [
    takeShare(fresh),
    bound.uncached ? 0 : takeShare(fresh),
    takeShare(fresh),
  ];
  return {
    input: fresh + cached,
    output,
    inputAudio,
    cacheRead: cached + Math.min(cacheRead, fresh - cacheWrite1h),
    cacheWrite1h,
    cacheWrite5m: 0,
    reasoning: takeShare(output),
    ...nameCounts((bound.uses ?? []).map((use) => ({ ...use, count: takeShare(use.count) }))),
    ...(call.modes?.length ? { mode: (shares[0] ?? 0) < 0.5 ? 'fast' : 'usual' } : {}),
  };
}

it('honest usage never costs more than the reservation', () => {
  fc.assert(
    fc.property(
      prices,
      calls,
      protocols,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 9, maxLength: 9 }),
      (price, call, caching, shares) => {
        const exchange = buildExchange(price, call, caching);
        const tally = new Tally();
        tally.read({ type: 'block-delta', candidate: 0, block: 0, text: 'hello there' });
        tally.read({ type: 'usage', usage: buildHonestUsage(exchange, shares) });
        tally.read({ type: 'response-end' });
        const charge = computeCharge('completed', exchange, tally);
        const { cost, lines, basis } = charge;
        expect(basis).toBe('usage');
        expect(lines).toEqual(computeCostLines(charge, exchange.attempt.target.price));
        expect(cost).toBeLessThanOrEqual(computeReservation(exchange));
      },
    ),
    { numRuns: 500 },
  );
});

/** The highest possible cost of a call, found by trying the lengths at which the price changes. */
function computeDearest(
  price: Price,
  { outputLimit: longest }: Model,
  bytes: number,
  output: number,
): Decimal {
  const rates = nameRates(price);
  const priceTokens = (tokens: number, rate: bigint): Decimal =>
    new Decimal(tokens).times(rate.toString()).div(1_000_000);
  const lengths = [bytes, ...rates.tiers.flatMap(({ above }) => [above, above + 1])].filter(
    (length) => length <= bytes,
  );
  return Decimal.max(
    ...lengths.map((length) => {
      const tier = rates.tiers
        .filter(({ above }) => length > above)
        .toSorted((one, other) => one.above - other.above)
        .at(-1);
      const { input, output: out } = tier ?? rates;
      return priceTokens(length, input).plus(priceTokens(Math.min(output, longest), out));
    }),
  );
}

const rising = fc.record({
  above: fc.integer({ min: 10, max: 20_000 }),
  input: fc.nat(10_000),
  more: fc.nat(10_000),
  output: fc.nat(10_000),
  bytes: fc.integer({ min: 1, max: 20_000 }),
  outputLimit: fc.integer({ min: 1, max: 1000 }),
});

it('the rates of a tier are reserved exactly if the bytes of a call can reach it', () => {
  fc.assert(
    fc.property(
      rising,
      fc.constantFrom(-1, 0, 1, undefined),
      ({ above, input, more, output, bytes, outputLimit }, beside) => {
        const length = beside === undefined ? bytes : above + beside;
        const formatRate = (mills: number): string => new Decimal(mills).div(1000).toFixed();
        const price = {
          input: formatRate(input),
          output: formatRate(output),
          tiers: [{ above, input: formatRate(input + more), output: formatRate(output + more) }],
        };
        const exchange = buildExchange(
          price,
          { outputLimit, size: { textBytes: length, images: 0, mediaBytes: 0 } },
          undefined,
        );
        const { model, price: parsed } = exchange.attempt.target;
        expect(computeReservation(exchange)).toBe(
          BigInt(
            computeDearest(parsed, model, length, outputLimit)
              .toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN)
              .toFixed(),
          ),
        );
      },
    ),
    { numRuns: 250 },
  );
});
