/**
 * The door: Koa takes HTTP in, an exchange goes out. Calls of a protocol are read as raw bytes and walk the
 * pipeline; everything else is a route of a plugin's, or health.
 */
import type { IncomingMessage } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import { LRUCache } from 'lru-cache';
import type { Core } from './core.ts';
import { arriveBy } from './dispatch.ts';
import { GatewayError } from './errors.ts';
import type { Received } from './exchange.ts';
import { admitted } from './http/access.ts';
import { refuseCompressed, wrongBody, type Share } from './http/bodies.ts';
import { clientAddress } from './http/client-address.ts';
import { parseJson, type ReadBody } from './http/json-body.ts';
import { closeListener, listen, urlOf, type Address } from './http/listener.ts';
import { faultsOf } from './http/readiness.ts';
import { Reply } from './http/reply.ts';
import { headersNaming, timeOrderedId } from './http/request-id.ts';
import { replyOf } from './http/route-reply.ts';
import { PageRequest, routeRequest, withBody } from './http/route-request.ts';
import { isUpload, readUpload } from './http/uploads.ts';
import { runCall } from './pipeline.ts';
import type { Route, RouteReply } from './plugin.ts';
import type { ErrorReply, Match, Operation, Protocol } from './protocol.ts';
import { Cancellation } from './util/cancellation.ts';

/** A door serves either all calls and the routes that are not for operators, or the routes for operators and those that are everywhere. */
export type Audience = 'everyone' | 'operators';

export interface Door {
  readonly url: string;
  /** From the next request on another gateway answers. */
  serve(core: Core): void;
  /** Stops listening and waits for the calls that run. */
  close(): Promise<void>;
  /** Breaks off every connection there still is. */
  cut(): void;
}

/** Opens a door on an address. */
export async function openDoor(core: Core, address: Address, audience: Audience = 'everyone'): Promise<Door> {
  let answer = answerOf(core, audience);
  const server = await listen(address, (request, response) => void answer(request, response), core.logger);
  return {
    url: urlOf(server, address.host),
    serve(next) {
      answer = answerOf(next, audience);
    },
    close: () => closeListener(server),
    cut: () => server.closeAllConnections(),
  };
}

/** Errors of a connection that its client broke off. */
const broken = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'HPE_INVALID_EOF_STATE',
]);

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && broken.has(String(error.code));
}

function answerOf(core: Core, audience: Audience): ReturnType<Koa['callback']> {
  const app = new Koa();
  app.on('error', (error: unknown, context?: Koa.Context) => {
    if (isGone(error))
      return core.logger.debug(
        { method: context?.method, path: context?.path },
        'a client broke its connection',
      );
    const id = timeOrderedId();
    core.logger.error(
      { error, request: id, method: context?.method, path: context?.path },
      'a request failed outside the walk',
    );
    // Koa takes every header away but those an error brings.
    if (error instanceof Error) Object.assign(error, { headers: headersNaming(id) });
  });
  const pages: Pages = new LRUCache({ max: mostPages });
  app.use(knownPages(core, pages));
  if (audience === 'everyone') app.use(protocolCalls(core));
  const router = routesOf(core, audience, pages);
  app.use(router.routes());
  app.use((context) => {
    const id = timeOrderedId();
    const { status, body } = strayReply(core, context, id);
    context.status = status;
    context.set(headersNaming(id));
    context.body = body;
  });
  const answer = app.callback();
  return async (request, response) => {
    await answer(request, response);
    // A client that takes nothing of what is left of a page must not keep its connection for ever.
    if (response.writableLength > 0) response.setTimeout(core.longestStall);
  };
}

/** Public pages are asked for again and again at the same addresses: which route answers one is looked for once. */
type Pages = LRUCache<string, { readonly route: Route; readonly params: Record<string, string> }>;
const mostPages = 1000;

function knownPages(core: Core, pages: Pages): Koa.Middleware {
  return (context, next) => {
    const page = context.method === 'GET' ? pages.get(context.path) : undefined;
    return page ? sendRoute(core, page.route, context, page.params) : next();
  };
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
  const received = arriveBy(
    new Arrival(core, context, protocol.name, match.operation),
    context.req,
    context.res,
  );
  context.res.on('close', () => {
    if (!context.res.writableFinished) received.cancellation.cancel();
  });
  const reply = new Reply(context.res, received.id, core);
  const halfClosed = (): void => reply.probe(context.req.httpVersion, protocol.client.keepAlive);
  context.req.socket.once('end', halfClosed);
  const share = core.bodies.share();
  const running = core.calls.begin(received);
  try {
    await runCall(core, received, {
      protocol,
      match,
      reply,
      body: () => readCall(core, context, protocol, match, share),
    });
  } finally {
    context.req.socket.off('end', halfClosed);
    core.calls.end(running);
    share.giveBack();
  }
}

/** The body of a call: JSON, or a form where one is taken. Whatever is said to be no form is read as JSON, since many clients do not say what they send. */
async function readCall(
  core: Core,
  context: Koa.Context,
  protocol: Protocol,
  match: Match,
  share: Share,
): Promise<ReadBody> {
  const isForm = isUpload(context.req.headers);
  if (isForm && (match.body ?? protocol.body) === 'json') throw wrongBody('application/json');
  if (!isForm && match.body === 'multipart') throw wrongBody('multipart/form-data');
  refuseCompressed(context.req);
  core.replies.checkRoom();
  if (!isForm) return parseJson(await share.read(context.req));
  // How long a form is, its own files say only when it is there.
  share.take(Math.min(Number(context.req.headers['content-length'] ?? Infinity), core.bodies.limit));
  const form = await readUpload(context, core.bodies.limit, core.uploadFolder);
  const text = JSON.stringify(form.fields);
  return { bytes: Buffer.from(text), text, value: form };
}

