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

export const providerObject = z.strictObject({
  order: names.nullish(),
  only: names.nullish(),
  ignore: names.nullish(),
  allow_fallbacks: z.boolean().nullish(),
  require_parameters: z.boolean().nullish(),
  routing: z.enum(['priority', 'cost', 'latency', 'balanced']).nullish(),
  sort: z.enum(['price', 'latency', 'throughput']).nullish(),
  fallback: z.union([z.string().min(1), names], 'a model id, or an array of them').nullish(),
  max_price: z
    .strictObject({ prompt: price.nullish(), completion: price.nullish(), request: requestPrice.nullish() })
    .nullish(),
});

/** The preferences of a call without a `provider` object. */
export const noPreferences: Preferences = {};

export function readPreferences(wire: z.output<typeof providerObject> | null | undefined): Preferences {
  if (!wire) return noPreferences;
  const { fallback, max_price: most } = wire;
  return {
    order: wire.order ?? undefined,
    only: wire.only ?? undefined,
    ignore: wire.ignore ?? undefined,
    allow_fallbacks: wire.allow_fallbacks ?? undefined,
    require_parameters: wire.require_parameters ?? undefined,
    routing: wire.routing ?? undefined,
    sort: wire.sort ?? undefined,
    fallback: typeof fallback === 'string' ? [fallback] : (fallback ?? undefined),
    max_price: most
      ? {
          prompt: most.prompt ?? undefined,
          completion: most.completion ?? undefined,
          request: most.request ?? undefined,
        }
      : undefined,
  };
}

/** Refuses a vendor's field that names other models, one of which would answer at its own price. */
export function refuseOtherModels(field: string): never {
  throw new GatewayError(
    'unsupported_parameter',
    `"${field}" lets a model answer that this call is not priced for: name fallback models in "provider.fallback", or leave it out.`,
    { param: field },
  );
}
