/**
 * The OpenAPI document of a listener: the calls and routes that it serves, and health. A route that
 * does not describe itself is listed with its address and who may call it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import {
  errorTable,
  GatewayError,
  groupRoutes,
  mostTags,
  tagsHeader,
  type CallDescription,
  type Content,
  type Description,
  type ErrorCode,
  type Host,
  type Protocol,
  type Route,
  type SharedRoutes,
} from '../../../core/index.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { Schemas, type Direction, type Json } from './schemas.ts';

const wrapSchema = (schema: z.ZodType) => ({ 'application/json': schema });

/** The pages that belong to no protocol and no other plugin. */
export const ownPages = {
  document: {
    summary: 'This description of the gateway',
    replies: { 200: wrapSchema(z.looseObject({ openapi: z.string() })) },
    error: errorSchema,
  },
  page: {
    summary: 'This description, to be read in a browser',
    replies: { 200: { 'text/html': z.string() } },
    error: errorSchema,
  },
  healthz: {
    summary: 'Whether the process lives',
    replies: { 200: wrapSchema(z.object({ status: z.literal('ok') })) },
    error: errorSchema,
  },
  readyz: {
    summary: 'Whether it should be given calls',
    replies: {
      200: wrapSchema(z.object({ status: z.literal('ready') })),
      503: wrapSchema(z.object({ status: z.literal('not ready'), faults: z.array(z.string()) })),
    },
    error: errorSchema,
  },
} satisfies Readonly<Record<string, Description>>;

function describeHeader(name: string, description: string, values?: readonly string[]): Json {
  const schema = { type: 'string', ...(values && { enum: values }) };
  return { name, in: 'header', required: false, description, schema };
}

/** The gateway's own request headers, which calls of every protocol can have. */
const headerParameters = [
  describeHeader(
    tagsHeader,
    `What the call counts for, as \`team:search,research\`: at most ${mostTags} tags.`,
  ),
  describeHeader(
    'x-tollgate-cost',
    'With `reply` the usage of the reply has the `cost` in USD, also at the end of a stream that has usage.',
    ['reply'],
  ),
  describeHeader(
    'x-tollgate-budget',
    'With `reply` the headers of the reply say what the tightest budget left before this call.',
    ['reply'],
  ),
];
const idempotencyKey = describeHeader(
  'Idempotency-Key',
  'A call repeated with the same key gets the stored reply; it is neither made nor charged twice.',
);

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly item: Json;
}

/** Headers that every reply has. */
const callHeaders: Readonly<Record<string, string>> = {
  'x-request-id': 'The id of the call, for `GET /v1/calls/{id}`.',
  'x-tollgate-provider': 'The provider that answered.',
  'x-tollgate-model': 'The model that answered.',
  'x-tollgate-alias': 'The alias that the request named.',
  'x-tollgate-attempts': 'The number of attempts.',
  'x-tollgate-cost': 'The cost in USD: a header of JSON replies, a trailer of streams for `TE: trailers`.',
  'x-tollgate-budget-left':
    'USD that the tightest budget left before this call, if it asked by `x-tollgate-budget`.',
  'x-tollgate-defaulted': 'Fields that the request left out and the gateway filled in.',
  'x-tollgate-dropped': 'Parts of the request that the model that answered could not be sent.',
};

