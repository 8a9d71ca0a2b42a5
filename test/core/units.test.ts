/**
 * What calls cost at prices of any units, with tiers, modes and rules, against a calculation that shares no
 * code with the gateway's: it assigns tokens to rates in its own way, with decimals of any length.
 */
import { Decimal as Decimals } from 'decimal.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeAffordableOutput, computeWorstCost } from '../../core/billing/cost-bounds.ts';
import { computeCost, computeCostLines } from '../../core/billing/cost.ts';
import { listUses, nameCounts, priceSchema, storePrice, type StatedPrice } from '../../core/index.ts';
import { scaleDecimal } from '../../core/util/decimal.ts';

const Decimal = Decimals.clone({ precision: 120 });

const media = ['', 'Text', 'Audio', 'Image', 'Video'];
const reads = ['cacheRead', 'cacheWrite5m', 'cacheWrite30m', 'cacheWrite1h', 'cacheWrite12h'];
const tokens = [...reads, 'input', 'reasoning', 'output'].flatMap((unit) => media.map((of) => unit + of));
const pieces = ['imageIn', 'search', 'character', 'page', 'secondIn', 'secondOut', 'sessionSecond'];
const fees = ['request', 'image', 'webSearch', 'previewSearch', 'fileSearch', 'container'];

type Rates = Readonly<Record<string, string>>;

/** Rates with up to 18 decimals: of some kinds, and always of input and output. */
const rate = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: 0, max: 18 }))
  .map(([digits, places]) => new Decimal(digits.toString()).div(new Decimal(10).pow(places)).toFixed());
const rates = (kinds: readonly string[]): fc.Arbitrary<Rates> =>
  fc.record(Object.fromEntries(kinds.map((kind) => [kind, rate])), { requiredKeys: ['input', 'output'] });
const all = [...tokens, ...pieces, ...fees];
const factor = fc.constantFrom('0.5', '1.1', '2', '0.123456789');

interface Stated {
  readonly rates: Rates;
  readonly tiers: readonly { readonly above: number; readonly rates: Rates }[];
  readonly fast: Rates;
  readonly flex: string;
  readonly night: Rates | string;
}
const prices: fc.Arbitrary<Stated> = fc.record({
  rates: rates(all),
  tiers: fc.uniqueArray(fc.record({ above: fc.integer({ min: 1, max: 3000 }), rates: rates(all) }), {
    selector: ({ above }) => above,
    maxLength: 2,
  }),
  fast: rates(all),
  flex: factor,
  night: fc.oneof(rates(all), factor),
});

/** The list of a configuration. Names are cut at the modality. */
function toList(named: Rates) {
  return Object.entries(named).map(([kind, each]) => {
    const [, unit = kind, modality] = /^(.+?)(Text|Audio|Image|Video)$/.exec(kind) ?? [];
    return { unit, ...(modality && { modality: modality.toLowerCase() }), rate: each };
  });
}

function toPrice({ rates: own, tiers, fast, flex, night }: Stated) {
  const modes = { fast: { rates: toList(fast) }, flex: { times: flex } };
  const rule =
    typeof night === 'string'
      ? { name: 'night', times: night }
      : { name: 'night', rates: toList(night), modes };
  const stated = {
    rates: toList(own),
    tiers: tiers.map(({ above, rates: long }) => ({ above, rates: toList(long) })),
    modes,
    rules: [rule],
  };
  return priceSchema.parse(stated as StatedPrice);
}

const counts = fc.dictionary(
  fc.constantFrom(
    ...tokens,
    ...'imageIn search character page images webSearches previewSearches fileSearches containers'.split(' '),
  ),
  fc.integer({ min: 0, max: 4000 }),
);
const seconds = fc.dictionary(
  fc.constantFrom('secondIn', 'secondOut', 'sessionSecond'),
  fc.integer({ min: 0, max: 100_000 }).map((milliseconds) => milliseconds / 1000),
);
const calls = fc.record({
  usage: fc.tuple(counts, seconds).map(([some, more]) => ({ ...some, ...more })),
  mode: fc.constantFrom(undefined, 'usual', 'fast', 'flex', 'batch'),
  rule: fc.constantFrom(undefined, 'night'),
});

