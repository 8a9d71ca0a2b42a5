/**
 * Builds the request that a plugin's route receives. koa-body parses the body as JSON, for methods that have
 * one.
 */
import type { IncomingMessage } from 'node:http';
import type { koaBody } from 'koa-body';
import type { RouteRequest } from '../plugin.ts';
import { GatewayError } from '../util/errors.ts';
import { refuseCompressed, toWrongBodyError } from './bodies.ts';
import { resolveClientAddress } from './client-address.ts';

export type Context = Parameters<ReturnType<typeof koaBody>>[0];

/** A request before its body is read. */
export class RequestToRoute implements RouteRequest {
  readonly params: Record<string, string>;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown = undefined;
  readonly text: string = '';
  readonly #context: Context;
  readonly #proxies: number;

  constructor(context: Context, params: Record<string, string>, proxies: number) {
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

/** Reads the JSON body of a route. koa-body is loaded with the first one, since most gateways have none. */
export async function readBody(context: Context): Promise<Pick<RouteRequest, 'body' | 'text'>> {
  const isEmpty = !context.request.length && context.get('transfer-encoding') === '';
  if (isEmpty || !methodsWithBody.has(context.method)) return { body: undefined, text: '' };
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
