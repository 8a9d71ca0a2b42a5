/**
 * Our own price list: whole prices of models at providers, in the form of catalogue files. `tollgate prices
 * schema` prints its JSON schema.
 */
import { z } from 'zod';
import { nameKind, priceSchema, statedPrice, type Price, type Rate } from '../../../core/index.ts';
import type { Figures } from './snapshot.ts';

function buildListSchema<Schema extends z.ZodType>(price: Schema) {
  const entry = z.strictObject({
    /** The provider's name, as in the configuration. */
    provider: z.string().min(1),
    /** The provider's own name of the model. */
    model: z.string().min(1),
    price,
  });
  return z.strictObject({
    format: z.literal('tollgate-prices-1'),
    /** The day the prices were checked. */
    asOf: z.iso.date(),
    source: z.string().optional(),
    prices: z.array(entry),
  });
}

const priceListSchema = buildListSchema(priceSchema);
/** What `prices schema` prints: the whole form of a price, which may also be its list of rates alone. */
export const statedListSchema = buildListSchema(z.union([statedPrice.shape.rates, statedPrice]));

export function isPriceList(content: unknown): boolean {
  return z.looseObject({ format: z.literal('tollgate-prices-1') }).safeParse(content).success;
}

function flattenRates(some: readonly Rate[], suffix = ''): [string, string][] {
  return some.map((each) => [nameKind(each) + suffix, each.rate]);
}

/** All rates of a price, by names such as `input above 200000`, `inputAudio by night`. */
export function flattenPrice({ rates, tiers, modes = {}, rules = [], regional }: Price): Figures {
  return Object.fromEntries([
    ...flattenRates(rates),
    ...(regional === undefined ? [] : [['regional', regional]]),
    ...Object.entries(modes).flatMap(([name, mode]) => flattenRates(mode.rates, ` served ${name}`)),
    ...tiers.flatMap((tier) => flattenRates(tier.rates, ` above ${tier.above}`)),
    ...rules.flatMap((rule) => flattenRates(rule.rates, ` by ${rule.name}`)),
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
