/** What the routes of price updates take and return, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';
import { operatorError } from '../../shared/operator-description.ts';

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

const one = { 200: { 'application/json': update } };

export const updates: Description = {
  summary: 'Price updates, the oldest first',
  replies: { 200: { 'application/json': z.object({ data: z.array(update) }) } },
  error: operatorError,
};

export const confirmed: Description = {
  summary: 'Apply a price update that was held back',
  replies: one,
  error: operatorError,
};

export const undone: Description = {
  summary: 'Undo a price update, or refuse one that is held back',
  replies: one,
  error: operatorError,
};
