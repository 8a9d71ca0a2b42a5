/**
 * The `provider` object that chat-completions and responses take beside the vendor's own fields: how the caller
 * wants a call routed. It is checked here and never sent on.
 */
import { z } from 'zod';
import type { Preferences } from '../../core/index.ts';

const names = z.array(z.string().min(1));
const decimal = /^\d+(\.\d{1,9})?$/;
const amount = 'an amount in USD per million tokens, such as "0.5"';
const price = z.union([z.string().regex(decimal, { abort: true }), z.number().nonnegative().transform((value) => value.toFixed(9))], amount);

export const providerObject = z.looseObject({
  order: names.nullish(),
  only: names.nullish(),
  ignore: names.nullish(),
  allow_fallbacks: z.boolean().nullish(),
  require_parameters: z.boolean().nullish(),
  routing: z.enum(['priority', 'cost', 'latency', 'balanced']).nullish(),
  sort: z.enum(['price', 'latency', 'throughput']).nullish(),
  fallback: z.union([z.string().min(1), names], 'a model id, or an array of them').nullish(),
  max_price: z.looseObject({ prompt: price.nullish(), completion: price.nullish() }).nullish(),
});

export function preferencesOf(wire: z.output<typeof providerObject> | null | undefined): Preferences {
  if (!wire) return {};
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
    max_price: most ? { prompt: most.prompt ?? undefined, completion: most.completion ?? undefined } : undefined,
  };
}
