/** Budgets in their current periods, and what became known of them. */
import { z } from 'zod';
import { time, usd, type Reply } from './values.ts';

const counted = {
  id: z.int(),
  scope: z.enum(['key', 'account', 'team', 'tag']),
  subject: z.string(),
  per: z.enum(['hour', 'day', 'week', 'month', 'total']),
  zone: z.string().meta({ description: 'An IANA time zone.' }),
};

export const budget = z
  .looseObject({
    ...counted,
    key_name: z.string().optional().meta({ description: 'What the key is called, if it is of a key.' }),
    limit: usd,
    hard: z.boolean().meta({ description: 'Whether it refuses calls; otherwise it only warns.' }),
    thresholds: z.array(z.int()),
    raises: z.array(z.object({ amount: usd, until: time })),
    created: time,
    deleted: time.nullable(),
    current: z.object({
      start: time.nullable(),
      resets: time.nullable(),
      allowed: usd,
      used: usd,
      pending: usd,
      left: usd,
      reached: z
        .int()
        .meta({ description: 'The highest threshold that its use has reached, in per cent; 0: none.' }),
    }),
  })
  .meta({ title: 'Budget' });
export type Budget = Reply<z.output<typeof budget>>;

export const warning = z
  .looseObject({
    id: z.int(),
    event: z.enum(['budget.threshold', 'budget.exhausted']),
    at: time,
    budget: z.object({ ...counted, start: time.nullable(), allowed: usd, used: usd, threshold: z.int() }),
  })
  .meta({ title: 'BudgetWarning' });

/** What became of an account, a key or a budget whose state an operator stated. */
export const stated = z
  .object({
    kind: z.enum(['account', 'key', 'budget']),
    name: z.string(),
    id: z.union([z.string(), z.int()]).nullable().meta({ description: 'Of a key or a budget that exists.' }),
    made: z.boolean().meta({ description: 'Whether it is new.' }),
    changed: z.boolean(),
    dryRun: z.boolean(),
    changes: z.array(z.object({ path: z.string(), before: z.unknown(), after: z.unknown() })),
    key: z.string().optional().meta({ description: 'The secret of a new key. It is shown only here.' }),
  })
  .meta({ title: 'Stated' });
