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

const allowance = z
  .object({
    amount: usd,
    per: z.enum(['month', 'week', 'day']),
    mode: z.enum(['add', 'reset']).meta({ description: 'Whether what is left is taken back first.' }),
    zone: z.string(),
    next: time.nullable().meta({ description: 'When it is credited next.' }),
  })
  .meta({ title: 'Allowance' });
export type Allowance = Reply<z.output<typeof allowance>>;

export const listedAccount = account
  .extend({
    parent: z
      .string()
      .nullable()
      .meta({ description: 'The account above it, with which it shares budgets.' }),
    state: z.enum(['open', 'disabled', 'closed']),
    postpaid: z.boolean().meta({ description: 'Whether it pays later: budgets limit it, and no balance.' }),
    allowance: allowance.nullable(),
    created: time,
  })
  .meta({ title: 'ListedAccount' });
export type ListedAccount = Reply<z.output<typeof listedAccount>>;

const rollUp = z.object({
  accounts: z.int(),
  calls: z.int().meta({ description: 'Charged calls.' }),
  spent: usd,
});

/** What keys the members of an account may make for themselves. */
export const memberKeys = z
  .object({
    most: z.int().meta({ description: 'How many keys a member may have.' }),
    spendCap: usd.nullable(),
    models: z.array(z.string()).nullable(),
    callsPerMinute: z.int().nullable(),
    days: z.int().nullable().meta({ description: 'Days after which a key expires at the latest.' }),
  })
  .meta({ title: 'MemberKeys' });
export type MemberKeys = Reply<z.output<typeof memberKeys>>;

export const accountDetails = listedAccount
  .extend({
    credits: z.record(z.string(), usd).meta({ description: 'What it was credited, by kind.' }),
    above: z.array(z.string()).meta({ description: 'The accounts above it, nearest first.' }),
    own: rollUp.meta({ description: 'Of the account itself.' }),
    team: rollUp.meta({ description: 'Of the account with all accounts below it.' }),
    children: z.array(
      z.object({
        account: z.string(),
        state: listedAccount.shape.state,
        available: usd,
        team: rollUp,
      }),
    ),
    memberKeys: memberKeys.nullable().meta({ description: 'Null: its members may make no keys.' }),
  })
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
      networks: z.array(z.string()).nullable().meta({ description: 'Where it may be used from, as CIDR.' }),
      protocols: z.array(z.string()).nullable(),
      operations: z.array(z.string()).nullable(),
    }),
    tags: z.array(z.string()),
    used: usd,
    pending: usd,
    rotatedTo: z.string().nullable(),
    lastUsed: time
      .nullable()
      .optional()
      .meta({ description: 'In lists: when its last call ended, to the hour if that call is deleted.' }),
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
export const erasure = z
  .looseObject({
    id: z.string(),
    account: z.string().nullable().meta({ description: 'What the account is called now; null: a person.' }),
    state: z.enum(['running', 'done']),
    keys: z.int().meta({ description: 'Keys that it erases, while it runs.' }),
    calls: z.int().meta({ description: 'Calls that it has erased.' }),
    created: time,
    ended: time.nullable(),
  })
  .meta({ title: 'Erasure' });
export type Erasure = Reply<z.output<typeof erasure>>;

export const invitation = z
  .looseObject({
    id: z.string(),
    account: z.string(),
    name: z.string().meta({ description: 'Who is invited: the holder of the key.' }),
    state: z.enum(['open', 'redeemed', 'withdrawn', 'expired']),
    author: z.string(),
    created: time,
    expires: time,
    key: z.string().nullable().meta({ description: 'The id of the key that it gave.' }),
  })
  .meta({ title: 'Invitation' });
export type Invitation = Reply<z.output<typeof invitation>>;

export const newInvitation = invitation
  .extend({
    link: z.string().meta({ description: 'Below the public address of the gateway. It is shown only here.' }),
  })
  .meta({ title: 'NewInvitation' });

/** A key as its holder sees it. */
export const ownKeys = z
  .looseObject({
    data: z.array(
      key.extend({ current: z.boolean().meta({ description: 'Whether it is the key that asks.' }) }),
    ),
    holder: z.string().nullable(),
    allowed: memberKeys.nullable().meta({ description: 'What keys the holder may make; null: none.' }),
  })
  .meta({ title: 'OwnKeys' });
export type OwnKeys = Reply<z.output<typeof ownKeys>>;
export type NewKey = Reply<z.output<typeof newKey>>;

export const newAccount = listedAccount.extend({ keys: z.array(newKey) }).meta({ title: 'NewAccount' });

/** A person who has signed in. */
export const person = z
  .object({
    id: z.string(),
    name: z.string(),
    holder: z.string().meta({ description: 'How the keys of the person name their holder.' }),
    role: z.enum(['owner', 'admin', 'billing', 'viewer', 'member']),
    accounts: z.array(z.string()),
    state: z.enum(['active', 'refused', 'removed']).meta({
      description: '`refused` by the identity provider, or `removed` by an operator.',
    }),
    checked: time.meta({ description: 'When the identity provider last knew the person.' }),
    created: time,
  })
  .meta({ title: 'Person' });
