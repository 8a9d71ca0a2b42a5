/** Answers pages with Koa: the routes of plugins, health, and requests that nothing serves. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa from 'koa';
import { LRUCache } from 'lru-cache';
import type { Core } from '../core.ts';
import type { createMatcher } from './arrival.ts';
import { answerUnserved } from './not-found.ts';
import { createRouter, sendRoute, type Audience, type KnownPages } from './page-router.ts';
import { buildIdHeaders, createRequestId } from './request-id.ts';

export interface Pages {
  /** Whether a GET of the path is a page and no call. */
  has(path: string): boolean;
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Answers a request with an error that no protocol or page has answered. */
  fail(request: IncomingMessage, response: ServerResponse, error: unknown): void;
  contextOf(request: IncomingMessage, response: ServerResponse): Koa.Context;
}

const mostPages = 1000;

/** Errors of a connection that its client closed. */
const disconnectCodes = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'HPE_INVALID_EOF_STATE',
]);

function isDisconnect(error: unknown): boolean {
  return error instanceof Error && 'code' in error && disconnectCodes.has(String(error.code));
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

export function createPages(
  core: Core,
  audience: Audience,
  findCall: ReturnType<typeof createMatcher>,
): Pages {
  const app = new Koa();
  app.on('error', (error: unknown, context?: Koa.Context) => {
    if (isDisconnect(error))
      return core.logger.debug(
        { method: context?.method, path: context?.path },
        'a client closed its connection',
      );
    const id = createRequestId();
    core.logger.error(
      { error, request: id, method: context?.method, path: context?.path },
      'a request failed outside the pipeline',
    );
    // Koa removes every header except those that the error carries.
    if (error instanceof Error) Object.assign(error, { headers: buildIdHeaders(id) });
  });
  const known: KnownPages = new LRUCache({ max: mostPages });
  const router = createRouter(core, audience, known);
  const listener = { core, router, findCall, isPublic: audience === 'everyone' };
  app.use((context, next) => {
    const page = context.method === 'GET' ? known.get(context.path) : undefined;
    return page ? sendRoute(core, page.route, context, page.params) : next();
  });
  app.use(router.routes());
  app.use((context) => {
    const id = createRequestId();
    const { status, headers, body } = answerUnserved(listener, context, id);
    context.set({ ...buildIdHeaders(id), ...headers });
    Object.assign(context, { status, body });
  });
  const answer = app.callback();
  return {
    has: (path) => known.has(path),
    async answer(request, response) {
      await answer(request, response);
      // Disconnects a client that stops reading its page.
      if (response.writableLength > 0) response.setTimeout(core.longestStall);
    },
    fail: (request, response, error) => app.createContext(request, response).onerror(toError(error)),
    contextOf: (request, response) => app.createContext(request, response),
  };
}
