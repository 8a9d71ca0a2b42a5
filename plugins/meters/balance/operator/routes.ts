/**
 * The ledger's routes for operators: JSON in and out, amounts as decimal strings in USD, lists in pages (the
 * next page is asked for with `after`, which is the last page's `next`), and errors in one shape.
 */
import type { z } from 'zod';
import type { Route, RouteReply } from '../../../../core/index.ts';
import { errors, json, noStore, read } from '../../../shared/operator-routes.ts';
import type { LedgerService } from '../ledger-service.ts';
import { markupSchema, selectorSchema } from '../markup/marked-prices.ts';
import { listMarkups, removeMarkup, setMarkup } from '../markup/rules.ts';
import type { Store } from '../store.ts';
import * as accounts from './accounts.ts';
import { actionFrom, actionQuery, listActions } from './actions.ts';
import * as budgets from './budgets.ts';
import { callDetails, callQuery, callsCsv, listCalls } from './calls.ts';
import * as corrections from './corrections.ts';
import { exportQuery, exportReply } from './export.ts';
import * as keys from './keys.ts';
import { overview, overviewQuery } from './overview.ts';
import { page } from './reading.ts';
import * as reports from './reports.ts';
import { statement, statementCsv, statementQuery } from './statement.ts';

interface Asked {
  readonly ledger: LedgerService;
  /** What the path names. */
  readonly wanted: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The ids of the models on offer. */
  readonly models: () => string[];
  readonly author: string;
}

/** What a route does, and what the OpenAPI document has of it: its query, its body and its statuses. */
export interface Handler {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly statuses: readonly number[];
  readonly handle: (store: Store, asked: Asked) => Promise<RouteReply>;
}

/** Replies with what the path names. */
function shows(run: (store: Store, wanted: string) => Promise<object>): Handler {
  return { statuses: [200], handle: async (store, { wanted }) => json(await run(store, wanted)) };
}

function lists<Query extends z.ZodObject>(
  query: Query,
  run: (store: Store, query: z.output<Query>, asked: Asked) => Promise<object>,
): Handler {
  return {
    query,
    statuses: [200],
    handle: async (store, asked) => json(await run(store, read(query, asked.query), asked)),
  };
}

/** Makes or changes what the body says; new corrections and credits are answered with 201. */
function takes<Body extends z.ZodType>(
  body: Body,
  run: (store: Store, order: z.output<Body>, asked: Asked) => Promise<object>,
  statuses: readonly number[] = [200],
): Handler {
  return {
    body,
    statuses,
    async handle(store, asked) {
      const made = await run(store, read(body, asked.body), asked);
      const isKnown = 'status' in made && made.status === 'already_credited';
      return json(made, isKnown ? 200 : statuses.at(-1));
    },
  };
}

/** Changes what the path names. */
function changes<Body extends z.ZodType>(
  body: Body,
  run: (store: Store, wanted: string, order: z.output<Body>, asked: Asked) => Promise<object>,
  status = 200,
): Handler {
  return takes(body, (store, order, asked) => run(store, asked.wanted, order, asked), [status]);
}

