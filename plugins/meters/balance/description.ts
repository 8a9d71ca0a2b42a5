/** What the ledger's addresses take and return, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';
import { csv, json, list, operatorError, time, usd } from '../../shared/operator-description.ts';
import { markupSchema, selectorSchema } from './markup/marked-prices.ts';
import { accountChanges, accountOrder, creditOrder, creditQuery } from './operator/accounts.ts';
import { actionQuery } from './operator/actions.ts';
import { budgetDescriptions } from './operator/budget-descriptions.ts';
import { adjustmentOrder, chargebackOrder, refundOrder } from './operator/corrections.ts';
import { exportQuery } from './operator/export.ts';
import { keyChanges, keyOrder, keyQuery, rotationOrder } from './operator/keys.ts';
import { page, reference } from './operator/reading.ts';
import { entryQuery, pendingQuery, usageQuery } from './operator/reports.ts';

const refusal = z.object({ error: z.string(), is_active: z.literal(false) }).meta({ title: 'BalanceError' });
const balance = z
  .object({
    is_active: z.literal(true),
    balance: z.number(),
    total: z.number(),
    used: z.number(),
    currency: z.literal('USD'),
  })
  .meta({ title: 'Balance' });

export const ownBalance: Description = {
  summary: 'Balance of the account of the key',
  replies: { 200: json(balance) },
  error: refusal,
};

const account = z
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

const key = z
  .looseObject({
    id: z.string(),
    lastFour: z.string(),
    name: z.string(),
    kind: z.enum(['user', 'operator']),
    account: z.string().nullable(),
    readOnly: z.boolean().optional().meta({ description: 'Of operator keys: whether it may only read.' }),
    disabled: z.boolean(),
    created: time,
    limits: z.object({
      spendCap: usd.nullable(),
      models: z.array(z.string()).nullable(),
      expires: time.nullable(),
      callsPerMinute: z.int().nullable(),
    }),
    used: usd,
    pending: usd,
    rotatedTo: z.string().nullable(),
  })
  .meta({ title: 'Key' });
const newKey = key
  .extend({
    key: z.string().meta({ description: 'The secret. It is shown only here.' }),
    warning: z
      .string()
      .optional()
      .meta({ description: 'Says that the account has no credit, and how to add some.' }),
  })
  .meta({ title: 'NewKey' });

const credited = z
  .looseObject({ status: z.string(), account: z.string(), total: usd })
  .meta({ title: 'Credited' });
const entry = z
  .looseObject({
    number: z.int(),
    kind: z.string(),
    account: z.string(),
    at: time,
    credits: usd,
    available: usd,
    reserved: usd,
    revenue: usd,
  })
  .meta({ title: 'Entry' });
const creditRow = z.looseObject({ account: z.string(), amount: usd, kind: z.string(), at: time });
const pending = z
  .looseObject({ call: z.string(), account: z.string(), amount: usd, since: time })
  .meta({ title: 'PendingCall' });
const totals = z.object({ calls: z.int(), amount: usd, oldest: time.nullable() });

const usageRow = z.looseObject({
  calls: z.int(),
  input: z.int(),
  output: z.int(),
  cost: usd,
  vendorCost: usd,
  margin: usd,
});
const markup = z
  .object({
    account: z.string().optional(),
    key: z.string().optional(),
    model: z.string().optional(),
    percent: z.string().optional(),
    fixed: usd.optional(),
  })
  .meta({ title: 'Markup' });
const markups = json(z.object({ data: z.array(markup) }));

const corrected = credited
  .extend({ amount: usd.meta({ description: 'What was added to the account; negative if taken from it.' }) })
  .meta({ title: 'Corrected' });
const action = z
  .object({
    number: z.int(),
    at: time,
    author: z.string().meta({ description: 'An operator key, `operator-secret`, or `cli:<user>`.' }),
    action: z.string(),
    subject: z.string(),
    detail: z.string().meta({ description: 'The body or the options, as JSON text.' }),
  })
  .meta({ title: 'Action' });

const usage = z.object({ by: z.array(z.string()), data: z.array(usageRow) });

type Operator = Omit<Description, 'error'>;

const correctionDescriptions: Readonly<Record<string, Operator>> = {
  'PATCH /admin/accounts/:account/state': {
    summary: 'Open, disable or close an account',
    details:
      'The keys of a disabled or closed account are refused within a second. A closed account stays closed.',
    body: json(accountChanges),
    replies: { 200: json(account) },
  },
  'POST /admin/adjustments': {
    summary: 'Adjust what an account was credited, up or down, with a reason',
    body: json(adjustmentOrder),
    replies: { 200: json(corrected), 201: json(corrected) },
  },
  'POST /admin/refunds': {
    summary: 'Give back what a call cost, or a part of it, once',
    body: json(refundOrder),
    replies: { 200: json(corrected), 201: json(corrected) },
  },
  'POST /admin/chargebacks': {
    summary: 'Take back a credit whose payment was reversed, once',
    body: json(chargebackOrder),
    replies: { 200: json(corrected), 201: json(corrected) },
  },
  'GET /admin/actions': {
    summary: 'What operators changed, newest first',
    query: actionQuery,
    replies: { 200: json(list(action, z.int())) },
  },
  'DELETE /admin/keys/:key': {
    summary: 'Delete a key; its calls and entries stay',
    replies: { 200: json(key.extend({ deleted: z.literal(true) }).meta({ title: 'DeletedKey' })) },
  },
};

const operators: Readonly<Record<string, Operator>> = {
  'GET /admin/accounts': { summary: 'Accounts', query: page, replies: { 200: json(list(account)) } },
  'POST /admin/accounts': {
    summary: 'Make an account',
    body: json(accountOrder),
    replies: { 201: json(account) },
  },
  'GET /admin/accounts/:account': {
    summary: 'One account, with what it was credited',
    replies: { 200: json(account) },
  },
  ...budgetDescriptions,
  'GET /admin/credits': {
    summary: 'Credits',
    query: creditQuery,
    replies: {
      200: json(list(creditRow, z.int())),
    },
  },
  'POST /admin/credits': {
    summary: 'Credit an account',
    details: 'A reference is credited once: said again, it changes nothing and is answered with 200.',
    body: json(creditOrder),
    replies: { 200: json(credited), 201: json(credited) },
  },
  ...correctionDescriptions,
  'GET /admin/keys': { summary: 'Keys', query: keyQuery, replies: { 200: json(list(key)) } },
  'POST /admin/keys': { summary: 'Make a key', body: json(keyOrder), replies: { 201: json(newKey) } },
  'GET /admin/keys/:key': {
    summary: 'One key, by its id or its last four characters',
    replies: { 200: json(key) },
  },
  'PATCH /admin/keys/:key': {
    summary: 'Rename, limit or disable a key',
    body: json(keyChanges),
    replies: { 200: json(key) },
  },
  'POST /admin/keys/:key/rotate': {
    summary: 'Give a key a new secret',
    body: json(rotationOrder.optional()),
    replies: { 201: json(newKey) },
  },
  'GET /admin/usage': {
    summary: 'Usage, summed up',
    query: usageQuery,
    replies: { 200: { ...json(usage), ...csv } },
  },
  'GET /admin/entries': {
    summary: 'Entries of the ledger',
    query: entryQuery,
    replies: { 200: { ...json(list(entry, z.int())), ...csv } },
  },
  'GET /admin/entries/export': {
    summary: 'All entries of the ledger, as a file',
    details:
      'The header `x-tollgate-export-last` is the number of the last entry that the export can have. ' +
      'The next export goes on with it as `after`; ' +
      'one that broke off, with the number of its last whole line.',
    query: exportQuery,
    replies: { 200: { ...csv, 'application/jsonl': z.string() } },
  },
  'GET /admin/reservations': {
    summary: 'What is reserved for calls that run',
    query: pendingQuery,
    replies: { 200: json(list(pending).extend({ totals })) },
  },
  'GET /admin/markups': { summary: 'Markups that operators have set', replies: { 200: markups } },
  'POST /admin/markups': {
    summary: 'Set the markup for an account, a key, a model, or some of them together',
    body: json(markupSchema),
    replies: { 201: json(markup) },
  },
  'DELETE /admin/markups': {
    summary: 'Remove the markup for exactly these',
    query: selectorSchema,
    replies: { 200: markups },
  },
  'GET /admin/audit': {
    summary: 'Audit of all books',
    replies: {
      200: json(z.looseObject({ ok: z.boolean(), entries: z.int(), findings: z.array(z.unknown()) })),
    },
  },
};

/** Describes an operators' route, which is named by its method and path. */
export function operatorDescription(name: string): Description {
  return { ...(operators[name] ?? { summary: name, replies: { 200: {} } }), error: operatorError };
}

export const topUp: Description = {
  summary: 'Credit an account by a signed message from the payment service',
  details:
    'The signature is an HMAC-SHA256, in hexadecimal digits, over `<time>.<body>` with the shared secret.',
  headers: z.object({
    'tollgate-signature': z.string().meta({ description: '`t=<Unix seconds>,v1=<signature>`' }),
  }),
  body: json(creditOrder.extend({ reference })),
  replies: { 200: json(credited) },
  error: operatorError,
};