/**
 * The head of a request. A class and not a literal: an accessor in a literal gives every object a shape of its own.
 * The later fields have their places from the start, since an object that grows on its way is slow to make and to read.
 */
class Arrival implements Received {
  readonly id: string;
  readonly receivedAt = Date.now();
  readonly startedAt = performance.now();
  readonly family: string;
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly cancellation = new Cancellation();
  readonly principal = undefined;
  readonly protocol = undefined;
  readonly bytes = undefined;
  readonly text = undefined;
  readonly call = undefined;
  readonly canonical = undefined;
  readonly record = undefined;
  readonly targets = undefined;
  readonly grant = undefined;
  readonly attempt = undefined;
  readonly #logger: Core['logger'];
  readonly #querystring: string;
  readonly #remote: string;
  readonly #proxies: number;

  constructor(core: Core, context: Koa.Context, family: string, operation: Operation, id = timeOrderedId()) {
    this.id = id;
    this.family = family;
    this.operation = operation;
    this.method = context.method;
    this.path = context.path;
    this.headers = context.req.headers;
    this.#logger = core.logger;
    this.#querystring = context.querystring;
    this.#remote = context.req.socket.remoteAddress ?? '';
    this.#proxies = core.trustedProxies;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#querystring);
  }

  get logger(): Core['logger'] {
    return this.#logger.child({ call: this.id });
  }

  get address(): string {
    return clientAddress(this.headers['x-forwarded-for'], this.#remote, this.#proxies);
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }
}

/** Throws a `PluginError` where a route cannot be put behind its door. */
export function checkRoutes(core: Core): void {
  for (const audience of ['everyone', 'operators'] as const)
    routesOf(core, audience, new LRUCache({ max: 1 }));
}

function routesOf(core: Core, audience: Audience, pages: Pages): Router {
  const router = new Router();
  router.get('/healthz', (context) => {
    context.set(headersNaming(timeOrderedId()));
    context.body = { status: 'ok' };
  });
  router.get('/readyz', (context) => {
    const faults = faultsOf(core);
    context.set(headersNaming(timeOrderedId()));
    context.status = faults.length > 0 ? 503 : 200;
    context.body = faults.length > 0 ? { status: 'not ready', faults } : { status: 'ready' };
  });
  const protocols = audience === 'everyone' ? [...core.protocols.all()] : [];
  for (const route of core.routes.all()) {
    if ((route.access === 'operator') !== (audience === 'operators') && !route.everywhere) continue;
    core.routes.reachable(route, protocols, () =>
      router.register(route.path, [route.method], async (context) => {
        await sendRoute(core, route, context, context.params);
        if (route.access === 'public' && context.method === 'GET' && context.status === 200)
          pages.set(context.path, { route, params: context.params });
      }),
    );
  }
  return router;
}

async function sendRoute(
  core: Core,
  route: Route,
  context: Koa.Context,
  params: Record<string, string>,
): Promise<void> {
  const id = timeOrderedId();
  const { status, headers, body } = await replyOf(core, route, id, () =>
    answerRoute(core, route, context, params, id),
  );
  const { res } = context;
  if (core.calls.draining) res.shouldKeepAlive = false;
  // Text that says what it is Koa would only look at again.
  if (context.method === 'GET' && typeof body === 'string' && body !== '' && headers['content-type']) {
    context.respond = false;
    res
      .writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body), ...headersNaming(id) })
      .end(body);
    return;
  }
  context.status = status;
  context.set({ ...headersNaming(id), ...headers });
  context.body = body;
}

async function answerRoute(
  core: Core,
  route: Route,
  context: Koa.Context,
  params: Record<string, string>,
  id: string,
): Promise<RouteReply> {
  if (route.access !== 'public' || withBody.has(context.method))
    return answerCaller(core, route, context, params, id);
  for (const guard of core.guards.all())
    await guard.admit(
      clientAddress(
        context.req.headers['x-forwarded-for'],
        context.req.socket.remoteAddress ?? '',
        core.trustedProxies,
      ),
    );
  return route.handle(new PageRequest(context, params));
}

async function answerCaller(
  core: Core,
  route: Route,
  context: Koa.Context,
  params: Record<string, string>,
  id: string,
): Promise<RouteReply> {
  if (route.access === 'public') return route.handle(await routeRequest(context, params));
  // Nobody's body is read before it is known whose it is.
  const principal = admitted(
    await core.hooks.authenticate.promise(
      new Arrival(core, context, core.routes.ownerOf(route), 'generate', id),
    ),
    route.access,
  );
  return route.handle(await routeRequest(context, params), principal);
}

/** The reply where nothing is: in the words of the protocol whose clients' base address is the nearest above. Below none there is nobody whose words to use. */
function strayReply({ addresses, protocols }: Core, { method, path }: Koa.Context, id: string): ErrorReply {
  const [base] = addresses
    .filter((address) => path.startsWith(`${address.path}/`))
    .toSorted((one, other) => other.path.length - one.path.length);
  const served = base?.serves === undefined ? '' : `: ${base.serves}`;
  const error = new GatewayError('not_found', `There is nothing at ${method} ${path}${served}.`);
  const protocol = base && protocols.find(base.protocol);
  if (protocol) return protocol.client.encodeError(error, id);
  return {
    status: error.status,
    body: { error: { message: error.message, type: 'invalid_request_error', param: null, code: error.code } },
  };
}
