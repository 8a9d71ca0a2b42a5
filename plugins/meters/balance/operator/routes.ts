/**
 * The ledger's routes for operators: JSON in and out, amounts as decimal strings in USD, lists in pages (the
 * next page is asked for with `after`, which is the last page's `next`), and errors in one shape.
 */
import type { Route, RouteReply, RouteRequest } from '../../../../core/index.ts';
import { errors, json, noStore, read } from '../../../shared/operator-routes.ts';
import { listMarkups, removeMarkup, setMarkup } from '../markup/rules.ts';
import type { Store } from '../store.ts';
import {
  accountChanges,
  accountDetails,
  accountMove,
  accountOrder,
  addCredit,
  changeAccount,
  createAccount,
  creditOrder,
  creditQuery,
  listAccounts,
  listCredits,
  moveAccount,
} from './accounts.ts';
import { actionFrom, actionQuery, listActions } from './actions.ts';
import {
  budgetChanges,
  budgetOrder,
  budgetQuery,
  changeBudget,
  createBudget,
  deleteBudget,
  findBudget,
  listBudgets,
  listWarnings,
  raiseBudget,
  raiseOrder,
  warningQuery,
} from './budgets.ts';
import {
  adjust,
  adjustmentOrder,
  chargeBack,
  chargebackOrder,
  refund,
  refundOrder,
  type Corrected,
} from './corrections.ts';
import { exportReply } from './export.ts';
import {
  changeKey,
  createKey,
  deleteKey,
  findKey,
  keyChanges,
  keyOrder,
  keyQuery,
  listKeys,
  rotateKey,
  rotationOrder,
} from './keys.ts';
import { checkModelPatterns } from './model-patterns.ts';
import { page } from './reading.ts';
import {
  entries,
  entriesCsv,
  entryQuery,
  pendingCalls,
  pendingQuery,
  usage,
  usageCsv,
  usageQuery,
} from './reports.ts';

export function csvFile(name: string, text: string): RouteReply {
  return {
    status: 200,
    headers: {
      ...noStore,
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    },
    body: text,
  };
}

interface Asked extends Pick<RouteRequest, 'params' | 'body'> {
  readonly query: Readonly<Record<string, string>>;
  /** The ids of the models on offer. */
  readonly models: () => string[];
  readonly author: string;
}

type Handle = (store: Store, asked: Asked) => Promise<RouteReply>;

function corrected(made: Corrected): RouteReply {
  return json(made, made.status === 'credited' ? 201 : 200);
}

const handlers: Readonly<Record<string, Handle>> = {
  'GET /admin/accounts': async (store, { query }) => json(await listAccounts(store, read(page, query))),
  'POST /admin/accounts': async (store, { body }) =>
    json(await createAccount(store, read(accountOrder, body)), 201),
  'GET /admin/accounts/:account': async (store, { params }) =>
    json(await accountDetails(store, params.account ?? '')),
  'PATCH /admin/accounts/:account': async (store, { params, body }) =>
    json(await moveAccount(store, params.account ?? '', read(accountMove, body))),
  'GET /admin/budgets': async (store, { query }) => json(await listBudgets(store, read(budgetQuery, query))),
  'POST /admin/budgets': async (store, { body }) =>
    json(await createBudget(store, read(budgetOrder, body)), 201),
  'GET /admin/budgets/:budget': async (store, { params }) => json(await findBudget(store, params.budget)),
  'PATCH /admin/budgets/:budget': async (store, { params, body }) =>
    json(await changeBudget(store, params.budget, read(budgetChanges, body))),
  'DELETE /admin/budgets/:budget': async (store, { params }) =>
    json(await deleteBudget(store, params.budget)),
  'POST /admin/budgets/:budget/raises': async (store, { params, body }) =>
    json(await raiseBudget(store, params.budget, read(raiseOrder, body)), 201),
  'GET /admin/budget-warnings': async (store, { query }) =>
    json(await listWarnings(store, read(warningQuery, query))),
  'GET /admin/credits': async (store, { query }) => json(await listCredits(store, read(creditQuery, query))),
  async 'POST /admin/credits'(store, { body }) {
    const added = await addCredit(store, read(creditOrder, body));
    return json(added, added.status === 'credited' ? 201 : 200);
  },
  'PATCH /admin/accounts/:account/state': async (store, { params, body }) =>
    json(await changeAccount(store, params.account ?? '', read(accountChanges, body))),
  'POST /admin/adjustments': async (store, { body, author }) =>
    corrected(await adjust(store, read(adjustmentOrder, body), author)),
  'POST /admin/refunds': async (store, { body, author }) =>
    corrected(await refund(store, read(refundOrder, body), author)),
  'POST /admin/chargebacks': async (store, { body, author }) =>
    corrected(await chargeBack(store, read(chargebackOrder, body), author)),
  'GET /admin/actions': async (store, { query }) => json(await listActions(store, read(actionQuery, query))),
  async 'DELETE /admin/keys/:key'(store, { params }) {
    return json(await deleteKey(store, params.key ?? ''));
  },
  'GET /admin/keys': async (store, { query }) => json(await listKeys(store, read(keyQuery, query))),
  async 'POST /admin/keys'(store, { body, models }) {
    const order = read(keyOrder, body);
    checkModelPatterns(order.limits.models, models());
    return json(await createKey(store, order), 201);
  },
  'GET /admin/keys/:key': async (store, { params }) => json(await findKey(store, params.key ?? '')),
  async 'PATCH /admin/keys/:key'(store, { params, body, models }) {
    const changes = read(keyChanges, body);
    checkModelPatterns(changes.limits?.models, models());
    return json(await changeKey(store, params.key ?? '', changes));
  },
  'POST /admin/keys/:key/rotate': async (store, { params, body }) =>
    json(await rotateKey(store, params.key ?? '', read(rotationOrder, body ?? {})), 201),
  async 'GET /admin/usage'(store, asked) {
    const query = read(usageQuery, asked.query);
    if (query.format === 'csv') return csvFile('usage', await usageCsv(store, query));
    return json(await usage(store, query));
  },
  async 'GET /admin/entries'(store, asked) {
    const query = read(entryQuery, asked.query);
    if (query.format === 'csv') return csvFile('entries', await entriesCsv(store, query));
    return json(await entries(store, query));
  },
  'GET /admin/entries/export': (store, { query }) => exportReply(store, query),
  'GET /admin/reservations': async (store, { query }) =>
    json(await pendingCalls(store, read(pendingQuery, query))),
  'GET /admin/markups': async (store) => json({ data: await listMarkups(store) }),
  'POST /admin/markups': async (store, { body }) => json(await setMarkup(store, body), 201),
  async 'DELETE /admin/markups'(store, { query }) {
    await removeMarkup(store, query);
    return json({ data: await listMarkups(store) });
  },
  'GET /admin/audit': async (store) => json(await store.audit()),
};

const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

export function operatorRoutes(store: () => Store, models: () => string[]): Route[] {
  return Object.entries(handlers).map(([name, handle]) => {
    const [verb, path = ''] = name.split(' ');
    const method = methods.find((known) => known === verb) ?? 'GET';
    return {
      name,
      method,
      path,
      access: 'operator',
      errors,
      openapi: async () => (await import('../description.ts')).operatorDescription(name),
      async handle(request, { key: author }) {
        const ledger = method === 'GET' ? store() : store().recording(actionFrom(author, name, request));
        const { params, body } = request;
        return handle(ledger, { params, body, query: Object.fromEntries(request.query), models, author });
      },
    };
  });
}
