/** What the routes of stored calls take and return, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../../core/index.ts';
import { csv, describeJson, describeList } from '../../../shared/operator-description.ts';
import { callDetail, ownCall, storedCall } from '../../../shared/replies/calls.ts';
import { overview, ownKey as ownKeyReply, statement } from '../../../shared/replies/spending.ts';
import { errorSchema } from '../../../shared/wire-kit/reply-schemas.ts';
import { ownCallQuery } from '../operator/calls.ts';
import { statementQuery } from '../operator/statement.ts';
import { keyQuery } from '../own-key.ts';

export const callRoutes = {
  'GET /admin/calls': { summary: 'Ended calls, newest first', reply: describeList(storedCall), or: csv },
  'GET /admin/calls/:id': {
    summary: 'One ended call: its steps, attempts, losses, routing and ledger entries',
    reply: callDetail,
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
  replies: { 200: describeJson(describeList(ownCall)) },
  error: errorSchema,
};

export const ownKey: Description = {
  summary: 'Balance, limits, budgets and usage of the key',
  query: keyQuery,
  replies: { 200: describeJson(ownKeyReply) },
  error: errorSchema,
};
