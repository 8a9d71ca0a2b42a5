/**
 * An operation of operators is declared once: its route, who may run it, what it takes, what it does, and
 * the verbs of the command line that run it. Its HTTP route, its description in the OpenAPI document and its
 * verbs follow from that. The schemas of replies are in `replies/routes.ts`, keyed by route,
 * since the console takes its types from them.
 */
import { z } from 'zod';
import type { Content, Description, Principal, Route, RouteReply, RouteRequest } from '../../core/index.ts';
import {
  buildErrorReply,
  buildReply,
  describeJson,
  noStore,
  operatorError,
  readInput,
} from './operator-routes.ts';
import type { VerbRow } from './operator-verbs.ts';
import type { Replies, RouteName } from './replies/routes.ts';

/**
 * The roles of people. An owner may run everything. A member sees and changes what is their own: their keys,
 * their calls, the figures of their team.
 */
export const roleNames = ['owner', 'admin', 'billing', 'viewer', 'member'] as const;
export type Role = (typeof roleNames)[number];

/** Who may run an operation, by what it does. */
export const roles = {
  read: ['owner', 'admin', 'billing', 'viewer'],
  readOwn: roleNames,
  manage: ['owner', 'admin'],
  manageOwn: ['owner', 'admin', 'member'],
  spend: ['owner', 'admin', 'billing'],
  correct: ['owner', 'billing'],
  admit: ['owner'],
} as const satisfies Readonly<Record<string, readonly Role[]>>;

type ParamName<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamName<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** What a route's path names. */
type Params<Path extends string> = Readonly<Record<ParamName<Path>, string>>;

/** What is asked of an operation, before it is checked. */
export interface Asked {
  readonly params?: Readonly<Record<string, string>>;
  readonly input?: unknown;
}

/** `Context` is what the operations of a plugin work with. */
export interface Operation<Context, Name extends RouteName = RouteName> {
  readonly route: Name;
  readonly summary: string;
  /** More about it, in Markdown. */
  readonly details?: string;
  readonly roles: readonly Role[];
  /** What it takes: in the query of a GET or DELETE, and in the body of others. */
  readonly input?: z.ZodType;
  /** Of its replies. An order that was carried out before gets the first, and others get the last. */
  readonly statuses: readonly number[];
  /** A question although it is a POST: keys that may only read send it too. */
  readonly changesNothing?: true;
  /** The reply as a CSV file, which `format=csv` asks for. */
  readonly csv?: Csv<Replies[Name]>;
  /** A reply that is a file, and no JSON. */
  readonly file?: FileForm<Replies[Name]>;
  /** The verbs that run it and nothing else. */
  readonly verbs: Readonly<Record<string, VerbRow<Context, Replies[Name]>>>;
  /** Throws `invalid_request` with everything that is wrong. */
  run(context: Context, asked: Asked): Promise<Replies[Name]>;
}

interface Csv<Reply> {
  /** Of the file, before what the path names. */
  readonly name: string;
  format(reply: Reply): string;
}

interface FileForm<Reply> {
  readonly content: Content;
  send(reply: Reply): RouteReply;
  receive(response: Response): Reply;
}

export interface Spec<Context, Name extends RouteName, Input extends z.ZodType> extends Omit<
  Operation<Context, Name>,
  'statuses' | 'input' | 'verbs' | 'run'
