/**
 * The HTTP server: a Koa application. The operator's middleware comes first, then calls of a protocol, which
 * are read as raw bytes and run through the pipeline, then the routes of plugins, and health.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import type { Core } from './core.ts';
import { answerRoute } from './http/answer-route.ts';
import {
  Arrival,
  buildIdHeaders,
  createMatcher,
  createRequestId,
  readTarget,
  type Call,
} from './http/arrival.ts';
import { toWrongBodyError } from './http/bodies.ts';
import { refuseTransferEncoding } from './http/encoded-body.ts';
import { parseJson } from './http/json-body.ts';
import { closeListener, findInheritedSocket, formatUrl, listen, type Address } from './http/listener.ts';
import { HttpReply } from './http/reply.ts';
import { groupRoutes } from './http/routes.ts';
import { answerUnserved } from './not-found.ts';
import type { Readiness } from './plugin.ts';
import type { ReadBody, ReadForm } from './protocol.ts';
import { takeCall } from './take-call.ts';
import { Upgrades } from './upgrades.ts';
import { getMessage, readSystemCode } from './util/errors.ts';
import { releaseAfter } from './util/memory.ts';
import { takeTurn } from './util/turns.ts';

/** A server is public (calls and public routes) or for operators (admin routes). A few routes are on both. */
export type Audience = 'everyone' | 'operators';

export type GatewayServer = Awaited<ReturnType<typeof openServer>>;

export async function openServer(core: Core, address: Address, audience: Audience = 'everyone') {
  const answerNow: RequestListener = (request, response) => answer(request, response);
  const upgrades = new Upgrades(core, answerNow);
  let answer = createHandler(core, audience, upgrades);
  const isPublic = audience === 'everyone';
  const fd = findInheritedSocket(isPublic ? 'public' : 'admin');
  const server = await listen(
    { ...address, fd },
    answerNow,
    core.logger,
    (request) => isPublic && upgrades.takes(request),
  );
  server.on('upgrade', (request, socket, head) => upgrades.receive(request, socket, head));
  return {
    url: formatUrl(server, fd === undefined ? address.host : undefined),
    /** Switches to another gateway from the next request on. */
    serve(next: Core): void {
      answer = createHandler(next, audience, upgrades);
      upgrades.serve(next);
    },
    /** Stops listening and waits for running calls. Idle connections stay open for `grace` milliseconds. */
    close(grace?: number): Promise<void> {
      upgrades.drain();
      return closeListener(server, grace);
    },
    disconnect(): void {
      upgrades.disconnect();
      server.closeAllConnections();
    },
  };
}

/** Errors of a connection that its client closed. */
const disconnectCodes = new Set<string | undefined>([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'HPE_INVALID_EOF_STATE',
]);

function createHandler(core: Core, audience: Audience, upgrades: Upgrades): RequestListener {
  const isPublic = audience === 'everyone';
  const router = createRouter(core, audience);
  const findCall = createMatcher([...core.protocols.list()], isPublic ? [''] : [...core.callPaths]);
  const app = new Koa();
  app.on('error', (error: unknown, context?: Koa.Context) => logFailure(core, error, context));
  // Operators keep their own listener whatever a middleware refuses.
  for (const middleware of isPublic ? core.middleware : []) app.use(middleware);
  app.use((context, next) => (upgrades.isPending(context.req) ? upgrades.answer(context) : next()));
  app.use((context, next) => {
    const call = findCall(context);
    return call ? takeRequest(core, context, call) : next();
  });
  app.use(router.routes());
  const listener = { core, router, findCall, isPublic };
  app.use((context) => {
    const id = createRequestId();
    const { status, headers, body } = answerUnserved(listener, context, id);
    context.set({ ...buildIdHeaders(id), ...headers });
    Object.assign(context, { status, body });
  });
  const answer = app.callback();
  return async (request, response) => {
    request.url = readTarget(request.url ?? '');
    await answer(request, response);
    // Disconnects a client that stops reading its reply.
    if (response.writableLength > 0) response.setTimeout(core.longestStall);
  };
}

function logFailure({ logger }: Core, error: unknown, context?: Koa.Context): void {
  const [method, path] = [context?.method, context?.path];
  if (disconnectCodes.has(readSystemCode(error)) || error === context?.req.socket.errored) {
    // The record of a call says how it ended.
    if (context?.respond !== false) logger.debug({ method, path }, 'a client closed its connection');
    return;
  }
  const id = createRequestId();
  logger.error({ error, request: id, method, path }, 'a request failed outside the pipeline');
  // Koa removes every header except those that the error carries.
  if (error instanceof Error) Object.assign(error, { headers: buildIdHeaders(id) });
}

