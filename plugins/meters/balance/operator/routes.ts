/**
 * The ledger's routes for operators: JSON in and out, amounts as decimal strings in USD, lists in pages
 * (`after` of the next page is the `next` of the last one), and errors in one shape.
 */
import type { z } from 'zod';
import type { Route, RouteReply } from '../../../../core/index.ts';
import { buildErrorReply, buildReply, noStore, readInput } from '../../../shared/operator-routes.ts';
import type { LedgerService } from '../ledger-service.ts';
import { markupSchema, selectorSchema } from '../markup/marked-prices.ts';
import { listMarkups, removeMarkup, setMarkup } from '../markup/rules.ts';
import type { Store } from '../store.ts';
import * as accounts from './accounts.ts';
import { buildRouteAction, actionQuery, listActions } from './actions.ts';
import * as budgets from './budgets.ts';
import { readCallDetails, callQuery, formatCallsCsv, listCalls } from './calls.ts';
import * as corrections from './corrections.ts';
import { exportQuery, buildExportReply } from './export.ts';
import * as keys from './keys.ts';
import type { Offer } from './model-patterns.ts';
import { computeOverview, overviewQuery } from './overview.ts';
import { page } from './reading.ts';
import * as reports from './reports.ts';
import { computeStatement, formatStatementCsv, statementQuery } from './statement.ts';

interface Asked {
  readonly ledger: LedgerService;
  /** What the path names. */
  readonly wanted: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly offer: Offer;
  readonly author: string;
}

/** A route's handler, and what the OpenAPI document shows of it: query, body and statuses. */
export interface Handler {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly statuses: readonly number[];
  readonly handle: (store: Store, asked: Asked) => Promise<RouteReply>;
}

/** Replies with what the path names. */
function handleShow(run: (store: Store, wanted: string) => Promise<object>): Handler {
  return { statuses: [200], handle: async (store, { wanted }) => buildReply(await run(store, wanted)) };
}

function handleList<Query extends z.ZodObject>(
  query: Query,
  run: (store: Store, query: z.output<Query>, asked: Asked) => Promise<object>,
): Handler {
  return {
    query,
    statuses: [200],
    handle: async (store, asked) => buildReply(await run(store, readInput(query, asked.query), asked)),
  };
}

/** Creates or changes what the body describes; new corrections and credits reply with 201. */
function handleOrder<Body extends z.ZodType>(
  body: Body,
  run: (store: Store, order: z.output<Body>, asked: Asked) => Promise<object>,
  statuses: readonly number[] = [200],
): Handler {
  return {
    body,
    statuses,
    async handle(store, asked) {
      const made = await run(store, readInput(body, asked.body), asked);
      const isKnown = 'status' in made && made.status === 'already_credited';
      return buildReply(made, isKnown ? 200 : statuses.at(-1));
    },
  };
}

/** Changes what the path names. */
function handleChange<Body extends z.ZodType>(
  body: Body,
  run: (store: Store, wanted: string, order: z.output<Body>, asked: Asked) => Promise<object>,
  status = 200,
): Handler {
  return handleOrder(body, (store, order, asked) => run(store, asked.wanted, order, asked), [status]);
}

/** Replies with JSON or with a CSV file. */
function handleSheet<Query extends z.ZodObject, Found extends object>(
  name: string,
  query: Query,
  run: (store: Store, query: z.output<Query>, asked: Asked) => Promise<Found>,
  write: (found: Found) => string,
): Handler {
  return {
    query,
    statuses: [200],
    async handle(store, asked) {
      const found = await run(store, readInput(query, asked.query), asked);
      if (asked.query.format !== 'csv') return buildReply(found);
      const filename = [name, asked.wanted].filter(Boolean).join('-');
      const headers = {
        ...noStore,
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${filename}.csv"`,
      };
      return { status: 200, headers, body: write(found) };
    },
  };
}

/** First stores the calls that ended in this process, so that the reply contains them. */
function flushFirst(handler: Handler): Handler {
  return {
    ...handler,
    async handle(store, asked) {
      await asked.ledger.calls.flush();
      return handler.handle(store, asked);
    },
  };
}

