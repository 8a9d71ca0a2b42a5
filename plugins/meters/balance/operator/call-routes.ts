/** The operators' routes that read stored calls and roll-ups. */
import type { Route, RouteReply, RouteRequest } from '../../../../core/index.ts';
import { errors, json, read } from '../../../shared/operator-routes.ts';
import type { LedgerService } from '../ledger-service.ts';
import { callDetails, callQuery, callsCsv, listCalls } from './calls.ts';
import { overview, overviewQuery } from './overview.ts';
import { csvFile } from './routes.ts';
import { statement, statementCsv, statementQuery } from './statement.ts';

type Handle = (ledger: LedgerService, request: RouteRequest) => Promise<RouteReply>;

const handlers: Readonly<Record<string, Handle>> = {
  async '/admin/calls'({ store, calls }, request) {
    const query = read(callQuery, Object.fromEntries(request.query));
    // What this process has not stored yet shows up at once.
    await calls.flush();
    return query.format === 'csv'
      ? csvFile('calls', await callsCsv(store, query))
      : json(await listCalls(store, query));
  },
  async '/admin/calls/:id'({ store, calls }, { params }) {
    await calls.flush();
    return json(await callDetails(store, params.id ?? ''));
  },
  async '/admin/overview'({ store, calls, lastAudit }, { query }) {
    const asked = read(overviewQuery, Object.fromEntries(query));
    await calls.flush();
    return json(await overview(store, lastAudit, asked));
  },
  async '/admin/accounts/:account/statement'({ store }, { params, query }) {
    const [account, asked] = [params.account ?? '', read(statementQuery, Object.fromEntries(query))];
    return asked.format === 'csv'
      ? csvFile(`statement-${account}`, await statementCsv(store, account, asked))
      : json(await statement(store, account, asked));
  },
};

export function callRoutes(ledger: () => LedgerService): Route[] {
  return Object.entries(handlers).map(([path, handle]) => ({
    name: `GET ${path}`,
    method: 'GET',
    path,
    access: 'operator',
    errors,
    openapi: async () => (await import('../calls/description.ts')).callDescription(path),
    handle: (request) => handle(ledger(), request),
  }));
}
