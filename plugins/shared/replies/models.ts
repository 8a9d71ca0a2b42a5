/** The models on offer with the providers of each, and updates of their prices. */
import { z } from 'zod';
import type { Reply } from './values.ts';

const offer = z.object({
  provider: z.string(),
  key: z.int().optional().meta({ description: "Which of the provider's keys, if it has several." }),
  upstream: z.string().meta({ description: "The vendor's own name of the model." }),
  protocols: z.array(z.string()),
  free: z.boolean(),
  price: z
    .looseObject({
      rates: z.array(z.object({ unit: z.string(), modality: z.string().optional(), rate: z.string() })),
    })
    .nullable()
    .meta({
      description:
        'USD for one of a unit, or for a million tokens, as decimals; with tiers, modes and rules.',
    }),
  price_date: z.iso.date().nullable().meta({ description: 'When the price was checked last.' }),
  price_source: z.string().nullable(),
  example_cost: z.string().meta({
    description:
      'USD for a call of the size in `example`. Its output is a picture if the model makes any. If it ' +
      'makes neither text nor pictures, it has none, and one search.',
  }),
});
export type Offer = Reply<z.output<typeof offer>>;

const model = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  created: z.iso.date(),
  expires: z.iso.date().nullable(),
  successor: z.string().nullable(),
  aliases: z.array(z.string()),
  context_length: z.int(),
  output_limit: z.int(),
  input: z.array(z.string()),
  output: z.array(z.string()),
  tools: z.boolean(),
  structured_output: z.boolean(),
  reasoning: z.string(),
  offers: z.array(offer).meta({ description: 'In the order in which they are asked.' }),
});
export type Model = Reply<z.output<typeof model>>;

export const modelList = z.object({
  example: z.object({ input: z.int(), output: z.int() }),
  data: z.array(model),
});
export type ModelList = Reply<z.output<typeof modelList>>;

export const priceUpdate = z
  .object({
    id: z.int(),
    state: z.enum(['applied', 'held', 'undone']),
    at: z.iso.datetime(),
    from: z.iso.datetime().meta({ description: 'When it takes effect.' }),
    source: z.string(),
    by: z.string(),
    models: z.int(),
    reasons: z.array(z.string()).meta({ description: 'Why an operator has to look at it.' }),
    fields: z.array(
      z.object({
        provider: z.string(),
        model: z.string(),
        field: z.string(),
        old: z.string().optional(),
        new: z.string().optional(),
      }),
    ),
  })
  .meta({ title: 'PriceUpdate' });