> {
  readonly statuses?: readonly number[];
  readonly input?: Input;
  readonly verbs?: Operation<Context, Name>['verbs'];
  run(context: Context, input: z.output<Input>, params: Params<Name>, asked: Asked): Promise<Replies[Name]>;
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The method and the path of a route. */
export function splitRoute(route: string): { method: (typeof methods)[number]; path: string } {
  const [verb, path = ''] = route.split(' ');
  return { method: methods.find((known) => known === verb) ?? 'GET', path };
}

/** Whether it takes its input in the query. */
export function takesQuery(route: RouteName): boolean {
  return /^(GET|DELETE) /.test(route);
}

/** The names of what its path names. */
export function listParams(route: RouteName): string[] {
  return [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

function hasParams<Name extends RouteName>(
  route: Name,
  params: Readonly<Record<string, string>>,
): params is Params<Name> {
  return listParams(route).every((name) => params[name] !== undefined);
}

/** Whether an operation changes something. */
export function isChange({
  route,
  changesNothing,
}: Pick<Operation<never>, 'route' | 'changesNothing'>): boolean {
  return !route.startsWith('GET ') && changesNothing === undefined;
}

/** The function that declares the operations of a plugin. */
export function createDefiner<Context>() {
  return function defineOperation<Name extends RouteName, Input extends z.ZodType = z.ZodUndefined>({
    run,
    verbs = {},
    statuses = [200],
    ...spec
  }: Spec<Context, Name, Input>): Operation<Context, Name> {
    const { route, input: schema } = spec;
    return {
      ...spec,
      statuses,
      verbs,
      async run(context, asked) {
        const { params = {}, input } = asked;
        if (!hasParams(route, params)) throw new Error(`${route} lacks a parameter`);
        // Without a schema this is the type of what it takes.
        const read = schema ? readInput(schema, input) : (undefined as z.output<Input>);
        return run(context, read, params, asked);
      },
    };
  };
}

const formats = { format: z.enum(['json', 'csv']).default('json') };

async function describeOperation<Context>(operation: Operation<Context>): Promise<Description> {
  const { route, summary, details, roles: allowed, input, statuses, csv, file } = operation;
  const { replies } = await import('./replies/routes.ts');
  const content = file?.content ?? {
    ...describeJson(replies[route]),
    ...(csv && { 'text/csv': z.string() }),
  };
  const query = z.object({ ...(input instanceof z.ZodObject && input.shape), ...(csv && formats) });
  return {
    summary,
    details,
    roles: allowed,
    ...(takesQuery(route) ? { query } : { body: input && describeJson(input) }),
    replies: Object.fromEntries(statuses.map((status) => [status, content])),
    error: operatorError,
  };
}

/** What a request asks of an operation, and whether as CSV. */
function readRequest<Context>({ route, csv }: Operation<Context>, { params, query, body }: RouteRequest) {
  if (!takesQuery(route)) return { asked: { params, input: body }, isCsv: false };
  const { format: stated, ...input } = Object.fromEntries(query);
  if (!csv) return { asked: { params, input: Object.fromEntries(query) }, isCsv: false };
  const { format } = readInput(z.object(formats), { format: stated });
  return { asked: { params, input }, isCsv: format === 'csv' };
}

function buildSheet(name: string, body: string): RouteReply {
  const headers = {
    ...noStore,
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.csv"`,
  };
  return { status: 200, headers, body };
}

/** The routes of operations; `open` gives what a request works with. */
export function listOperationRoutes<Context>(
  operations: readonly Operation<Context>[],
  open: (operation: Operation<Context>, request: RouteRequest, principal: Principal) => Context,
): Route[] {
  return operations.map((operation) => {
    const { route, statuses, csv, file, changesNothing } = operation;
    return {
      ...splitRoute(route),
      name: route,
      access: 'operator',
      roles: operation.roles,
      ...(changesNothing && { changesNothing }),
      encodeError: buildErrorReply,
      describe: () => describeOperation(operation),
      async handle(request, principal) {
        const { asked, isCsv } = readRequest(operation, request);
        const reply = await operation.run(open(operation, request, principal), asked);
        if (file) return file.send(reply);
        if (csv && isCsv)
          return buildSheet([csv.name, ...Object.values(request.params)].join('-'), csv.format(reply));
        const isRepeated =
          ('status' in reply && reply.status === 'already_credited') ||
          ('made' in reply && (!reply.made || reply.dryRun));
        return buildReply(reply, isRepeated ? 200 : statuses.at(-1));
      },
    };
  });
}