/** The rates that hold for a call, the first of which wins: by length, by mode, and by time. */
function findTables(
  price: Stated,
  mode: string | undefined,
  rule: string | undefined,
  input: number,
): Rates[] {
  const scale = (named: Rates, times: string): Rates =>
    Object.fromEntries(
      Object.entries(named).map(([kind, each]) => [
        kind,
        fees.includes(kind) ? each : new Decimal(each).times(times).toFixed(),
      ]),
    );
  const omitFees = (named: Rates): Rates =>
    Object.fromEntries(Object.entries(named).filter(([kind]) => !fees.includes(kind)));
  const timed = rule === 'night' ? price.night : undefined;
  const times = typeof timed === 'string' ? timed : '1';
  const isOwn = typeof timed === 'object';
  const wholeOf = (kind: string): string => {
    const unit = kind.replace(/(Text|Audio|Image|Video)$/, '');
    if (reads.includes(unit)) return 'input';
    return unit === 'reasoning' ? 'output' : unit;
  };
  // A rule with rates of its own has the others of the price, where it says nothing of their wholes.
  const base: Rates = isOwn
    ? {
        ...Object.fromEntries(
          Object.entries(price.rates).filter(([kind]) => !(wholeOf(kind) in timed) && !(kind in timed)),
        ),
        ...timed,
      }
    : price.rates;
  const tiers = isOwn ? [] : price.tiers;
  const findTier = (table: Stated['tiers']): Rates | undefined =>
    table.toSorted((one, other) => other.above - one.above).find(({ above }) => input > above)?.rates;
  const terms = scale(base, times);
  if (mode === 'fast') return [scale(price.fast, times), terms];
  const tier = findTier(tiers);
  if (mode === 'flex') {
    const flex = (named: Rates): Rates => scale(scale(omitFees(named), price.flex), times);
    const long = tier && scale(scale(tier, price.flex), times);
    return [...(long ? [long] : []), flex(base), terms];
  }
  return [...(tier ? [scale(tier, times)] : []), terms];
}

const like: Readonly<Record<string, readonly string[]>> = {
  cacheWrite5m: ['cacheWrite30m'],
  cacheWrite30m: ['cacheWrite5m'],
  cacheWrite12h: ['cacheWrite30m', 'cacheWrite5m'],
  previewSearch: ['webSearch'],
};

/** USD for a call, unrounded. */
function computeByHand(price: Stated, call: { usage: Record<string, number>; mode?: string; rule?: string }) {
  const { usage } = call;
  const tables = findTables(price, call.mode, call.rule, usage['input'] ?? 0);
  const find = (unit: string, of: string, whole: string): Decimals | undefined => {
    for (const table of tables) {
      const own = [unit, ...(like[unit] ?? [])].map((each) => table[each + of]).find((each) => each);
      if (own !== undefined) return new Decimal(own);
      if (table[whole] !== undefined) return undefined;
    }
    return undefined;
  };
  let sum = new Decimal(0);
  const left = { ...usage };
  const take = (count: number, each: Decimals, parents: readonly string[], per = 1): void => {
    const taken = Math.max(0, Math.min(count, ...parents.map((parent) => left[parent] ?? 0)));
    for (const parent of parents) left[parent] = (left[parent] ?? 0) - taken;
    sum = sum.plus(each.times(taken).div(per));
  };
  const parts = { input: reads, output: ['reasoning'] };
  for (const [whole, units] of Object.entries(parts)) {
    for (const unit of units)
      for (const of of [...media.slice(1), '']) {
        const each = find(unit, of, whole);
        if (each) take(left[unit + of] ?? 0, each, of ? [unit, whole] : [whole], 1e6);
      }
    for (const of of media.slice(1)) {
      const each = find(whole, of, whole);
      // Audio that was read from the cache was paid there, if the cache has a rate.
      const paid = units.filter((unit) => find(unit, of, whole) ?? find(unit, '', whole));
      const fresh = paid.reduce((count, unit) => count - (usage[unit + of] ?? 0), usage[whole + of] ?? 0);
      if (each) take(fresh, each, [whole], 1e6);
    }
    const each = find(whole, '', whole);
    if (each) take(left[whole] ?? 0, each, [], 1e6);
  }
  const named = { image: 'images', webSearch: 'webSearches', previewSearch: 'previewSearches' };
  const others = { ...named, fileSearch: 'fileSearches', container: 'containers' };
  for (const unit of [...pieces, ...fees]) {
    const counted = Object.entries(others).find(([each]) => each === unit)?.[1] ?? unit;
    const each = find(unit, '', unit);
    if (each) take(unit === 'request' ? 1 : (usage[counted] ?? 0), each, []);
  }
  return sum;
}

