import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeCostLines, roundMillionths, sumLines } from '../../core/billing/cost.ts';
import { formatUsd } from '../../core/util/money.ts';
import { computeBill } from '../../plugins/meters/balance/operator/calls.ts';

const count = fc.integer({ min: 0, max: 100_000_000 });
const rate = fc.bigInt({ min: 0n, max: 10n ** 13n });
const usage = fc.record({ input: count, output: count, cacheRead: count, images: count, webSearches: count });
const price = fc.record({
  input: rate,
  output: rate,
  cacheRead: rate,
  request: rate,
  webSearch: rate,
  image: rate,
});

/** Millionths of nano-USD. */
function toUnits(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(15, '0'));
}

it('the lines of a bill add up to its total, which rounds to the charge', () => {
  fc.assert(
    fc.property(usage, price, (used, rates) => {
      const lines = computeCostLines(used, { ...rates, tiers: [] });
      // As the settlement books them.
      const booked = lines.map(({ kind, units, rate: each }) => [kind, Number(units), formatUsd(each)]);
      const bill = computeBill(JSON.parse(JSON.stringify(booked)));
      expect(bill.lines.map(({ per }) => BigInt(per))).toEqual(lines.map(({ per }) => per));
      const sum = bill.lines.reduce((total, { amount }) => total + toUnits(amount), 0n);
      expect(toUnits(bill.total)).toBe(sum);
      expect(roundMillionths(sum)).toBe(sumLines(lines));
    }),
  );
});

it('an entry without lines has an empty bill', () => {
  for (const costs of [undefined, []]) expect(computeBill(costs)).toEqual({ lines: [], total: '0' });
});
