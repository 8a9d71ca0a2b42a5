/**
 * `POST /admin/crossing`: what the gateway would send for a call, to each provider of the model and by each
 * wire, with everything lost on the way. `GET /admin/capabilities`: what crosses between all protocols, as
 * the tests measured it. Nothing is sent or charged.
 */
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  splice,
  type Abilities,
  type Description,
  type Host,
  type Match,
  type Protocol,
} from '../../core/index.ts';
import { createDefiner, listOperationRoutes, roles } from '../shared/operations.ts';
import { capabilities, type CrossingPreview } from '../shared/replies/crossing.ts';
import { previewCall } from './crossing/preview.ts';

/** Characters of a body. Each crossing encodes all of it. */
const longestBody = 256 * 1024;

const crossingOrder = z.strictObject({
  /** Name of the client's protocol. */
  protocol: z.string().max(100),
  /** The request, as JSON or as its text. The text keeps every digit as written. */
  body: z.union([
    z.string().max(longestBody, `the body has at most ${longestBody} characters`),
    z.record(z.string(), z.unknown()),
  ]),
  /** Replaces the body's model. */
  model: z.string().min(1).max(300).optional(),
  operation: z.enum(['generate', 'edit', 'count', 'compact']).default('generate'),
  /** Whether the reply is a stream, for protocols whose path says so. Others say so in the body. */
  stream: z.boolean().default(false),
  /** Headers of the client. */
  headers: z.record(z.string().regex(/^[a-z0-9-]{1,100}$/), z.string().max(4000)).default({}),
  /** Whether to show wires too that the provider does not speak. */
  everyWire: z.boolean().default(false),
});

type Order = z.output<typeof crossingOrder>;

interface Endpoint {
  readonly protocol: Protocol;
  readonly match: Match;
  readonly path: string;
  /** Whether the path names the model. */
  readonly named: boolean;
  /** Headers that every client of the protocol sends. */
  readonly headers: Readonly<Record<string, string>>;
}

function selectUsualHeaders(described: Description['headers']): Endpoint['headers'] {
  const usual = Object.entries(described?.shape ?? {}).map(([name, schema]) => [
    name,
    schema.meta()?.default,
  ]);
  return Object.fromEntries(usual.filter(([, value]) => typeof value === 'string'));
}

async function findEndpoint(host: Host, order: Order, model: string): Promise<Endpoint> {
  const protocol = host.protocols.find(order.protocol);
  if (!protocol) {
    const known = [...host.protocols.list()].map(({ name }) => name).join(', ');
    throw new GatewayError('invalid_request', `There is no such protocol; there are: ${known}.`, {
      param: 'protocol',
    });
  }
  for (const { method, path: template, headers } of (await protocol.describeCalls?.()) ?? []) {
    const named = template.includes('{model}');
    const path = template.replace('{model}', () => model);
    const match = protocol.client.match(method, path, 'alt=sse');
    if (match?.operation === order.operation && (match.stream ?? order.stream) === order.stream)
      return { protocol, match, path, named, headers: selectUsualHeaders(headers) };
  }
  throw new GatewayError('invalid_request', `${protocol.name} has no operation "${order.operation}".`, {
    param: 'operation',
  });
}

/** The text of the body, with the chosen model. A body that cannot be parsed stays as it is. */
function buildBody({ body, model }: Order, named: boolean): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (named || model === undefined) return text;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? splice(text, [{ path: ['model'], value: model }]) : text;
  } catch {
    return text;
  }
}

async function preview(host: Host, order: Order): Promise<CrossingPreview> {
  const { named, headers, ...endpoint } = await findEndpoint(host, order, order.model ?? 'unknown/model');
  if (named && order.model === undefined)
    throw new GatewayError('invalid_request', `${order.protocol} names the model in its path: name one.`, {
      param: 'model',
    });
  const call = {
    ...endpoint,
    query: 'alt=sse',
    headers: { ...headers, ...order.headers },
    body: buildBody(order, named),
  };
  return previewCall(host, call, order.everyWire);
}

/** Outcomes by what clients ask for, the client and the wire. */
type Rows = Readonly<Record<string, Readonly<Record<string, Abilities[string]['wires']>>>>;

/** What conversations can ask for is one file, and other protocols bring theirs. */
async function readCapabilities({ protocols }: Host) {
  const { default: groups } = await import('./crossing/capabilities.json', { with: { type: 'json' } });
  const all: Record<string, Rows> = { ...groups };
  for (const { name: client, makes = client, describeAbilities } of protocols.list()) {
    const abilities = Object.entries((await describeAbilities?.()) ?? {});
    if (abilities.length === 0) continue;
    const known = all[makes];
    const rows = abilities.map(([name, { wires }]) => [name, { ...known?.[name], [client]: wires }]);
    all[makes] = { ...known, ...Object.fromEntries(rows) };
  }
  return capabilities.parse({
    groups: Object.entries(all).map(([name, rows]) => ({
      name,
      capabilities: Object.entries(rows).map(([capability, cells]) => ({ name: capability, cells })),
    })),
  });
}

const defineOperation = createDefiner<Host>();

const crossingOperations = [
  defineOperation({
    route: 'POST /admin/crossing',
    summary: 'Show what would be sent for a call',
    details:
      'Shows the request to each provider of the model, by each wire, and what is lost on the way. ' +
      'Nothing is sent, reserved or charged.',
    roles: roles.read,
    input: crossingOrder,
    changesNothing: true,
    run: preview,
  }),
  defineOperation({
    route: 'GET /admin/capabilities',
    summary: 'Show what crosses between the protocols',
    details:
      'Outcomes by capability, the protocol of the client and the wire of the provider, ' +
      'as tests measured them.',
    roles: roles.read,
    run: readCapabilities,
  }),
];

export const crossing = definePlugin({
  name: 'crossing',
  options: z.strictObject({}),
  apply(host) {
    for (const route of listOperationRoutes(crossingOperations, () => host)) host.routes.add(route);
  },
});
