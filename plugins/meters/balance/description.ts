/** What key holders and payment services send to the ledger and get back, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';
import { describeJson, operatorError } from '../../shared/operator-routes.ts';
import { ownCall } from '../../shared/replies/calls.ts';
import { credited } from '../../shared/replies/ledger.ts';
import { ownKey as ownKeyReply } from '../../shared/replies/spending.ts';
import { describeList } from '../../shared/replies/values.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { creditOrder } from './operator/accounts.ts';
import { ownCallQuery } from './operator/calls.ts';
import { reference } from './operator/reading.ts';
import { keyQuery } from './own-key.ts';

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

export const ownCalls: Description = {
  summary: 'Ended calls of the key, newest first',
  query: ownCallQuery,
  replies: { 200: describeJson(describeList(ownCall)) },
  error: errorSchema,
};

export const ownKey: Description = {
  summary: 'Balance, limits, budgets and usage of the key',
  query: keyQuery,
  replies: { 200: describeJson(ownKeyReply) },
  error: errorSchema,
};
