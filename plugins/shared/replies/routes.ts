/**
 * The reply of each operation, by its route. The OpenAPI document shows these schemas, the command line
 * checks with them what a gateway elsewhere replies, and the console takes its types from them.
 */
import { z } from 'zod';
import {
  account,
  accountDetails,
  erasure,
  invitation,
  key,
  listedAccount,
  newAccount,
  newInvitation,
  newKey,
  person,
} from './accounts.ts';
import { budget, stated, warning } from './budgets.ts';
import { callDetail, storedCall } from './calls.ts';
import { configCheck, configView, reloaded } from './configuration.ts';
import { capabilities, crossingPreview } from './crossing.ts';
import { action, audit, corrected, credited, creditRow, entry, markup, markups } from './ledger.ts';
import { found, pendingCalls, usage } from './ledger.ts';
import { modelList, priceUpdate } from './models.ts';
import { channelTest, notice } from './notices.ts';
import { providerHealth, providerTest } from './providers.ts';
import { overview, sessions, statement } from './spending.ts';
import { describeList, describeNumberedList, type Reply } from './values.ts';

const schemas = {
  'GET /admin/accounts': describeList(listedAccount),
  'POST /admin/accounts': newAccount,
  'GET /admin/accounts/:account': accountDetails,
  'PUT /admin/accounts/:account': stated,
  'PATCH /admin/accounts/:account': account.extend({ parent: z.string().nullable() }),
  'PATCH /admin/accounts/:account/members': account.extend({ memberKeys: accountDetails.shape.memberKeys }),
  'PATCH /admin/accounts/:account/state': account.extend({ state: listedAccount.shape.state }),
  'PATCH /admin/accounts/:account/terms': listedAccount,
  'GET /admin/accounts/:account/statement': statement,
  'GET /admin/actions': describeNumberedList(action),
  'POST /admin/adjustments': corrected,
  'GET /admin/audit': audit,
  'GET /admin/budget-warnings': describeNumberedList(warning),
  'GET /admin/budgets': describeNumberedList(budget),
  'POST /admin/budgets': budget,
  'GET /admin/budgets/:budget': budget,
  'PUT /admin/budgets/:budget': stated,
  'PATCH /admin/budgets/:budget': budget,
  'DELETE /admin/budgets/:budget': budget,
  'POST /admin/budgets/:budget/raises': budget,
  'GET /admin/calls': describeList(storedCall),
  'GET /admin/calls/:id': callDetail,
  'GET /admin/capabilities': capabilities,
  'POST /admin/chargebacks': corrected,
  'GET /admin/config': configView,
  'POST /admin/config/check': configCheck,
  'GET /admin/credits': describeNumberedList(creditRow),
  'POST /admin/credits': credited,
  'POST /admin/crossing': crossingPreview,
  'GET /admin/entries': describeNumberedList(entry),
  'GET /admin/entries/export': z.object({
    format: z.enum(['csv', 'jsonl']),
    last: z.int(),
    lines: z.custom<AsyncIterable<string | Uint8Array>>(),
  }),
  'GET /admin/erasures': z.object({ data: z.array(erasure) }),
  'POST /admin/erasures': erasure,
  'GET /admin/invitations': describeList(invitation),
  'POST /admin/invitations': newInvitation,
  'DELETE /admin/invitations/:invitation': invitation,
  'GET /admin/keys': describeList(key),
  'POST /admin/keys': newKey,
  'GET /admin/keys/:key': key,
  'PUT /admin/keys/:key': stated,
  'PATCH /admin/keys/:key': key,
  'DELETE /admin/keys/:key': key.extend({ deleted: z.literal(true) }).meta({ title: 'DeletedKey' }),
  'POST /admin/keys/:key/rotate': newKey,
  'GET /admin/markups': markups,
  'POST /admin/markups': markup,
  'DELETE /admin/markups': markups,
  'GET /admin/models': modelList,
  'GET /admin/notices': z.object({ data: z.array(notice) }),
  'POST /admin/notices/:channel/test': channelTest,
  'GET /admin/overview': overview,
  'GET /admin/people': describeList(person),
  'DELETE /admin/people/:person': person,
  'POST /admin/people/:person/restore': person,
  'GET /admin/prices': z.object({ data: z.array(priceUpdate) }),
  'POST /admin/prices': priceUpdate,
  'POST /admin/prices/:update/confirm': priceUpdate,
  'POST /admin/prices/:update/undo': priceUpdate,
  'GET /admin/providers': providerHealth,
  'POST /admin/providers/:provider/rest': providerHealth,
  'POST /admin/providers/:provider/wake': providerHealth,
  'POST /admin/providers/:provider/test': providerTest,
  'POST /admin/refunds': corrected,
  'POST /admin/reload': reloaded,
  'GET /admin/reservations': pendingCalls,
  'DELETE /admin/responses/:account': z.object({ account: z.string(), deleted: z.int() }),
  'GET /admin/search': found,
  'GET /admin/sessions': sessions,
  'GET /admin/usage': usage,
} as const;

export type Replies = {
  readonly [Name in keyof typeof schemas]: Reply<z.output<(typeof schemas)[Name]>>;
};
export type RouteName = keyof Replies;

export const replies: { readonly [Name in RouteName]: z.ZodType<Replies[Name]> } = schemas;
