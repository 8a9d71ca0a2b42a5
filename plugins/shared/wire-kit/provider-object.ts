/**
 * The `provider` object of a request in any protocol: the client's preferences for routing. Only a provider
 * that routes calls itself is sent it. Unknown members are refused, because nothing would act on them.
 */
import { z } from 'zod';
import { kinds, type Preferences } from '../../../core/index.ts';
import { refuse } from './losses.ts';

const mostNames = 100;
const names = z.array(z.string().min(1)).max(mostNames);
const decimal = /^\d+(\.\d{1,9})?$/;
const tokenPrice = 'an amount in USD per million tokens, such as "0.5"';
/** JavaScript writes numbers from here on with an exponent. */
const unwritable = 1e21;
const writtenPrice = z.string().regex(decimal, { abort: true });
const numericPrice = z
  .number()
  .nonnegative()
  .lt(unwritable)
  .transform((value) => value.toFixed(9));
const buildPriceSchema = (words: string) => z.union([writtenPrice, numericPrice], words);
const price = buildPriceSchema('an amount in USD, such as "0.005"');

/** A field that may be null, which means the same as leaving it out. */
function allowNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** A limit, or limits by percentile. */
const pace = z.union([z.number(), z.record(z.string(), z.number())], 'a number, or numbers by percentile');

/** Members that only a provider can act on which routes calls itself. */
const others = {
  data_collection: allowNull(z.enum(['allow', 'deny'])),
  zdr: allowNull(z.boolean()),
  enforce_distillable_text: allowNull(z.boolean()),
  quantizations: allowNull(names),
  preferred_min_throughput: allowNull(pace),
  preferred_max_latency: allowNull(pace),
};

/** Two words of their own for tokens, and every other unit by its name. */
const limits = [
  ...['prompt', 'completion'].map((name) => [name, allowNull(buildPriceSchema(tokenPrice))] as const),
  ...kinds
    .filter(({ name }) => name !== 'input' && name !== 'output')
    .map(({ name, per }) => [name, allowNull(per === 1 ? price : buildPriceSchema(tokenPrice))] as const),
];

export const providerObject = z.strictObject({
  ...others,
  order: allowNull(names),
  only: allowNull(names),
  ignore: allowNull(names),
  allow_fallbacks: allowNull(z.boolean()),
  require_parameters: allowNull(z.boolean()),
  routing: allowNull(z.enum(['priority', 'cost', 'latency', 'balanced'])),
  sort: allowNull(z.enum(['price', 'latency', 'throughput'])),
  fallback: allowNull(z.union([z.string().min(1), names], `a model id, or an array of at most ${mostNames}`)),
  max_price: allowNull(z.strictObject(Object.fromEntries(limits))),
});

/** The preferences of a call without a `provider` object. */
export const noPreferences: Preferences = {};

export function readPreferences(wire: z.output<typeof providerObject> | null | undefined): Preferences {
  if (!wire) return noPreferences;
  const { fallback, ...members } = wire;
  const own = Object.entries(members).filter(([name]) => !Object.hasOwn(others, name));
  const theirs = Object.entries(members).filter(
    ([name, value]) => Object.hasOwn(others, name) && value !== undefined,
  );
  return {
    ...Object.fromEntries(own),
    fallback: typeof fallback === 'string' ? [fallback] : fallback,
    ...(theirs.length > 0 ? { others: Object.fromEntries(theirs) } : {}),
  };
}

/** Refuses a vendor's field that names other models, one of which would answer at its own price. */
export function refuseOtherModels(field: string): never {
  return refuse(
    field,
    `"${field}" lets a model answer that this call is not priced for: name fallback models in ` +
      '"provider.fallback", or leave it out.',
  );
}