it('the cost in any units equals an independent calculation, rounded once and half to even', () => {
  fc.assert(
    fc.property(prices, calls, (stated, { usage, mode, rule }) => {
      const price = toPrice(stated);
      const used = { uses: listUses(usage), mode, rule };
      const exact = computeByHand(stated, { usage, ...(mode && { mode }), ...(rule && { rule }) });
      const expected = exact.times(1e9).toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN).toFixed();
      expect(computeCost(used, price).toString()).toBe(expected);
      const lines = computeCostLines(used, price);
      const sum = lines.reduce(
        (total, { count, rate: each, per }) => total.plus(new Decimal(each).times(count).div(per)),
        new Decimal(0),
      );
      expect(sum.equals(exact)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

it('the cost in any units stays the same when the ledger has stored the price and the usage', () => {
  fc.assert(
    fc.property(prices, calls, (stated, { usage, mode, rule }) => {
      const price = toPrice(stated);
      const uses = listUses(usage);
      const stored: unknown = JSON.parse(JSON.stringify([storePrice(price), nameCounts(uses)]));
      const [again, counted] = stored as [StatedPrice, Record<string, unknown>];
      expect(computeCost({ uses: listUses(counted), mode, rule }, priceSchema.parse(again))).toBe(
        computeCost({ uses, mode, rule }, price),
      );
    }),
  );
});

it('the cost in any units is covered by its reservation, whatever units the call allows', () => {
  fc.assert(
    fc.property(prices, calls, (stated, { usage, mode, rule }) => {
      const price = toPrice(stated);
      const { input = 0, output = 0, ...others } = usage;
      const within = { input, output, ...others };
      const uses = listUses(within);
      const bound = {
        input,
        output,
        candidates: 1,
        uses: uses.filter(({ unit, modality }) => !modality && ![...reads, 'input', 'output'].includes(unit)),
        mode,
        rules: [rule],
      };
      const images = Math.min(1, usage['images'] ?? 0);
      const cost = computeCost({ uses: listUses({ ...within, images }), mode, rule }, price);
      expect(cost).toBeLessThanOrEqual(computeWorstCost(bound, price));
    }),
  );
});

it('refuses a list that would make output free by mistake, or has a rate twice', () => {
  const input = { unit: 'input', rate: '1' } as const;
  const output = { unit: 'output', rate: '2' } as const;
  const findFault = (rates: readonly { unit: string; rate: string }[]): string | undefined =>
    priceSchema.safeParse(rates).error?.issues[0]?.message;
  expect(findFault([input])).toBe('has no rate for output: "0" if it is free');
  expect(findFault([input, output, input])).toBe('has two rates for input');
  expect(findFault([input, { unit: 'token', rate: '1' }])).toMatch(/^is no unit; there are cacheRead, /);
  expect(findFault([{ unit: 'secondIn', rate: '0.000075' }])).toBeUndefined();
  expect(findFault([{ unit: 'page', rate: '-1' }])).toBe('a price is not negative');
});

it('rates are read exactly, however many decimals they have', () => {
  expect(scaleDecimal('0.000000000000000000000000000001', 60)).toBe(10n ** 30n);
  expect(() => scaleDecimal('1e-9', 60)).toThrow(RangeError);
});

it('the output that an amount affords is one that the amount covers', () => {
  fc.assert(
    fc.property(
      prices.map(toPrice),
      fc.bigInt({ min: 0n, max: 10n ** 12n }),
      fc.integer({ min: 0, max: 10_000_000 }),
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
