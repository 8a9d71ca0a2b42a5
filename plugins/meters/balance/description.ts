/** What key holders and payment services send to the ledger and get back, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../core/index.ts';
import { describeJson, operatorError } from '../../shared/operator-routes.ts';
import { key, newKey, ownKeys } from '../../shared/replies/accounts.ts';
import { ownCall } from '../../shared/replies/calls.ts';
import { credited } from '../../shared/replies/ledger.ts';
import { ownKey } from '../../shared/replies/spending.ts';
import { describeList } from '../../shared/replies/values.ts';
export { errorSchema as ownError } from '../../shared/wire-kit/reply-schemas.ts';
import { creditOrder } from './operator/accounts.ts';
import { reference } from './operator/reading.ts';

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

/** Replies to what a key's holder asks. */
export const ownReplies = {
  key: ownKey,
  calls: describeList(ownCall),
  keys: ownKeys,
  newKey,
  revokedKey: key.extend({ deleted: z.literal(true) }),
};