/** Replies with JSON or with a CSV file. */
function sheets<Query extends z.ZodObject, Found extends object>(
  name: string,
  query: Query,
  run: (store: Store, query: z.output<Query>, asked: Asked) => Promise<Found>,
  write: (found: Found) => string,
): Handler {
  return {
    query,
    statuses: [200],
    async handle(store, asked) {
      const found = await run(store, read(query, asked.query), asked);
      if (asked.query.format !== 'csv') return json(found);
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

/** Stores first what ended in this process, so that it shows up at once. */
function fresh(handler: Handler): Handler {
  return {
    ...handler,
    async handle(store, asked) {
      await asked.ledger.calls.flush();
      return handler.handle(store, asked);
    },
  };
}

const handlers: Readonly<Record<string, Handler>> = {
  'GET /admin/accounts': lists(page, accounts.listAccounts),
  'POST /admin/accounts': takes(accounts.accountOrder, accounts.createAccount, [201]),
  'GET /admin/accounts/:account': shows(accounts.accountDetails),
  'PATCH /admin/accounts/:account': changes(accounts.accountMove, accounts.moveAccount),
  'PATCH /admin/accounts/:account/state': changes(accounts.accountChanges, accounts.changeAccount),
  'GET /admin/accounts/:account/statement': sheets(
    'statement',
    statementQuery,
    (store, query, { wanted }) => statement(store, wanted, query),
    statementCsv,
  ),
  'GET /admin/budgets': lists(budgets.budgetQuery, budgets.listBudgets),
  'POST /admin/budgets': takes(budgets.budgetOrder, budgets.createBudget, [201]),
  'GET /admin/budgets/:budget': shows(budgets.findBudget),
  'PATCH /admin/budgets/:budget': changes(budgets.budgetChanges, budgets.changeBudget),
  'DELETE /admin/budgets/:budget': shows(budgets.deleteBudget),
  'POST /admin/budgets/:budget/raises': changes(budgets.raiseOrder, budgets.raiseBudget, 201),
  'GET /admin/budget-warnings': lists(budgets.warningQuery, budgets.listWarnings),
  'GET /admin/credits': lists(accounts.creditQuery, accounts.listCredits),
  'POST /admin/credits': takes(accounts.creditOrder, accounts.addCredit, [200, 201]),
  'POST /admin/adjustments': takes(corrections.adjustmentOrder, corrections.adjust, [200, 201]),
  'POST /admin/refunds': takes(corrections.refundOrder, corrections.refund, [200, 201]),
  'POST /admin/chargebacks': takes(corrections.chargebackOrder, corrections.chargeBack, [200, 201]),
  'GET /admin/actions': lists(actionQuery, listActions),
  'DELETE /admin/keys/:key': shows(keys.deleteKey),
  'GET /admin/keys': lists(keys.keyQuery, keys.listKeys),
  'POST /admin/keys': takes(keys.keyOrder, keys.createKey, [201]),
  'GET /admin/keys/:key': shows(keys.findKey),
  'PATCH /admin/keys/:key': changes(keys.keyChanges, keys.changeKey),
  'POST /admin/keys/:key/rotate': changes(keys.rotationOrder.optional(), keys.rotateKey, 201),
  'GET /admin/usage': sheets('usage', reports.usageQuery, reports.usage, reports.usageCsv),
  'GET /admin/entries': sheets('entries', reports.entryQuery, reports.entries, reports.entriesCsv),
  'GET /admin/entries/export': {
    query: exportQuery,
    statuses: [200],
    handle: (store, { query }) => exportReply(store, query),
  },
  'GET /admin/reservations': lists(reports.pendingQuery, reports.pendingCalls),
  'GET /admin/markups': shows(async (store) => ({ data: await listMarkups(store) })),
  'POST /admin/markups': {
    body: markupSchema,
    statuses: [201],
    handle: async (store, { body }) => json(await setMarkup(store, body), 201),
  },
  'DELETE /admin/markups': {
    query: selectorSchema,
    statuses: [200],
    async handle(store, { query }) {
      await removeMarkup(store, query);
      return json({ data: await listMarkups(store) });
    },
  },
  'GET /admin/calls': fresh(sheets('calls', callQuery, listCalls, callsCsv)),
  'GET /admin/calls/:id': fresh(shows(callDetails)),
  'GET /admin/overview': fresh(
    lists(overviewQuery, (store, query, { ledger }) => overview(store, ledger.lastAudit, query)),
  ),
  'GET /admin/audit': shows((store) => store.audit()),
};

const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

export function operatorRoutes(opened: () => LedgerService, models: () => string[]): Route[] {
  return Object.entries(handlers).map(([name, handler]) => {
    const [verb, path = ''] = name.split(' ');
    const method = methods.find((known) => known === verb) ?? 'GET';
    return {
      name,
      method,
      path,
      access: 'operator',
      errors,
      openapi: async () => (await import('../description.ts')).operatorDescription(name, handler),
      async handle(request, { key: author }) {
        const ledger = opened();
        const { params, body } = request;
        const [wanted = ''] = Object.values(params);
        const query = Object.fromEntries(request.query);
        const store =
          method === 'GET' ? ledger.store : ledger.store.recording(actionFrom(author, name, request));
        return handler.handle(store, { ledger, wanted, query, body, models, author });
      },
    };
  });
}
