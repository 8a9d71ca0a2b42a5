/** Credit, corrections, entries, markups, usage and the audit: what operators read in the ledger. */
import { z } from 'zod';
import { account } from './accounts.ts';
import { uses } from './calls.ts';
import { describeList, time, usd } from './values.ts';

export const credited = account.extend({ status: z.string() }).meta({ title: 'Credited' });

export const corrected = credited
  .extend({
    status: z.enum(['credited', 'already_credited']),
    amount: usd.meta({ description: 'What was added to the account; negative if taken from it.' }),
  })
  .meta({ title: 'Corrected' });

export const creditRow = z.looseObject({
  account: z.string(),
  amount: usd,
  kind: z.string().nullable(),
  at: time,
});

export const entry = z
  .looseObject({
    number: z.int(),
    kind: z.string(),
    account: z.string(),
    at: time,
    credits: usd,
    available: usd,
    reserved: usd,
    revenue: usd,
    usage: uses.optional(),
  })
  .meta({ title: 'Entry' });

const pendingCall = z
  .looseObject({ call: z.string(), account: z.string(), amount: usd, since: time })
  .meta({ title: 'PendingCall' });

export const pendingCalls = describeList(pendingCall).extend({
  totals: z.object({ calls: z.int(), amount: usd, oldest: time.nullable() }),
});

export const markup = z
  .object({
    account: z.string().optional(),
    key: z.string().optional(),
    model: z.string().optional(),
    percent: z.string().optional(),
    fixed: usd.optional(),
  })
  .meta({ title: 'Markup' });

export const markups = z.object({ data: z.array(markup) });

export const action = z
  .object({
    number: z.int(),
    at: time,
    author: z.string().meta({ description: 'An operator key, `operator-secret`, or `cli:<user>`.' }),
    author_name: z.string().optional().meta({ description: 'What that key is called.' }),
    action: z.string(),
    subject: z.string(),
    detail: z.string().meta({ description: 'The body or the options, as JSON text.' }),
  })
  .meta({ title: 'Action' });

const usageRow = z.looseObject({
  /** The columns that it is grouped by. */
  account: z.string().optional(),
  key: z.string().optional(),
  key_name: z.string().optional().meta({ description: 'What the key is called.' }),
  model: z.string().optional(),
  day: z.string().optional(),
  calls: z.int(),
  input: z.int(),
  output: z.int(),
  cost: usd,
  vendorCost: usd,
  margin: usd,
  uses,
});
export const usage = z.object({ by: z.array(z.string()), data: z.array(usageRow) });

/** What a text may mean. */
export const found = z.object({
  data: z.array(
    z.object({
      kind: z.enum(['account', 'key', 'model', 'provider', 'call', 'tag']),
      id: z.string(),
      name: z.string(),
      account: z.string().nullable().meta({ description: 'Whose key it is.' }),
      last_four: z.string().optional(),
      disabled: z.boolean().optional(),
    }),
  ),
});

const finding = z.object({
  rule: z.string(),
  entry: z.int().optional(),
  account: z.string().optional(),
  message: z.string(),
});
export const audit = z.object({
  ok: z.boolean(),
  entries: z.int(),
  accounts: z.int(),
  pending: z.int(),
  broken: z.int(),
  findings: z.array(finding),
});
