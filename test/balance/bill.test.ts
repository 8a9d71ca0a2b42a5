import { Decimal as Decimals } from 'decimal.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeCostLines, sumLines } from '../../core/billing/cost.ts';
import { nameKind } from '../../core/index.ts';
import { priceSchema } from '../../core/price.ts';
import { formatUsd } from '../../core/util/money.ts';
import { computeBill } from '../../plugins/meters/balance/operator/calls.ts';
import { used } from '../support/rates.ts';

const Decimal = Decimals.clone({ precision: 60 });
const count = fc.integer({ min: 0, max: 100_000_000 });
const rate = fc.bigInt({ min: 0n, max: 10n ** 13n }).map(formatUsd);
const usage = fc.record({ input: count, output: count, cacheRead: count, images: count, webSearches: count });
const price = fc
  .record({ input: rate, output: rate, cacheRead: rate, request: rate, webSearch: rate, image: rate })
  .map((rates) => priceSchema.parse(rates));

it('the lines of a bill add up to its total, which rounds to the charge', () => {
  fc.assert(
    fc.property(usage, price, (counts, rates) => {
      const lines = computeCostLines(used(counts), rates);
      // As the settlement books them.
      const booked = lines.map((line) => [nameKind(line), line.count, line.rate]);
      const bill = computeBill(JSON.parse(JSON.stringify(booked)));
      expect(bill.lines.map(({ per, unit }) => [per, unit])).toEqual(
        lines.map(({ per, unit }) => [per, unit]),
      );
      const sum = bill.lines.reduce((total, { amount }) => total.plus(amount), new Decimal(0));
      expect(bill.total).toBe(sum.toFixed());
      expect(sum.times(1e9).toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN).toFixed()).toBe(
        sumLines(lines).toString(),
      );
    }),
  );
});

it('an entry without lines has an empty bill', () => {
  for (const costs of [undefined, []]) expect(computeBill(costs)).toEqual({ lines: [], total: '0' });
});
