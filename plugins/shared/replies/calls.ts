/** Calls: the record that each leaves, rows of stored calls, and one with all that is known of it. */
import { z } from 'zod';
import { time, usd, type Reply } from './values.ts';

/** A text, since another version of the gateway may have stored others. */
const outcome = z.string().meta({ enum: ['completed', 'aborted', 'cut', 'refused', 'failed', 'replayed'] });

export const loss = z.object({ path: z.string(), reason: z.string(), code: z.string() });
export type Loss = Reply<z.output<typeof loss>>;
const losses = { losses: z.array(loss), losses_omitted: z.int().optional() };

/** How much of each unit was used. */
export const uses = z
  .array(z.object({ unit: z.string(), modality: z.string().optional(), count: z.number() }))
  .meta({ description: 'Counts by unit; those of `input` and `output` include their parts.' });

const target = z.object({
  provider: z.string(),
  key: z.int().optional().meta({ description: "Which of the provider's keys, if it has several." }),
  model: z.string(),
});

const attempt = z.object({
  number: z.int(),
  ...target.shape,
  outcome: z.string(),
  message: z.string().optional(),
  cause: z
    .string()
    .optional()
    .meta({ description: "The code of a connection's failure: `ENOTFOUND`, `CERT_HAS_EXPIRED`." }),
  sent: z.boolean(),
  status: z.int().nullable(),
  start_ms: z.int().nullable(),
  first_event_ms: z.int().nullable(),
  duration_ms: z.int().nullable(),
  cost: usd,
  ...losses,
});

const routingStep = z.object({
  by: z.string(),
  reason: z.string().nullable(),
  removed: z.array(target),
  order: z.array(target),
});

/** What the record of a call and the details of a stored one share. */
const facts = {
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  rule: z.string().nullable().meta({
    description: 'The rates that priced the call: the rule of its time, its service mode, its tier.',
  }),
  usage: uses,
  ...losses,
  not_granted: z.array(target).optional(),
  attempts: z.array(attempt),
};

export const callRecord = z
  .object({
    id: z.string(),
    object: z.literal('call'),
    created: z.int(),
    protocol: z.string(),
    operation: z.enum(['generate', 'edit', 'count', 'compact']),
    stream: z.boolean(),
    model: z.string().nullable(),
    outcome,
    provider: z.string().nullable(),
    answered_by: z.string().nullable(),
    duration_ms: z.int(),
    cost: usd,
    cost_basis: z.enum(['usage', 'estimate', 'none']),
    ...facts,
    routing: z
      .array(routingStep)
      .optional()
      .meta({ description: 'The plugins that removed or reordered providers, and what each left.' }),
    timing: z
      .record(z.string(), z.number())
      .meta({ description: 'Milliseconds of each step; `authorize` and `settle` wait for the ledger.' }),
  })
  .meta({ title: 'Call' });
export type OwnCallRecord = Reply<z.output<typeof callRecord>>;

export const tokens = { input: z.int(), output: z.int(), cached: z.int(), reasoning: z.int() };

export const ownCall = z
  .object({
    id: z.string(),
    started: time,
    ended: time,
    protocol: z.string(),
    operation: z.string(),
    stream: z.boolean(),
    model: z.string().nullable().meta({ description: 'What the client asked for.' }),
    answered_by: z.string().nullable(),
    provider: z.string().nullable(),
    outcome,
    error_code: z.string().nullable(),
    first_event_ms: z.int().nullable(),
    duration_ms: z.int(),
    attempts: z.int(),
    ...tokens,
    uses,
    cost: usd,
    cost_basis: z.string(),
  })
  .meta({ title: 'OwnCall' });

export type OwnCall = Reply<z.output<typeof ownCall>>;

export const storedCall = ownCall
  .extend({
    account: z.string().nullable(),
    key: z.string().nullable(),
    key_name: z.string().optional().meta({ description: 'What the key is called.' }),
    status: z.int(),
    vendor_cost: usd.meta({ description: 'USD that the vendor bills.' }),
    margin: usd,
    flags: z.array(z.string()),
    tags: z.record(z.string(), z.string()),
  })
  .meta({ title: 'StoredCall' });

const costLine = z.object({
  kind: z.string().meta({ description: 'The unit, and its modality behind it.' }),
  unit: z.string(),
  modality: z.string().optional(),
  units: z.number(),
  price: usd.meta({ description: 'USD of `per` units.' }),
  per: z.int().meta({ description: 'A million for tokens, else 1.' }),
  amount: z.string().meta({ description: 'USD of this line, unrounded.' }),
});
export type CostLine = Reply<z.output<typeof costLine>>;

const entry = z.looseObject({
  number: z.int(),
  kind: z.string(),
  at: time,
  revenue: usd.meta({ description: 'USD that this entry charged.' }),
  rule: z.string().optional(),
  lines: z.array(costLine),
  total: z.string().meta({ description: 'The exact sum of the lines; the charge is rounded once.' }),
});

export const callDetail = z
  .looseObject({
    ...storedCall.shape,
    ...facts,
    address: z.string().nullable().meta({ description: "The client's address." }),
    client: z.string().nullable().meta({ description: 'What the client calls itself: its `User-Agent`.' }),
    reserved: usd.meta({ description: 'USD that were reserved for it at most.' }),
    refunded: usd.nullable().meta({ description: 'USD of its cost that were given back, if any were.' }),
    timing: z.array(
      z.object({
        name: z.string(),
        start_ms: z.number(),
        duration_ms: z.number().nullable(),
        first_event_ms: z.number().nullable().optional(),
        error: z.string().nullable().optional(),
      }),
    ),
    routing: z.array(routingStep),
    entries: z.array(entry),
  })
  .meta({ title: 'CallDetail' });
export type CallDetail = Reply<z.output<typeof callDetail>>;
