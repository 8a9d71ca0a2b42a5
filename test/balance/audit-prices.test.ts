/** The auditor reads prices and usage without their schemas. It has to read what the schemas do. */
import { describe, expect, it } from 'vitest';
import { toUsed, usageSchema } from '../../core/canonical/usage.ts';
import { createPriceReader, readUsage } from '../../plugins/meters/balance/audit.ts';
import { getPriceRecord } from '../../plugins/meters/balance/prices.ts';
import { models } from '../providers/catalogues.ts';

describe('the auditor', () => {
  it('reads every price of the catalogue as it was before it was stored', () => {
    const prices = models.flatMap(({ price }) => price ?? []);
    for (const field of ['rules', 'modes', 'regional'] as const)
      expect(prices.filter((price) => price[field] !== undefined)).not.toEqual([]);
    const readPrice = createPriceReader(
      (version) => prices.map(getPriceRecord).find((record) => record.version === version)?.rates,
    );
    for (const price of prices) expect(readPrice(getPriceRecord(price).version)).toEqual(price);
  });

  it('takes the name of a price for a name, although it looks like an amount', () => {
    const rates = '{"input":"1","output":"2","tiers":[],"name":"2026"}';
    expect(createPriceReader(() => rates)('v')).toMatchObject({
      rates: [{ unit: 'input', rate: '1' }, { unit: 'output' }],
      name: '2026',
    });
  });

  it('reads the rule of a usage', () => {
    expect(readUsage('{"input":3,"rule":"night above-5"}')).toEqual({
      uses: [{ unit: 'input', count: 3 }],
      rule: 'night above-5',
    });
    expect(readUsage('{"rule":3}')).toBeUndefined();
  });

  it.each([
    [{}],
    [{ input: 3, output: 0, mode: 'flex' }],
    [{ secondIn: 0.25 }],
    [Object.fromEntries(usageSchema.keyof().options.map((field) => [field, field === 'mode' ? 'fast' : 7]))],
    [{ input: 0.5 }],
    [{ output: '3' }],
    [{ mode: 3 }],
    [{ input: 2 ** 53 }],
    [null],
  ])('reads the usage %j exactly if its schema does', (usage) => {
    const { data } = usageSchema.safeParse(usage);
    expect(readUsage(JSON.stringify(usage))).toEqual(data && toUsed(data));
  });
});
