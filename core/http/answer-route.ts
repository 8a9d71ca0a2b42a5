/**
 * Answers the routes of plugins with Koa: authenticates as the route asks, reads the body, calls its handler,
 * and checks its reply before any of it is sent. A reply that cannot be sent is the plugin's fault, and is
 * logged with its name.
 */
import { Readable } from 'node:stream';
import type { koaBody } from 'koa-body';
import type { Principal } from '../exchange.ts';
import type { CoreHooks } from '../hooks.ts';
import type { Guard, Route, RouteReply, RouteRequest } from '../plugin.ts';
import type { Protocol } from '../protocol.ts';
import { GatewayError, getMessage, toGatewayError } from '../util/errors.ts';
import { PluginError } from '../util/plugin-error.ts';
import type { Registry } from '../util/registry.ts';
import { checkPermits, requireAccess } from './access.ts';
import {
  Arrival,
  buildIdHeaders,
  createRequestId,
  resolveClientAddress,
  type ListenerFacts,
} from './arrival.ts';
import { dropBody, toWrongBodyError } from './bodies.ts';
import { refuseEncodings, refuseTransferEncoding } from './encoded-body.ts';
import { findHeaderFault, isStatus } from './reply-headers.ts';
import { chooseRoute, type Routes, type SharedRoutes } from './routes.ts';

interface RouteCore extends ListenerFacts {
  readonly hooks: Pick<CoreHooks, 'authenticate'>;
  readonly protocols: Pick<Registry<Protocol>, 'list' | 'getOwner'>;
  readonly routes: Pick<Routes, 'getOwner'>;
  readonly guards: Pick<Registry<Guard>, 'list'>;
  readonly calls: { readonly stopping: boolean };
}

type Context = Parameters<ReturnType<typeof koaBody>>[0] & { readonly params?: Record<string, string> };

/** A request before its body is read. */
function buildRequest({ params = {}, req, querystring }: Context, proxies: number): RouteRequest {
  const { headers, socket } = req;
  return {
    params,
    query: new URLSearchParams(querystring),
    headers,
    body: undefined,
    text: '',
    address: resolveClientAddress(headers['x-forwarded-for'], socket.remoteAddress ?? '', proxies),
  };
}

interface Asked {
  readonly core: RouteCore;
  readonly route: Route;
  readonly context: Context;
  readonly request: RouteRequest;
  readonly id: string;
}

export async function answerRoute(core: RouteCore, routes: SharedRoutes, context: Context): Promise<void> {
  const request = buildRequest(context, core.trustedProxies);
  const asked = { core, route: chooseRoute(routes, request), context, request, id: createRequestId() };
  const { status, headers, body } = await buildReply(asked);
  if (core.calls.stopping) context.res.shouldKeepAlive = false;
  context.status = status;
  context.set({ ...buildIdHeaders(asked.id), ...headers });
  context.body = body;
}

/** What the handler returns, or the route's own error reply. If that fails too, a generic error. */
async function buildReply(asked: Asked): Promise<SendableReply> {
  const { route, id } = asked;
  try {
    return checkReply(asked, 'handle', await callHandler(asked));
  } catch (error) {
    const refusal = toGatewayError(error);
    if (refusal.code === 'internal') logFault(asked, error);
    try {
      return checkReply(asked, 'encodeError', addHeaders(route.encodeError(error, id), refusal));
    } catch (fault) {
      logFault(asked, fault);
      const { status, message, code } = toGatewayError(fault);
      return serializeReply({
        status,
        body: { error: { message, type: 'server_error', param: null, code } },
      });
    }
  }
}

function logFault({ core, route, id }: Asked, error: unknown): void {
  const { method, path, name } = route;
  const plugin = core.routes.getOwner(route);
  core.logger.error({ error, request: id, method, path, route: name, plugin }, 'a route failed');
}

const mostDiscarded = 8 * 1024 * 1024;
const methodsWithBody = new Set(['POST', 'PUT', 'PATCH']);

async function callHandler(asked: Asked): Promise<RouteReply> {
  const { core, route, context, request } = asked;
  if (route.access !== 'public') {
    // The caller is authenticated before the body is read.
    const method = route.changesNothing ? 'GET' : context.method;
    const { access, roles } = route;
    const principal = requireAccess(await authenticate(asked, access), access, method, roles);
    checkPermits(principal, describeUse(asked));
    return route.handle({ ...request, ...(await readBody(route, context)) }, principal);
  }
  if (methodsWithBody.has(context.method))
    return route.handle({ ...request, ...(await readBody(route, context)) });
  for (const guard of core.guards.list()) await guard.admit(request.address);
  return route.handle(route.personal ? { ...request, principal: await identify(asked) } : request);
}