/** Runs a call. The pipeline writes the reply, with its own back-pressure and end. */
async function takeRequest(core: Core, context: Koa.Context, call: Call): Promise<void> {
  const { req, res } = context;
  const { protocol, match } = call;
  context.respond = false;
  const received = new Arrival(core, context, { family: protocol.name, operation: match.operation });
  const reply = new HttpReply(res, received.id, core);
  res.on('close', () => {
    reply.memory.release();
    if (!res.writableFinished) received.cancellation.cancel();
  });
  // A client that has closed its side may still read. The probe finds out; only `close` cancels the call.
  const probeClient = (): void => reply.probe(req.httpVersion, protocol.client.keepAlive);
  req.socket.on('end', probeClient);
  await takeCall(core, received, {
    protocol,
    match,
    reply,
    async read(share) {
      checkBodyType(req, call);
      refuseTransferEncoding(req);
      const { readForm, largeForms } = protocol.client;
      const bytes = await share.read(req, isForm(req) ? largeForms : undefined);
      if (share.form) return toFormBody(0, share.form.end());
      const turn = takeTurn(bytes.length);
      if (turn) await turn;
      // Anything else is read as JSON, because many clients send no content type.
      return readForm && isForm(req)
        ? toFormBody(bytes.length, readForm(bytes, getType(req)))
        : parseJson(bytes);
    },
  });
  req.socket.off('end', probeClient);
}

function getType({ headers }: IncomingMessage): string {
  return headers['content-type'] ?? '';
}

function isForm(request: IncomingMessage): boolean {
  return /^multipart\/form-data\b/i.test(getType(request));
}

function checkBodyType(request: IncomingMessage, { protocol, match }: Call): void {
  const takesForms = protocol.client.readForm !== undefined && match.body !== 'json';
  if (!takesForms && isForm(request)) throw toWrongBodyError('application/json');
  if (match.body === 'multipart' && !isForm(request)) throw toWrongBodyError('multipart/form-data');
}

async function toFormBody(length: number, reading: Promise<ReadForm>): Promise<ReadBody> {
  const form = await reading;
  releaseAfter(length);
  const text = JSON.stringify(form.fields);
  return { bytes: Buffer.from(text), text, value: form };
}

/** Throws a `PluginError` if a route cannot be served. */
export function checkRoutes(core: Core): void {
  for (const audience of ['everyone', 'operators'] as const) createRouter(core, audience);
}

function createRouter(core: Core, audience: Audience): Router {
  const router = new Router();
  router.get('/healthz', (context) => {
    context.set(buildIdHeaders(createRequestId()));
    context.body = { status: 'ok' };
  });
  router.get('/readyz', (context) => {
    const faults = findReadinessFaults(core);
    context.set(buildIdHeaders(createRequestId()));
    context.status = faults.length > 0 ? 503 : 200;
    context.body = faults.length > 0 ? { status: 'not ready', faults } : { status: 'ready' };
  });
  const protocols = audience === 'everyone' ? [...core.protocols.list()] : [];
  for (const routes of groupRoutes(core.routes.list(), audience === 'operators')) {
    const [{ method, path }] = routes;
    core.routes.register(routes, protocols, () =>
      router.register(path, [method], (context) => answerRoute(core, routes, context)),
    );
  }
  return router;
}

/** Runs a check. A plugin in plain JavaScript may return anything. */
function runCheck(check: Readiness): string | undefined {
  const fault: unknown = check.findFault();
  if (fault === undefined || typeof fault === 'string') return fault;
  // An unhandled rejection would end the process.
  if (fault instanceof Promise) fault.catch(() => undefined);
  const kind = fault instanceof Promise ? 'promise' : typeof fault;
  throw new TypeError(`"fault" must return undefined or a text, synchronously; it returned a ${kind}`);
}

/** The faults that `/readyz` reports. A check that throws is one, and its plugin is named. */
function findReadinessFaults({ calls, readiness, logger }: Core): string[] {
  const faults = [...readiness.list()].flatMap((check) => {
    try {
      const fault = runCheck(check);
      return fault === undefined ? [] : [`${check.name}: ${fault}`];
    } catch (error) {
      const plugin = readiness.getOwner(check);
      logger.error({ error, plugin, readiness: check.name }, 'a readiness check failed');
      return [`${check.name}: the check of the plugin "${plugin}" failed: ${getMessage(error)}`];
    }
  });
  return calls.stopping ? ['the gateway is stopping', ...faults] : faults;
}