const headerReferences = Object.fromEntries(
  Object.keys(callHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

function describeContent(schemas: Schemas, content: Content, direction: Direction): Json {
  return Object.fromEntries(
    Object.entries(content).map(([type, schema]) => [type, { schema: schemas.use(schema, direction) }]),
  );
}

/** The parameters that a path names, such as `{name}`. */
function listPathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function listParameters(schemas: Schemas, path: string, { query, headers }: Partial<Description>): Json[] {
  const listMembers = (place: string, object: z.ZodObject | undefined): Json[] => {
    if (!object) return [];
    return schemas.listParts(object).map(([name, { description, ...schema }, required]) => {
      return { name, in: place, required, ...(description === undefined ? {} : { description }), schema };
    });
  };
  return [...listPathParameters(path), ...listMembers('query', query), ...listMembers('header', headers)];
}

function describeBody(schemas: Schemas, body: Content | undefined): Json {
  if (!body) return {};
  const required = !Object.values(body).every((schema) => schema.safeParse(undefined).success);
  return { requestBody: { required, content: describeContent(schemas, body, 'input') } };
}

function describeReplies(schemas: Schemas, replies: Description['replies'], headers: Json): Json {
  return Object.fromEntries(
    Object.entries(replies).map(([status, content]) => {
      const streamed =
        'text/event-stream' in content
          ? ', or a stream of server-sent events, each of which holds one of these as its data'
          : '';
      return [
        status,
        {
          description: `The answer${streamed}.`,
          ...headers,
          content: describeContent(schemas, content, 'output'),
        },
      ];
    }),
  );
}

/** A name that generated clients can give to a method: letters, digits and dashes. */
function toIdentifier(name: string): string {
  return name.replace(/\W+/g, '-').replace(/^-|-$/g, '');
}

function describeOperation(schemas: Schemas, id: string, path: string, description: Partial<Description>) {
  const { summary = id, details, roles, body, replies = { 200: {} }, error = errorSchema } = description;
  const failure = {
    description: 'What went wrong.',
    content: describeContent(schemas, { 'application/json': error }, 'output'),
  };
  return {
    operationId: toIdentifier(id),
    summary,
    ...(details === undefined ? {} : { description: details }),
    ...(roles === undefined ? {} : { 'x-tollgate-roles': roles }),
    parameters: listParameters(schemas, path, description),
    ...describeBody(schemas, body),
    responses: { ...describeReplies(schemas, replies, {}), default: failure },
  };
}

/** Error codes by their status in the protocol, without `client_gone`, which no client can read. */
function groupErrors({ client }: Protocol): Map<number, ErrorCode[]> {
  const codes = Object.keys(errorTable).filter(
    (code): code is ErrorCode => code in errorTable && code !== 'client_gone',
  );
  return Map.groupBy(codes, (code) => client.encodeError(new GatewayError(code, code), '').status);
}

function describeCall(
  schemas: Schemas,
  host: Host,
  protocol: Protocol,
  description: CallDescription,
): Operation {
  const { method, path, replies } = description;
  const id = `${protocol.name} ${method} ${path}`;
  const { parameters, responses, ...item } = describeOperation(schemas, id, path, description);
  const failures = [...groupErrors(protocol)].map(([status, codes]) => [
    status,
    { ...responses.default, description: `${codes.join(', ')}.` },
  ]);
  const isKept = host.plugins.has('balance') && protocol.client.match(method, path)?.operation !== 'count';
  return {
    method,
    path,
    item: {
      ...item,
      tags: [protocol.name],
      security: listCredentials(host, protocol.name),
      parameters: [...parameters, ...headerParameters, ...(isKept ? [idempotencyKey] : [])],
      responses: {
        ...describeReplies(schemas, replies, { headers: headerReferences }),
        ...Object.fromEntries(failures),
      },
    },
  };
}

async function describeCalls(schemas: Schemas, host: Host, protocol: Protocol): Promise<Operation[]> {
  const operations: Operation[] = [];
  for (const description of (await protocol.describeCalls?.()) ?? []) {
    operations.push(describeCall(schemas, host, protocol, description));
    await nextTurn();
  }
  return operations;
}

/** A router's path in OpenAPI's form: `/v1/models/*id` → `/v1/models/{id}`. */
function toOpenapiPath({ path }: Route): string {
  return path.replace(/[:*](\w+)/g, '{$1}');
}

const tags: Readonly<Record<Route['access'], string>> = {
  public: 'open to all',
  user: 'for holders of a key',
  operator: 'on the admin listener',
};

/** Whose document it is: that of a listener has what the listener serves. */
export type Audience = 'everyone' | 'operators';

function mergeSchemas(schemas: readonly z.ZodType[]): z.ZodType {
  const [first, ...others] = new Set(schemas);
  return first && others.length === 0 ? first : z.union([...new Set(schemas)]);
}

function mergeReplies(descriptions: readonly Description[]): Description['replies'] {
  const contents = descriptions.flatMap(({ replies }) => Object.entries(replies));
  return Object.fromEntries(
    [...Map.groupBy(contents, ([status]) => Number(status))].map(([status, same]) => {
      const schemas = Map.groupBy(
        same.flatMap(([, content]) => Object.entries(content)),
        ([type]) => type,
      );
      return [
        status,
        Object.fromEntries(
          [...schemas].map(([type, each]) => [type, mergeSchemas(each.map(([, schema]) => schema))]),
        ),
      ];
    }),
  );
}

/** Routes that share a path are one operation, whose reply is that of any of them. */
function mergeDescriptions(descriptions: readonly Description[]): Partial<Description> {
  const [first, ...others] = descriptions;
  if (!first || others.length === 0) return first ?? {};
  return {
    summary: descriptions.map(({ summary }) => summary).join('; or: '),
    details: descriptions.map(({ summary, details = '' }) => `${summary}. ${details}`).join('\n\n'),
    query: z.object(Object.assign({}, ...descriptions.map(({ query }) => query?.shape))),
    replies: mergeReplies(descriptions),
    error: mergeSchemas(descriptions.map(({ error }) => error)),
  };
}

async function describeRoutes(schemas: Schemas, host: Host, routes: SharedRoutes): Promise<Operation[]> {
  const shown = routes.filter(({ describe }) => describe !== false);
  const [first] = shown;
  if (!first) return [];
  const described = await Promise.all(shown.map(({ describe }) => (describe ? describe() : undefined)));
  const path = toOpenapiPath(first);
  const description = mergeDescriptions(described.filter((each) => each !== undefined));
  return [
    {
      method: first.method,
      path,
      item: {
        ...describeOperation(schemas, first.name, path, description),
        tags: [tags[first.access]],
        security: first.access === 'public' ? [] : listCredentials(host, host.routes.getOwner(first)),
      },
    },
  ];
}

function describeHealth(schemas: Schemas): Operation[] {
  return (['healthz', 'readyz'] as const).map((id) => {
    const path = `/${id}`;
    const item = describeOperation(schemas, id, path, ownPages[id]);
    return { method: 'GET', path, item: { ...item, tags: [tags.public], security: [] } };
  });
}

/** One entry for each path, with all its methods. */
function groupByPath(operations: readonly Operation[]): Json {
  const paths: Record<string, Json> = {};
  for (const { method, path, item } of operations)
    paths[path] = { ...paths[path], [method.toLowerCase()]: item };
  return paths;
}

/** A part that fails to describe itself is left out of the document; all others remain. */
async function tolerateFailure(
  { logger }: Host,
  described: string,
  operations: Promise<Operation[]>,
): Promise<Operation[]> {
  try {
    return await operations;
  } catch (error) {
    logger.warn({ error, described }, 'left out of /openapi.json: it fails to describe itself');
    return [];
  }
}

/** One operation per turn of the event loop: calls that run must not wait for the whole document. */
async function listOperations(
  schemas: Schemas,
  host: Host,
  protocols: readonly Protocol[],
  audience: Audience,
): Promise<Operation[]> {
  const groups: Operation[][] = [];
  for (const protocol of protocols)
    groups.push(await tolerateFailure(host, protocol.name, describeCalls(schemas, host, protocol)));
  for (const routes of groupRoutes(host.routes.list(), audience === 'operators')) {
    groups.push(await tolerateFailure(host, routes[0].name, describeRoutes(schemas, host, routes)));
    await nextTurn();
  }
  return [...groups.flat(), ...describeHealth(schemas)];
}

const about =
  'A model is named `<owner>/<name>`, and every protocol reaches every model. ' +
  'Unknown fields of a request pass on to vendors that speak its protocol.';

export async function buildDocument(host: Host, audience: Audience): Promise<Json> {
  const schemas = new Schemas();
  const protocols = audience === 'operators' ? [] : [...host.protocols.list()];
  const operations = await listOperations(schemas, host, protocols, audience);
  const used = new Set(operations.flatMap(({ item }) => item.tags));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tollgate',
      version: '1',
      summary:
        'A gateway in front of generative models: any client protocol, any provider, every token paid for.',
      description: about,
    },
    servers: [{ url: '/' }],
    tags: [...protocols.map(({ name }) => name), ...Object.values(tags)]
      .filter((name) => used.has(name))
      .map((name) => ({ name })),
    paths: groupByPath(operations),
    components: {
      schemas: schemas.getComponents(),
      headers: Object.fromEntries(
        Object.entries(callHeaders).map(([name, description]) => [
          name,
          { description, schema: { type: 'string' } },
        ]),
      ),
      securitySchemes: mergeSchemes(host),
    },
  };
}

/** The credentials a client may show, as OpenAPI names them. */
function mergeSchemes({ credentials }: Host): Json {
  return Object.assign({}, ...[...credentials.list()].map(({ openapi }) => openapi));
}

/** Any one of these credentials is enough at an address of this family. */
function listCredentials({ credentials }: Host, family: string): Json[] {
  const taken = [...credentials.list()].filter(({ families }) => families?.includes(family) ?? true);
  return taken.flatMap(({ openapi }) => Object.keys(openapi).map((name) => ({ [name]: [] })));
}
