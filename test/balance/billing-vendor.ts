/**
 * A vendor's API of usage and costs, as strict as the real ones: an admin key, whole days, a known grouping,
 * and two pages.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { serve, type Served } from '../support/serve.ts';

type Bucket = Readonly<Record<string, unknown>>;

/** Which report each path has, with its grouping, and what it replies. */
export type Reports = Readonly<Record<string, { readonly group: string; readonly data: readonly Bucket[] }>>;

const parameters = ['group_by[]', 'bucket_width', 'limit', 'page'];

export interface BillingVendor extends Served {
  /** The paths that were asked for, with the values of these parameters. */
  readonly asked: string[];
}

/** `isAdmin` looks at the credentials; `period` are the parameters of a period. */
export async function serveBills(
  reports: Reports,
  isAdmin: (request: IncomingMessage) => boolean,
  period: readonly string[],
): Promise<BillingVendor> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://vendor');
    const { searchParams } = url;
    const report = reports[url.pathname];
    const reply = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const refuse = (status: number): void =>
      reply(status, { error: { message: 'sk-admin-secret is wrong' } });
    if (!isAdmin(request)) return refuse(401);
    if (!report) return refuse(404);
    const known = [...parameters, ...period];
    const isRight =
      [...searchParams.keys()].every((name) => known.includes(name)) &&
      period.every((name) => searchParams.has(name)) &&
      searchParams.get('group_by[]') === report.group &&
      searchParams.get('bucket_width') === '1d' &&
      Number(searchParams.get('limit')) <= 31;
    if (!isRight) return refuse(400);
    asked.push([url.pathname, ...period.map((name) => searchParams.get(name))].join(' '));
    const page = searchParams.get('page');
    const half = Math.ceil(report.data.length / 2);
    if (page === null)
      return reply(200, {
        object: 'page',
        data: report.data.slice(0, half),
        has_more: true,
        next_page: 'second',
      });
    if (page !== 'second') return refuse(400);
    return reply(200, { object: 'page', data: report.data.slice(half), has_more: false, next_page: null });
  });
  return { ...(await serve(server)), asked };
}
