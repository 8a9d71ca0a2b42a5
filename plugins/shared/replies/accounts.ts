/** Accounts and keys. */
import { z } from 'zod';
import { time, usd, type Reply } from './values.ts';

export const account = z
  .looseObject({
    account: z.string(),
    currency: z.literal('USD'),
    balance: usd,
    total: usd,
    used: usd,
    pending: usd,
    available: usd,
  })
  .meta({ title: 'Account' });

export type Account = Reply<z.output<typeof account>>;

export const listedAccount = account
  .extend({
    parent: z
      .string()
      .nullable()
      .meta({ description: 'The account above it, with which it shares budgets.' }),
    state: z.enum(['open', 'disabled', 'closed']),
    created: time,
  })
  .meta({ title: 'ListedAccount' });
export type ListedAccount = Reply<z.output<typeof listedAccount>>;

export const accountDetails = listedAccount
  .extend({ credits: z.record(z.string(), usd).meta({ description: 'What it was credited, by kind.' }) })
  .meta({ title: 'AccountDetails' });
export type AccountDetails = Reply<z.output<typeof accountDetails>>;

export const key = z
  .looseObject({
    id: z.string(),
    lastFour: z.string(),
    name: z.string(),
    kind: z.enum(['user', 'operator']),
    account: z.string().nullable(),
    holder: z.string().nullable().meta({ description: 'The person or member who made or received it.' }),
    readOnly: z.boolean().optional().meta({ description: 'Of operator keys: whether it may only read.' }),
    disabled: z.boolean(),
    created: time,
    limits: z.object({
      spendCap: usd.nullable(),
      models: z.array(z.string()).nullable(),
      expires: time.nullable(),
      callsPerMinute: z.int().nullable(),
    }),
    tags: z.array(z.string()),
    used: usd,
    pending: usd,
    rotatedTo: z.string().nullable(),
  })
  .meta({ title: 'Key' });
export type Key = Reply<z.output<typeof key>>;

export const newKey = key
  .extend({
    key: z.string().meta({ description: 'The secret. It is shown only here.' }),
    warning: z
      .string()
      .optional()
      .meta({ description: 'Says that the account has no credit, and how to add some.' }),
  })
  .meta({ title: 'NewKey' });
export type NewKey = Reply<z.output<typeof newKey>>;
