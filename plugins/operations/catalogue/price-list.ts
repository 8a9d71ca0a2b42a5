/**
 * Our own price list: whole prices of models at providers, in the form of catalogue files. `tollgate prices
 * schema` prints its JSON schema.
 */
import { z } from 'zod';
import { formatUsd, priceSchema, type Price } from '../../../core/index.ts';
import type { Figures } from './snapshot.ts';

const entry = z.strictObject({
  /** The provider's name, as in the configuration. */
  provider: z.string().min(1),
  /** The provider's own name of the model. */
  model: z.string().min(1),
  price: priceSchema,
});

export const priceListSchema = z.strictObject({
  format: z.literal('tollgate-prices-1'),
  /** The day the prices were checked. */
  asOf: z.iso.date(),
  source: z.string().optional(),
  prices: z.array(entry),
});

export function isPriceList(content: unknown): boolean {
  return z.looseObject({ format: z.literal('tollgate-prices-1') }).safeParse(content).success;
}

/** The rates and fees of an object; `suffix` follows their names. */
export function flattenRates(rates: object, suffix = ''): [string, string][] {
  return Object.entries(rates).flatMap(([name, rate]) =>
    typeof rate === 'bigint' ? [[name + suffix, formatUsd(rate)]] : [],
  );
}

/** All rates and fees of a price, by names such as `input above 200000`, `input by night`. */
export function flattenPrice({ tiers, modes = {}, rules = [], ...plain }: Price): Figures {
  return Object.fromEntries([
    ...flattenRates(plain),
    ...Object.entries(modes).flatMap(([name, mode]) => flattenRates(mode, ` served ${name}`)),
    ...tiers.flatMap(({ above, ...tier }) => flattenRates(tier, ` above ${above}`)),
    ...rules.flatMap((rule) => flattenRates(rule, ` by ${rule.name}`)),
  ]);
}

/** The prices of each provider's models. Throws an error that names every wrong field. */
export function readPriceList(content: unknown): Map<string, Map<string, Price>> {
  const parsed = priceListSchema.safeParse(content);
  if (!parsed.success) throw new Error(`the price list is wrong: ${z.prettifyError(parsed.error)}`);
  const byProvider = Map.groupBy(parsed.data.prices, ({ provider }) => provider);
  return new Map(
    [...byProvider].map(([provider, prices]) => [
      provider,
      new Map(prices.map(({ model, price }) => [model, price])),
    ]),
  );
}
