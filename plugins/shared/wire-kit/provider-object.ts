/**
 * The `provider` object of a request in any protocol: the client's preferences for routing. Tollgate
 * validates it and never sends it to a provider. Unknown members are refused, because nothing would act on
 * them.
 */
import { z } from 'zod';
import { GatewayError, type Preferences } from '../../../core/index.ts';

const names = z.array(z.string().min(1)).max(100);
const decimal = /^\d+(\.\d{1,9})?$/;
const amount = 'an amount in USD per million tokens, such as "0.5"';
/** JavaScript writes numbers from here on with an exponent. */
const unwritable = 1e21;
const writtenPrice = z.string().regex(decimal, { abort: true });
const numericPrice = z
  .number()
  .nonnegative()
  .lt(unwritable)
  .transform((value) => value.toFixed(9));
const priceIn = (words: string) => z.union([writtenPrice, numericPrice], words);
const price = priceIn(amount);
const requestPrice = priceIn('an amount in USD, such as "0.005"');

/** A field that may be null, which means the same as leaving it out. */
function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

export const providerObject = z.strictObject({
  order: optional(names),
  only: optional(names),
  ignore: optional(names),
  allow_fallbacks: optional(z.boolean()),
  require_parameters: optional(z.boolean()),
  routing: optional(z.enum(['priority', 'cost', 'latency', 'balanced'])),
  sort: optional(z.enum(['price', 'latency', 'throughput'])),
  fallback: optional(z.union([z.string().min(1), names], 'a model id, or an array of them')),
  max_price: optional(
    z.strictObject({
      prompt: optional(price),
      completion: optional(price),
      request: optional(requestPrice),
    }),
  ),
});

/** The preferences of a call without a `provider` object. */
export const noPreferences: Preferences = {};

export function readPreferences(wire: z.output<typeof providerObject> | null | undefined): Preferences {
  if (!wire) return noPreferences;
  const { fallback } = wire;
  return { ...wire, fallback: typeof fallback === 'string' ? [fallback] : fallback };
}

/** Refuses a vendor's field that names other models, one of which would answer at its own price. */
export function refuseOtherModels(field: string): never {
  throw new GatewayError(
    'unsupported_parameter',
    `"${field}" lets a model answer that this call is not priced for: name fallback models in ` +
      '"provider.fallback", or leave it out.',
    { param: field },
  );
}
