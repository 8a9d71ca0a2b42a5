/**
 * The door: Koa takes HTTP in, an exchange goes out. Calls of a protocol are read as raw bytes and walk the
 * pipeline; everything else is a route of a plugin's, or health.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { randomUUID } from 'node:crypto';
import Router from '@koa/router';
import Koa from 'koa';
import { Cancellation } from './cancellation.ts';
import { arriveBy } from './dispatch.ts';
import { GatewayError, toGatewayError } from './errors.ts';
import type { Principal, Received } from './exchange.ts';
import type { Core } from './gateway.ts';
import { walk } from './pipeline.ts';
import type { Route, RouteReply } from './plugin.ts';
import type { Match, Operation, Protocol } from './protocol.ts';
import { Reply } from './reply.ts';

/** Milliseconds and bytes within which a client has to speak; Node's own defaults are either looser or shorter than a load balancer's. */
const listenerLimits = { headersTimeout: 15_000, requestTimeout: 120_000, keepAliveTimeout: 75_000, maxHeaderSize: 32 * 1024 };

export interface Door {
  readonly url: string;
  /** Stops listening and waits for the calls that run. */
  close(): Promise<void>;
}

/** Opens the door on an address; port 0 takes any free one. */
export async function openDoor(core: Core, address: { readonly host: string; readonly port: number }): Promise<Door> {
  const app = new Koa();
  app.on('error', (error: unknown) => core.logger.error({ error }, 'a request failed outside the walk'));
  app.use(protocolCalls(core));
  const router = routesOf(core);
  app.use(router.routes());
  app.use((context) => {
    context.status = 404;
    context.body = neutralError(new GatewayError('not_found', `There is nothing at ${context.method} ${context.path}.`));
  });
  const server = createServer(listenerLimits, app.callback());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  return { url: urlOf(server, address.host), close: () => closeServer(server) };
}

function urlOf(server: Server, host: string): string {
  const bound = server.address();
  return `http://${host.includes(':') ? `[${host}]` : host}:${typeof bound === 'object' && bound ? bound.port : ''}`;
}

function closeServer(server: Server): Promise<void> {
  // A connection whose call was still running becomes idle only later, and would be kept for its next one.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  return new Promise((resolve) => {
    server.close(() => {
      clearInterval(sweep);
      resolve();
    });
  });
}

function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function protocolCalls(core: Core): Koa.Middleware {
  const protocols = [...core.protocols.all()];
  return async (context, next) => {
    const path = decoded(context.path);
    for (const protocol of protocols) {
      const match = protocol.client.match(context.method, path, context.querystring);
      if (match) return takeCall(core, context, protocol, match);
    }
    return next();
  };
}

async function takeCall(core: Core, context: Koa.Context, protocol: Protocol, match: Match): Promise<void> {
  // The reply is written by the walk, with its own back-pressure and its own end.
  context.respond = false;
  const received = arriveBy(new Arrival(core, context, protocol.name, match.operation), context.req, context.res);
  context.res.on('close', () => {
    if (!context.res.writableFinished) received.cancellation.cancel();
  });
  const reply = new Reply(context.res, received.id);
  await walk(core, received, { protocol, match, reply, body: () => readBody(context.req, core.bodyLimit) });
}

/** A UUID of version 7: what the ledger writes in order of time stands together on its disk. */
function timeOrderedId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/**
 * The head of a request. A class and not a literal: an accessor in a literal gives every object a shape of its own.
 * The later fields have their places from the start, since an object that grows on its way is slow to make and to read.
 */
class Arrival implements Received {
  readonly id = timeOrderedId();
  readonly receivedAt = Date.now();
  readonly startedAt = performance.now();
  readonly family: string;
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly logger: Core['logger'];
  readonly cancellation = new Cancellation();
  readonly principal = undefined;
  readonly protocol = undefined;
  readonly text = undefined;
  readonly call = undefined;
  readonly canonical = undefined;
  readonly record = undefined;
  readonly targets = undefined;
  readonly grant = undefined;
  readonly attempt = undefined;
  readonly #querystring: string;

  constructor(core: Core, context: Koa.Context, family: string, operation: Operation) {
    this.family = family;
    this.operation = operation;
    this.method = context.method;
    this.path = context.path;
    this.headers = context.req.headers;
    this.logger = core.logger;
    this.#querystring = context.querystring;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#querystring);
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }
}

/** The whole body of a request. Throws before it holds more than `limit` bytes, and where the body is compressed. */
async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new GatewayError('unsupported_media_type', `The body is sent as "${encoding}"; send it uncompressed.`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= limit) return;
      request.removeAllListeners('data').resume();
      reject(tooLarge(limit));
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', (error) => reject(new GatewayError('client_gone', 'The client left before its request was complete.', { cause: error })));
  });
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError('body_too_large', `The body is larger than the ${limit} bytes this gateway accepts.`);
}

function routesOf(core: Core): Router {
  const router = new Router();
  router.get('/healthz', (context) => {
    context.body = { status: 'ok' };
  });
  router.get('/readyz', (context) => {
    context.body = { status: 'ready' };
  });
  for (const route of core.routes.all()) {
    router.register(route.path, [route.method], async (context) => {
      const { status, headers = {}, body } = await answerRoute(core, route, context);
      context.status = status;
      context.set(headers);
      context.body = body;
    });
  }
  return router;
}

async function answerRoute(core: Core, route: Route, context: Koa.Context & { params: Record<string, string> }): Promise<RouteReply> {
  const received = new Arrival(core, context, route.name, 'generate');
  try {
    const request = { params: context.params, query: received.query, headers: context.req.headers, body: await readRouteBody(context) };
    return route.access === 'public' ? await route.handle(request) : await route.handle(request, await admit(core, received, route.access));
  } catch (error) {
    if (toGatewayError(error).code === 'internal') core.logger.error({ error, route: route.name }, 'a route failed');
    return route.errors(error);
  }
}

async function admit(core: Core, received: Received, access: 'user' | 'operator'): Promise<Principal> {
  const principal = await core.hooks.authenticate.promise(received);
  if (!principal) throw new GatewayError('invalid_api_key', 'No API key was sent. Send `Authorization: Bearer <key>`.');
  if (principal.kind !== access) throw new GatewayError('forbidden', `This address is for ${access} keys.`);
  return principal;
}

const withBody = new Set(['POST', 'PUT', 'PATCH']);

/** The JSON body of a plugin's own route. koa-body is loaded with the first one, since most gateways have none. */
async function readRouteBody(context: Koa.Context): Promise<unknown> {
  if (!withBody.has(context.method)) return undefined;
  const { koaBody } = await import('koa-body');
  try {
    await koaBody({ json: true, urlencoded: false, text: false, multipart: false, jsonLimit: '1mb' })(context, async () => undefined);
  } catch (error) {
    throw new GatewayError('invalid_request', 'The body could not be read as JSON of at most 1 MB.', { cause: error });
  }
  return context.request.body;
}

/** For an address that belongs to no protocol there are no client's words to use. */
function neutralError(error: GatewayError): unknown {
  return { error: { message: error.message, type: 'invalid_request_error', param: null, code: error.code } };
}
