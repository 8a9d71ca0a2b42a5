/** What the look-up of a call returns, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';
import { operatorError } from '../../shared/operator-description.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';

const losses = {
  losses: z.array(z.object({ path: z.string(), reason: z.string(), code: z.string() })),
  losses_omitted: z.int().optional(),
};

const cost = z.string().meta({ description: 'USD, as a decimal string.' });

const target = z.object({ provider: z.string(), key: z.int().optional(), model: z.string() });

const attempt = z.object({
  number: z.int(),
  provider: z.string(),
  key: z.int().optional().meta({ description: "Which of the provider's keys, if it has several." }),
  model: z.string(),
  outcome: z.string(),
  message: z.string().optional(),
  sent: z.boolean(),
  status: z.int().nullable(),
  start_ms: z.int().nullable(),
  first_event_ms: z.int().nullable(),
  duration_ms: z.int().nullable(),
  cost,
  ...losses,
});

const call = z
  .object({
    id: z.string(),
    object: z.literal('call'),
    created: z.int(),
    protocol: z.string(),
    operation: z.enum(['generate', 'edit', 'count']),
    stream: z.boolean(),
    model: z.string().nullable(),
    outcome: z.enum(['completed', 'aborted', 'cut', 'refused', 'failed', 'replayed']),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    provider: z.string().nullable(),
    answered_by: z.string().nullable(),
    duration_ms: z.int(),
    cost,
    cost_basis: z.enum(['usage', 'estimate', 'none']),
    /** The rates that priced the call: the rule of its time, its service mode, its tier. */
    rule: z.string().nullable(),
    usage: z.record(z.string(), z.unknown()),
    ...losses,
    not_granted: z.array(z.object({ provider: z.string(), model: z.string() })).optional(),
    routing: z
      .array(
        z.object({
          by: z.string(),
          reason: z.string().nullable(),
          removed: z.array(target),
          order: z.array(target),
        }),
      )
      .optional()
      .meta({ description: 'The plugins that removed or reordered providers, and what each left.' }),
    timing: z
      .record(z.string(), z.number())
      .meta({ description: 'Milliseconds of each step; `authorize` and `settle` wait for the ledger.' }),
    attempts: z.array(attempt),
  })
  .meta({ title: 'Call' });

export const oneCall: Description = {
  summary: 'What became of a call',
  details: 'By the id its reply carried in `x-request-id`, for the key that made it.',
  replies: { 200: { 'application/json': call } },
  error: errorSchema,
};

export const liveCalls: Description = {
  summary: 'Calls as they start and end, as server-sent events',
  details:
    'Events are named `start` and `end`; the data of each is a list of calls. ' +
    'A client that reads too slowly gets `dropped`.',
  replies: { 200: { 'text/event-stream': z.array(z.looseObject({ id: z.string() })) } },
  error: operatorError,
};
