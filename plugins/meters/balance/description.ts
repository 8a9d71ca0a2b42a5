/** What the ledger's addresses take and return, for the OpenAPI document. */
import { z } from 'zod';
import type { Content, Description } from '../../../core/index.ts';
import { csv, describeJson, describeList, operatorError } from '../../shared/operator-description.ts';
import { account, accountDetails, key, listedAccount, newKey } from '../../shared/replies/accounts.ts';
import { budget, warning } from '../../shared/replies/budgets.ts';
import { time, usd } from '../../shared/replies/values.ts';
import { callRoutes } from './calls/description.ts';
import { creditOrder } from './operator/accounts.ts';
import { reference } from './operator/reading.ts';
import type { Handler } from './operator/routes.ts';

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
  replies: { 200: describeJson(balance) },
  error: refusal,
};

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
const markups = z.object({ data: z.array(markup) });
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

const audit = z.looseObject({ ok: z.boolean(), entries: z.int(), findings: z.array(z.unknown()) });

/** A route's summary and reply; its handler defines the rest. */
interface Described {
  readonly summary: string;
  readonly details?: string;
  readonly reply: z.ZodType;
  /** Its reply in other forms. */
  readonly or?: Content;
  readonly query?: z.ZodObject;
}

const routes: Readonly<Record<string, Described>> = {
  'GET /admin/accounts': { summary: 'Accounts', reply: describeList(listedAccount) },
  'POST /admin/accounts': { summary: 'Make an account', reply: account },
  'GET /admin/accounts/:account': {
    summary: 'One account, with what it was credited',
    reply: accountDetails,
  },
  'PATCH /admin/accounts/:account': {
    summary: 'Move an account below another one, or to the top',
    reply: z.looseObject({ account: z.string(), parent: z.string().nullable() }),
  },
  'PATCH /admin/accounts/:account/state': {
    summary: 'Open, disable or close an account',
    details:
      'The keys of a disabled or closed account are refused within a second. A closed account stays closed.',
    reply: account,
  },
  'GET /admin/budgets': { summary: 'Budgets', reply: describeList(budget, z.int()) },
  'POST /admin/budgets': {
    summary: 'Make a budget',
    details: 'A subject has one budget for each period. It counts calls from then on.',
    reply: budget,
  },
  'GET /admin/budgets/:budget': {
    summary: 'One budget, with what is left of it and when it resets',
    reply: budget,
  },
  'PATCH /admin/budgets/:budget': { summary: 'Change a budget', reply: budget },
  'DELETE /admin/budgets/:budget': { summary: 'Delete a budget', reply: budget },
  'POST /admin/budgets/:budget/raises': { summary: 'Raise a budget for a time', reply: budget },
  'GET /admin/budget-warnings': {
    summary: 'Thresholds that budgets reached, and budgets that refused calls',
    reply: describeList(warning, z.int()),
  },
  'GET /admin/credits': { summary: 'Credits', reply: describeList(creditRow, z.int()) },
  'POST /admin/credits': {
    summary: 'Credit an account',
    details: 'A reference is credited once. The same order again changes nothing and gets 200.',
    reply: credited,
  },
  'POST /admin/adjustments': {
    summary: 'Adjust what an account was credited, up or down, with a reason',
    reply: corrected,
  },
  'POST /admin/refunds': {
    summary: 'Give back what a call cost, or a part of it, once',
    reply: corrected,
  },
  'POST /admin/chargebacks': {
    summary: 'Take back a credit whose payment was reversed, once',
    reply: corrected,
  },
  'GET /admin/actions': {
    summary: 'What operators changed, newest first',
    reply: describeList(action, z.int()),
  },
  'DELETE /admin/keys/:key': {
    summary: 'Delete a key; its calls and entries stay',
    reply: key.extend({ deleted: z.literal(true) }).meta({ title: 'DeletedKey' }),
  },
  'GET /admin/keys': { summary: 'Keys', reply: describeList(key) },
  'POST /admin/keys': { summary: 'Make a key', reply: newKey },
  'GET /admin/keys/:key': { summary: 'One key, by its id or its last four characters', reply: key },
  'PATCH /admin/keys/:key': { summary: 'Rename, limit or disable a key', reply: key },
  'POST /admin/keys/:key/rotate': { summary: 'Give a key a new secret', reply: newKey },
  'GET /admin/usage': { summary: 'Usage, summed up', reply: usage, or: csv },
  'GET /admin/entries': { summary: 'Entries of the ledger', reply: describeList(entry, z.int()), or: csv },
  'GET /admin/reservations': {
    summary: 'What is reserved for calls that run',
    reply: describeList(pending).extend({ totals }),
  },
  'GET /admin/markups': { summary: 'Markups that operators have set', reply: markups },
  'POST /admin/markups': {
    summary: 'Set the markup for an account, a key, a model, or some of them together',
    reply: markup,
  },
  'DELETE /admin/markups': { summary: 'Remove the markup for exactly these', reply: markups },
  'GET /admin/audit': { summary: 'Audit of all books', reply: audit },
  ...callRoutes,
};

const exported: Omit<Description, 'error' | 'query'> = {
  summary: 'All entries of the ledger, as a file',
  details:
    'The header `x-tollgate-export-last` is the number of the last entry that the export can have. ' +
    'The next export goes on with it as `after`; ' +
    'one that broke off, with the number of its last whole line.',
  replies: { 200: { ...csv, 'application/jsonl': z.string() } },
};

/** Describes an operators' route, which is named by its method and path. */
export function describeOperatorRoute(name: string, { query, body, statuses }: Handler): Description {
  const taken = { ...(query && { query }), ...(body && { body: describeJson(body) }), error: operatorError };
  const described = routes[name];
  if (!described) return { ...exported, ...taken };
  const { reply, or, ...said } = described;
  const content = { ...describeJson(reply), ...or };
  return { ...taken, ...said, replies: Object.fromEntries(statuses.map((status) => [status, content])) };
}

export const topUp: Description = {
  summary: 'Credit an account by a signed message from the payment service',
  details:
    'The signature is an HMAC-SHA256, in hexadecimal digits, over `<time>.<body>` with the shared secret.',
  headers: z.object({
    'tollgate-signature': z.string().meta({ description: '`t=<Unix seconds>,v1=<signature>`' }),
  }),
  body: describeJson(creditOrder.extend({ reference })),
  replies: { 200: describeJson(credited) },
  error: operatorError,
};
