/**
 * What was spent: the overview, sessions, an account's statement, and what the holder of a key sees of it.
 */
import { z } from 'zod';
import { key } from './accounts.ts';
import { budget } from './budgets.ts';
import { tokens, uses } from './calls.ts';
import { time, usd, type Reply } from './values.ts';

const { spendCap, callsPerMinute, ...sameLimits } = key.shape.limits.shape;
const limits = z.object({
  spend_cap: spendCap,
  spend_used: usd,
  spend_left: usd.nullable(),
  calls_per_minute: callsPerMinute,
  ...sameLimits,
});

const usedOnDay = z.object({
  day: z.iso.date(),
  model: z.string().nullable(),
  calls: z.int(),
  errors: z.int(),
  cost: usd,
  ...tokens,
  uses,
});

const { scope, subject, per, zone, hard, current } = budget.shape;
const { allowed, used, pending, left, resets } = current.shape;
const ownBudget = z.object({ scope, subject, per, zone, hard, allowed, used, pending, left, resets });
export type OwnBudget = Reply<z.output<typeof ownBudget>>;

const dollars = z.number().meta({ description: 'USD.' });
const openRouterKey = z.object({
  label: z.string(),
  limit: dollars.nullable(),
  limit_remaining: dollars.nullable(),
  limit_reset: z.enum(['hourly', 'daily', 'weekly', 'monthly']).nullable(),
  usage: dollars,
  usage_daily: dollars,
  usage_weekly: dollars,
  usage_monthly: dollars,
  byok_usage: dollars,
  byok_usage_daily: dollars,
  byok_usage_weekly: dollars,
  byok_usage_monthly: dollars,
  include_byok_in_limit: z.boolean(),
  is_free_tier: z.boolean(),
  is_management_key: z.boolean(),
  is_provisioning_key: z.boolean(),
  creator_user_id: z.string().nullable(),
  expires_at: time.nullable(),
  rate_limit: z.object({ requests: z.int(), interval: z.string(), note: z.string() }),
});

export const ownKey = z
  .object({
    object: z.literal('key'),
    id: z.string(),
    name: z.string(),
    last_four: z.string(),
    account: z.string(),
    created: time,
    currency: z.literal('USD'),
    balance: z.object({
      balance: usd,
      total: usd,
      used: usd,
      pending: usd,
      available: usd.meta({ description: 'If the account pays later: what its budgets leave.' }),
      postpaid: z.boolean(),
    }),
    limits,
    budgets: z.array(ownBudget).meta({
      description:
        'Of the key, its account, the teams above it, and the tags of the key. Calls may have more tags.',
    }),
    usage: z.object({ from: time, to: time, data: z.array(usedOnDay) }),
    data: openRouterKey.meta({ description: "The same in the words of OpenRouter's `GET /key`." }),
  })
  .meta({ title: 'OwnKey' });
export type OwnKey = Reply<z.output<typeof ownKey>>;

/** A schema for each count of an overview. */
const buildCounts = <Schema extends z.ZodType>(each: Schema) => ({
  calls: each,
  errors: each,
  input: each,
  output: each,
  cached: each,
  reasoning: each,
  cache_hits: each,
});

const totals = z.object({
  ...buildCounts(z.int()),
  uses,
  cost: usd,
  vendor_cost: usd.meta({ description: 'USD that the vendors bill.' }),
  margin: usd,
  first_event_ms: z.object({ count: z.int(), p50: z.int().nullable(), p95: z.int().nullable() }),
});

const series = z.object({
  name: z.string().nullable().meta({ description: 'Null: all other series.' }),
  key_name: z
    .string()
    .optional()
    .meta({ description: 'By keys, whose ids are the names: what the key is called.' }),
  totals,
  ...buildCounts(z.array(z.int())),
  cost: z.array(usd),
  vendor_cost: z.array(usd),
  margin: z.array(usd),
  p50: z.array(z.int().nullable()),
  p95: z.array(z.int().nullable()),
});

export const overview = z
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
export type Overview = Reply<z.output<typeof overview>>;

const session = z.object({
  tag: z.string().meta({ description: 'The whole tag, by which calls are found.' }),
  name: z.string(),
  ...totals.omit({ first_event_ms: true }).shape,
  first: time.nullable().meta({ description: 'When its first stored call started.' }),
  last: time.meta({ description: 'When its last stored call ended.' }),
  account: z.string().nullable(),
  key: z.string().nullable(),
  key_name: z.string().optional(),
  clients: z.array(z.string()),
  models: z.array(z.string()),
  losses: z.int().meta({ description: 'Kinds of loss among its newest calls.' }),
});

export const sessions = z
  .object({
    from: time,
    to: time,
    tag: z.string(),
    step: z.string(),
    others: z.int().meta({ description: 'Sessions that are not listed.' }),
    data: z.array(session),
    losses: z.array(
      z.object({
        client: z.string(),
        provider: z.string(),
        field: z.string(),
        code: z.string(),
        reason: z.string(),
        calls: z.int(),
        example: z.string().meta({ description: 'A call that lost it.' }),
      }),
    ),
  })
  .meta({ title: 'Sessions' });
export type Sessions = Reply<z.output<typeof sessions>>;

export const statement = z
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
    to_invoice: usd
      .nullable()
      .meta({ description: 'What an account that pays later owes at the end; null for others.' }),
    lines: z.array(
      z.object({
        at: time,
        kind: z.enum(['credit', 'usage']),
        text: z.string(),
        reference: z.string().nullable(),
        calls: z.int().nullable(),
        uses,
        amount: usd,
        balance: usd,
      }),
    ),
  })
  .meta({ title: 'Statement' });
export type Statement = Reply<z.output<typeof statement>>;
