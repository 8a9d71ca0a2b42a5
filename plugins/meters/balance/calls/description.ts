/** What the routes of stored calls take and return, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../../core/index.ts';
import { csv, json, list, time, usd } from '../../../shared/operator-description.ts';
import { errorSchema } from '../../../shared/wire-kit/reply-schemas.ts';
import { ownCallQuery } from '../operator/calls.ts';
import { statementQuery } from '../operator/statement.ts';
import { keyQuery } from '../own-key.ts';
import { counted } from './figures.ts';

const tokens = { input: z.int(), output: z.int(), cached: z.int(), reasoning: z.int() };

const ownCall = z
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
    outcome: z.enum(['completed', 'aborted', 'cut', 'refused', 'failed', 'replayed']),
    error_code: z.string().nullable(),
    first_event_ms: z.int().nullable(),
    duration_ms: z.int(),
    attempts: z.int(),
    ...tokens,
    cost: usd,
    cost_basis: z.string(),
  })
  .meta({ title: 'OwnCall' });

const call = ownCall
  .extend({
    account: z.string(),
    key: z.string(),
    status: z.int(),
    vendor_cost: usd.meta({ description: 'USD that the vendor bills.' }),
    margin: usd,
    flags: z.array(z.string()),
    tags: z.record(z.string(), z.string()),
  })
  .meta({ title: 'StoredCall' });

const costLine = z.object({
  kind: z.string(),
  units: z.int(),
  price: usd.meta({ description: 'USD of `per` units.' }),
  per: z.int().meta({ description: 'A million for tokens, else 1.' }),
  amount: z.string().meta({ description: 'USD of this line, unrounded: up to 15 decimal places.' }),
});
const target = z.looseObject({ provider: z.string(), model: z.string() });
const detail = z
  .looseObject({
    ...call.shape,
    attempts: z.array(z.looseObject({ number: z.int(), provider: z.string(), outcome: z.string() })),
    timing: z.array(
      z.looseObject({ name: z.string(), start_ms: z.number(), duration_ms: z.number().nullable() }),
    ),
    routing: z.array(
      z.object({
        by: z.string(),
        reason: z.string().nullable(),
        removed: z.array(target),
        order: z.array(target),
      }),
    ),
    entries: z.array(
      z.looseObject({
        number: z.int(),
        kind: z.string(),
        at: time,
        revenue: usd.meta({ description: 'USD that this entry charged.' }),
        lines: z.array(costLine),
        total: z.string().meta({ description: 'The exact sum of the lines; the charge is rounded once.' }),
      }),
    ),
  })
  .meta({ title: 'CallDetail' });

/** A schema for each count of an overview. */
function byCount(schema: z.ZodType): Record<string, z.ZodType> {
  return Object.fromEntries(counted.map((name) => [name, schema]));
}

const totals = z.object({
  ...byCount(z.int()),
  cost: usd,
  vendor_cost: usd.meta({ description: 'USD that the vendors bill.' }),
  margin: usd,
  first_event_ms: z.object({ count: z.int(), p50: z.int().nullable(), p95: z.int().nullable() }),
});

const series = z.object({
  name: z.string().nullable().meta({ description: 'Null: all other series.' }),
  totals,
  ...byCount(z.array(z.int())),
  cost: z.array(usd),
  vendor_cost: z.array(usd),
  margin: z.array(usd),
  p50: z.array(z.int().nullable()),
  p95: z.array(z.int().nullable()),
});

const overview = z
  .object({
    from: time,
    to: time,
    by: z.string(),
    step: z.string(),
    times: z.array(time),
    totals,
    series: z.array(series),
    others: z.int(),
    pending: z.object({ calls: z.int(), amount: usd, oldest: time.nullable() }),
    audit: z.object({ ok: z.boolean(), at: time, findings: z.int() }).nullable(),
    behind: z.int().meta({ description: 'Entries and calls that are not summed up yet.' }),
  })
  .meta({ title: 'Overview' });

const statement = z
  .object({
    account: z.string(),
    currency: z.literal('USD'),
    zone: z.string(),
    from: time,
    to: time,
    opening: usd,
    closing: usd,
    credited: usd,
    used: usd,
    lines: z.array(
      z.object({
        at: time,
        kind: z.enum(['credit', 'usage']),
        text: z.string(),
        reference: z.string().nullable(),
        calls: z.int().nullable(),
        amount: usd,
        balance: usd,
      }),
    ),
  })
  .meta({ title: 'Statement' });

export const callRoutes = {
  'GET /admin/calls': { summary: 'Ended calls, newest first', reply: list(call), or: csv },
  'GET /admin/calls/:id': {
    summary: 'One ended call: its steps, attempts, losses, routing and ledger entries',
    reply: detail,
  },
  'GET /admin/overview': {
    summary: 'Spend, calls, tokens, errors and times over a range',
    reply: overview,
  },
  'GET /admin/accounts/:account/statement': {
    summary: "An account's statement of a month or other range of days",
    query: z.object(statementQuery.shape),
    reply: statement,
    or: csv,
  },
};

export const ownCalls: Description = {
  summary: 'Ended calls of the key, newest first',
  query: ownCallQuery,
  replies: { 200: json(list(ownCall)) },
  error: errorSchema,
};

export const ownKey: Description = {
  summary: 'Balance, limits and usage of the key',
  query: keyQuery,
  replies: {
    200: json(
      z
        .object({
          object: z.literal('key'),
          id: z.string(),
          name: z.string(),
          last_four: z.string(),
          account: z.string(),
          created: time,
          currency: z.literal('USD'),
          balance: z.object({ balance: usd, total: usd, used: usd, pending: usd, available: usd }),
          limits: z.object({
            spend_cap: usd.nullable(),
            spend_used: usd,
            spend_left: usd.nullable(),
            models: z.array(z.string()).nullable(),
            expires: time.nullable(),
            calls_per_minute: z.int().nullable(),
          }),
          usage: z.object({
            from: time,
            to: time,
            data: z.array(
              z.object({
                day: z.iso.date(),
                model: z.string().nullable(),
                calls: z.int(),
                errors: z.int(),
                cost: usd,
                ...tokens,
              }),
            ),
          }),
        })
        .meta({ title: 'OwnKey' }),
    ),
  },
  error: errorSchema,
};