const handlers: Readonly<Record<string, Handler>> = {
  'GET /admin/accounts': handleList(page, accounts.listAccounts),
  'POST /admin/accounts': handleOrder(accounts.accountOrder, accounts.createAccount, [201]),
  'GET /admin/accounts/:account': handleShow(accounts.describeAccount),
  'PATCH /admin/accounts/:account': handleChange(accounts.accountMove, accounts.moveAccount),
  'PATCH /admin/accounts/:account/state': handleChange(accounts.accountChanges, accounts.changeAccount),
  'GET /admin/accounts/:account/statement': handleSheet(
    'statement',
    statementQuery,
    (store, query, { wanted }) => computeStatement(store, wanted, query),
    formatStatementCsv,
  ),
  'GET /admin/budgets': handleList(budgets.budgetQuery, budgets.listBudgets),
  'POST /admin/budgets': handleOrder(budgets.budgetOrder, budgets.createBudget, [201]),
  'GET /admin/budgets/:budget': handleShow(budgets.findBudget),
  'PATCH /admin/budgets/:budget': handleChange(budgets.budgetChanges, budgets.changeBudget),
  'DELETE /admin/budgets/:budget': handleShow(budgets.deleteBudget),
  'POST /admin/budgets/:budget/raises': handleChange(budgets.raiseOrder, budgets.raiseBudget, 201),
  'GET /admin/budget-warnings': handleList(budgets.warningQuery, budgets.listWarnings),
  'GET /admin/credits': handleList(accounts.creditQuery, accounts.listCredits),
  'POST /admin/credits': handleOrder(accounts.creditOrder, accounts.addCredit, [200, 201]),
  'POST /admin/adjustments': handleOrder(corrections.adjustmentOrder, corrections.adjustCredit, [200, 201]),
  'POST /admin/refunds': handleOrder(corrections.refundOrder, corrections.refundCall, [200, 201]),
  'POST /admin/chargebacks': handleOrder(
    corrections.chargebackOrder,
    corrections.chargeBackCredit,
    [200, 201],
  ),
  'GET /admin/actions': handleList(actionQuery, listActions),
  'DELETE /admin/keys/:key': handleShow(keys.deleteKey),
  'GET /admin/keys': handleList(keys.keyQuery, keys.listKeys),
  'POST /admin/keys': handleOrder(
    keys.keyOrder,
    (store, order, { offer }) => keys.createKey(store, order, offer),
    [201],
  ),
  'GET /admin/keys/:key': handleShow(keys.findKey),
  'PATCH /admin/keys/:key': handleChange(keys.keyChanges, (store, wanted, changes, { offer }) =>
    keys.changeKey(store, wanted, changes, offer),
  ),
  'POST /admin/keys/:key/rotate': handleChange(keys.rotationOrder.optional(), keys.rotateKey, 201),
  'GET /admin/usage': handleSheet('usage', reports.usageQuery, reports.reportUsage, reports.formatUsageCsv),
  'GET /admin/entries': handleSheet(
    'entries',
    reports.entryQuery,
    reports.listEntries,
    reports.formatEntriesCsv,
  ),
  'GET /admin/entries/export': {
    query: exportQuery,
    statuses: [200],
    handle: (store, { query }) => buildExportReply(store, query),
  },
  'GET /admin/reservations': handleList(reports.pendingQuery, reports.listPendingCalls),
  'GET /admin/markups': handleShow(async (store) => ({ data: await listMarkups(store) })),
  'POST /admin/markups': {
    body: markupSchema,
    statuses: [201],
    handle: async (store, { body, offer }) => buildReply(await setMarkup(store, body, offer), 201),
  },
  'DELETE /admin/markups': {
    query: selectorSchema,
    statuses: [200],
    async handle(store, { query }) {
      await removeMarkup(store, query);
      return buildReply({ data: await listMarkups(store) });
    },
  },
  'GET /admin/calls': flushFirst(handleSheet('calls', callQuery, listCalls, formatCallsCsv)),
  'GET /admin/calls/:id': flushFirst(handleShow(readCallDetails)),
  'GET /admin/overview': flushFirst(
    handleList(overviewQuery, (store, query, { ledger }) => computeOverview(store, ledger.lastAudit, query)),
  ),
  'GET /admin/audit': handleShow((store) => store.audit()),
};

const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

export function listOperatorRoutes(opened: () => LedgerService, offer: Offer): Route[] {
  return Object.entries(handlers).map(([name, handler]) => {
    const [verb, path = ''] = name.split(' ');
    const method = methods.find((known) => known === verb) ?? 'GET';
    return {
      name,
      method,
      path,
      access: 'operator',
      encodeError: buildErrorReply,
      describe: async () => (await import('../description.ts')).describeOperatorRoute(name, handler),
      async handle(request, { key: author }) {
        const ledger = opened();
        const { params, body } = request;
        const [wanted = ''] = Object.values(params);
        const query = Object.fromEntries(request.query);
        const store =
          method === 'GET' ? ledger.store : ledger.store.withAction(buildRouteAction(author, name, request));
        return handler.handle(store, { ledger, wanted, query, body, offer, author });
      },
    };
  });
}
