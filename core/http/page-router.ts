/** Routes the pages of plugins, and health, on a listener, and answers them. */
import { createRequire } from 'node:module';
import type Router from '@koa/router';
import type Koa from 'koa';
import { LRUCache } from 'lru-cache';
import type { Core } from '../core.ts';
import type { Route } from '../plugin.ts';
import { answerRoute } from './answer-route.ts';
import { findReadinessFaults } from './readiness.ts';
import { buildIdHeaders, createRequestId } from './request-id.ts';
import { buildRouteReply } from './route-reply.ts';
import { isServed } from './routes.ts';

/** The CommonJS build: the other imports all of Node's `http` (see `node-http.ts`). */
const load: (name: '@koa/router') => { readonly Router: typeof Router } = createRequire(import.meta.url);
const { Router: KoaRouter } = load('@koa/router');

/** A server is public (calls and public routes) or for operators (admin routes). A few routes are on both. */
export type Audience = 'everyone' | 'operators';

/** The routes of public pages by path, so that the router runs once per page. */
export type KnownPages = LRUCache<string, { readonly route: Route; readonly params: Record<string, string> }>;

/** Throws a `PluginError` if a route cannot be served. */
export function checkRoutes(core: Core): void {
  for (const audience of ['everyone', 'operators'] as const)
    createRouter(core, audience, new LRUCache({ max: 1 }));
}

/** Sends text, since for an object Koa looks up `Response`, which loads Node's fetch: 18 MB. */
function sendJson(context: Koa.Context, body: object): void {
  context.type = 'json';
  context.body = JSON.stringify(body);
}

export function createRouter(core: Core, audience: Audience, pages: KnownPages): Router {
  const router = new KoaRouter();
  router.get('/healthz', (context) => {
    context.set(buildIdHeaders(createRequestId()));
    sendJson(context, { status: 'ok' });
  });
  router.get('/readyz', (context) => {
    const faults = findReadinessFaults(core);
    context.set(buildIdHeaders(createRequestId()));
    context.status = faults.length > 0 ? 503 : 200;
    sendJson(context, faults.length > 0 ? { status: 'not ready', faults } : { status: 'ready' });
  });
  const protocols = audience === 'everyone' ? [...core.protocols.all()] : [];
  for (const route of core.routes.all()) {
    if (!isServed(route, audience === 'operators')) continue;
    core.routes.register(route, protocols, () =>
      router.register(route.path, [route.method], async (context) => {
        await sendRoute(core, route, context, context.params);
        if (route.access === 'public' && context.method === 'GET' && context.status === 200)
          pages.set(context.path, { route, params: context.params });
      }),
    );
  }
  return router;
}

export async function sendRoute(
  core: Core,
  route: Route,
  context: Koa.Context,
  params: Record<string, string>,
): Promise<void> {
  const id = createRequestId();
  const { status, headers, body } = await buildRouteReply(core, route, id, () =>
    answerRoute({ core, route, context, params, id }),
  );
  const { res } = context;
  if (core.calls.draining) res.shouldKeepAlive = false;
  // Koa would only inspect the text again.
  if (context.method === 'GET' && typeof body === 'string' && body !== '' && headers['content-type']) {
    context.respond = false;
    res
      .writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body), ...buildIdHeaders(id) })
      .end(body);
    return;
  }
  context.status = status;
  context.set({ ...buildIdHeaders(id), ...headers });
  context.body = body;
}
