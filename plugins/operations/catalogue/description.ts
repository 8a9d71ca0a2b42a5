/** Describes the routes of models and prices for the OpenAPI document. */
import { z } from 'zod';
import { describeJson } from '../../shared/operator-description.ts';
import type { Descriptions } from '../../shared/operator-routes.ts';
import { modelList } from '../../shared/replies/models.ts';

const update = z
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

const one = { 200: describeJson(update) };

export const descriptions: Descriptions = {
  'GET /admin/models': {
    summary: 'All models on offer, with prices and providers',
    replies: { 200: describeJson(modelList) },
  },
  'GET /admin/prices': {
    summary: 'Price updates, the oldest first',
    replies: { 200: describeJson(z.object({ data: z.array(update) })) },
  },
  'POST /admin/prices/:update/confirm': {
    summary: 'Apply a price update that was held back',
    replies: one,
  },
  'POST /admin/prices/:update/undo': {
    summary: 'Undo a price update, or refuse one that is held back',
    replies: one,
  },
};
