/**
 * Builds the request that a plugin's route receives. koa-body parses the body as JSON, for methods that have
 * one.
 */
import type { IncomingMessage } from 'node:http';
import type { koaBody } from 'koa-body';
import { GatewayError } from '../errors.ts';
import type { Principal } from '../exchange.ts';
import type { RouteRequest } from '../plugin.ts';
import { refuseCompressed, toWrongBodyError } from './bodies.ts';
import { resolveClientAddress } from './client-address.ts';

export type Context = Parameters<ReturnType<typeof koaBody>>[0];

/** A class, so that the query is parsed only for routes that read it. */
export class BodilessRequest implements RouteRequest {
  readonly params: Record<string, string>;
  readonly headers: IncomingMessage['headers'];
  readonly body = undefined;
  readonly text = '';
  readonly principal: Principal | undefined;
  readonly #context: Context;
  readonly #proxies: number;

  constructor(context: Context, params: Record<string, string>, proxies: number, principal?: Principal) {
    this.principal = principal;
    this.params = params;
    this.headers = context.req.headers;
    this.#context = context;
    this.#proxies = proxies;
  }

  get address(): string {
    const remote = this.#context.req.socket.remoteAddress ?? '';
    return resolveClientAddress(this.headers['x-forwarded-for'], remote, this.#proxies);
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#context.querystring);
  }
}

export const methodsWithBody = new Set(['POST', 'PUT', 'PATCH']);

export async function readRouteRequest(
  context: Context,
  params: Record<string, string>,
  proxies: number,
): Promise<RouteRequest> {
  const page = new BodilessRequest(context, params, proxies);
  if (!methodsWithBody.has(context.method)) return page;
  const { body, text } = await readBody(context);
  return { params, query: page.query, headers: page.headers, address: page.address, body, text };
}

/** Reads the JSON body of a route. koa-body is loaded with the first one, since most gateways have none. */
async function readBody(context: Context): Promise<Pick<RouteRequest, 'body' | 'text'>> {
  if (!context.request.length && context.get('transfer-encoding') === '')
    return { body: undefined, text: '' };
  // koa-body would decompress it, and the exact bytes that a signature covers would be lost.
  refuseCompressed(context.req);
  const { koaBody } = await import('koa-body');
  try {
    await koaBody({
      json: true,
      urlencoded: false,
      text: false,
      multipart: false,
      jsonLimit: '1mb',
      includeUnparsed: true,
    })(context, async () => undefined);
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 413)
      throw new GatewayError('body_too_large', 'The body is larger than the 1 MB this endpoint accepts.', {
        cause: error,
      });
    throw new GatewayError('invalid_request', 'The body could not be read as JSON of at most 1 MB.', {
      cause: error,
    });
  }
  const text: unknown = 'rawBody' in context.request ? context.request.rawBody : undefined;
  if (typeof text === 'string') return { body: context.request.body, text };
  throw toWrongBodyError('application/json');
}