function authenticate(
  { core, route, context, id }: Asked,
  access: Principal['kind'],
): Promise<Principal | undefined> | Principal | undefined {
  const family = core.routes.getOwner(route);
  return core.hooks.authenticate.promise(
    new Arrival(core, context, { family, operation: 'generate', access }, id),
  );
}

/** The route of a plugin with a protocol belongs to that protocol. */
function describeUse({ core: { protocols, routes }, route, request: { address } }: Asked) {
  const owner = routes.getOwner(route);
  const family = [...protocols.list()].find((each) => protocols.getOwner(each) === owner)?.name;
  return { address, family, operation: route.operation };
}

/**
 * The user whose key came with a public route; undefined without a key that is valid. Throws if the key is
 * valid elsewhere.
 */
async function identify(asked: Asked): Promise<Principal | undefined> {
  let principal: Principal | undefined;
  try {
    principal = await authenticate(asked, 'user');
  } catch {
    return undefined;
  }
  if (principal?.kind !== 'user') return undefined;
  checkPermits(principal, describeUse(asked));
  return principal;
}

/** Reads the JSON body of a route. koa-body is loaded with the first one, since most gateways have none. */
async function readBody(
  { discardsBody, takesForm }: Route,
  context: Context,
): Promise<Pick<RouteRequest, 'body' | 'text'>> {
  const isEmpty = !context.request.length && context.get('transfer-encoding') === '';
  if (isEmpty || !methodsWithBody.has(context.method)) return { body: undefined, text: '' };
  if (discardsBody) {
    refuseTransferEncoding(context.req);
    await dropBody(context.req, mostDiscarded);
    return { body: undefined, text: '' };
  }
  // koa-body would decompress it, and the exact bytes that a signature covers would be lost.
  refuseEncodings(context.req);
  const { koaBody } = await import('koa-body');
  try {
    await koaBody({
      json: true,
      urlencoded: takesForm === true,
      text: false,
      multipart: false,
      jsonLimit: '1mb',
      formLimit: '64kb',
      includeUnparsed: true,
    })(context, async () => undefined);
  } catch (error) {
    const most = takesForm ? '64 kB' : '1 MB';
    if (error instanceof Error && 'status' in error && error.status === 413)
      throw new GatewayError('body_too_large', `The body is larger than the ${most} this endpoint accepts.`, {
        cause: error,
      });
    const form = takesForm ? 'a form' : 'JSON';
    throw new GatewayError('invalid_request', `The body could not be read as ${form} of at most ${most}.`, {
      cause: error,
    });
  }
  const text: unknown = 'rawBody' in context.request ? context.request.rawBody : undefined;
  if (typeof text === 'string') return { body: context.request.body, text };
  throw toWrongBodyError(takesForm ? 'application/x-www-form-urlencoded' : 'application/json');
}

interface SendableReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | Readable;
}

const json = 'application/json; charset=utf-8';
/** Statuses of replies without a body. */
const bodiless = new Set([204, 205, 304]);

/** Serializes what a plugin's function returned. Throws an error that names the plugin. */
function checkReply({ core, route }: Asked, by: string, reply: RouteReply | undefined): SendableReply {
  try {
    if (!reply) throw new TypeError('nothing');
    return serializeReply(reply);
  } catch (error) {
    const text = `"${by}" of its route "${route.name}" returned ${getMessage(error)}`;
    throw new PluginError(core.routes.getOwner(route), text, error);
  }
}

/** Throws if Node could not send the reply. A missing body becomes '': of undefined Koa makes a 204. */
function serializeReply({ status, headers = {}, body }: RouteReply): SendableReply {
  if (!isStatus(status)) throw new TypeError(`the status ${String(status)}, which is not from 200 to 599`);
  const fault = findHeaderFault(headers);
  if (fault !== undefined) throw new TypeError(`headers that cannot be sent: ${fault}`);
  if (body === undefined || body === null || bodiless.has(status)) return { status, headers, body: '' };
  if (typeof body === 'string' || body instanceof Readable) return { status, headers, body };
  if (body instanceof Uint8Array)
    return { status, headers, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
  const text: unknown = JSON.stringify(body);
  if (typeof text !== 'string') throw new TypeError(`a body that is not JSON: a ${typeof body}`);
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return { status, headers: isTyped ? headers : { ...headers, 'content-type': json }, body: text };
}

/** Adds the error's headers, and `retry-after` if it is known, unless the route set them. */
function addHeaders(reply: RouteReply, { details: { headers, retryAfter } }: GatewayError): RouteReply {
  if (!headers && retryAfter === undefined) return reply;
  const known = retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) };
  return { ...reply, headers: { ...headers, ...known, ...reply.headers } };
}
