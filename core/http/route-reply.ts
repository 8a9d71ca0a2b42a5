/**
 * Validates and serializes the reply of a plugin's route before any of it is sent. A reply that cannot be
 * sent is the plugin's fault, and is logged with its name.
 */
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { Route, RouteReply } from '../plugin.ts';
import { getMessage, toGatewayError, type GatewayError } from '../util/errors.ts';
import { PluginError } from '../util/plugin-error.ts';
import type { Routes } from './routes.ts';
import { findHeaderFault, isStatus } from './valid-headers.ts';

interface RouteReplyCore {
  readonly routes: Pick<Routes, 'getOwner'>;
  readonly logger: Logger;
}

export interface SendableReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | Readable;
}

const json = 'application/json; charset=utf-8';
/** Statuses of replies without a body. */
const bodiless = new Set([204, 205, 304]);

/**
 * Throws if Node could not send the reply. A missing body becomes '', because Koa turns an undefined body
 * into a 204.
 */
function serializeReply({ status, headers = {}, body }: RouteReply): SendableReply {
  if (!isStatus(status)) throw new TypeError(`the status ${String(status)}, which is not from 200 to 599`);
  const fault = findHeaderFault(headers);
  if (fault !== undefined) throw new TypeError(`headers that cannot be sent: ${fault}`);
  if (body === undefined || body === null || bodiless.has(status)) return { status, headers, body: '' };
  if (typeof body === 'string') return { status, headers, body };
  if (body instanceof Uint8Array)
    return { status, headers, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
  if (body instanceof Readable) return { status, headers, body };
  const text: unknown = JSON.stringify(body);
  if (typeof text !== 'string') throw new TypeError(`a body that is not JSON: a ${typeof body}`);
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return { status, headers: isTyped ? headers : { ...headers, 'content-type': json }, body: text };
}

/** Serializes what a plugin's function returned. Throws an error that names the plugin. */
function checkReply(
  { routes }: RouteReplyCore,
  route: Route,
  by: string,
  reply: RouteReply | undefined,
): SendableReply {
  try {
    if (!reply) throw new TypeError('nothing');
    return serializeReply(reply);
  } catch (error) {
    const text = `"${by}" of its route "${route.name}" returned ${getMessage(error)}`;
    throw new PluginError(routes.getOwner(route), text, error);
  }
}

/**
 * The reply of a route: what its handler returns, or its own error reply. If that fails too, a generic error.
 */
export async function buildRouteReply(
  core: RouteReplyCore,
  route: Route,
  id: string,
  answer: () => Promise<RouteReply>,
): Promise<SendableReply> {
  const log = (error: unknown): void =>
    core.logger.error(
      {
        error,
        request: id,
        method: route.method,
        path: route.path,
        route: route.name,
        plugin: core.routes.getOwner(route),
      },
      'a route failed',
    );
  try {
    return checkReply(core, route, 'handle', await answer());
  } catch (error) {
    const refusal = toGatewayError(error);
    if (refusal.code === 'internal') log(error);
    try {
      return checkReply(core, route, 'encodeError', addHeaders(route.encodeError(error, id), refusal));
    } catch (fault) {
      log(fault);
      const { status, message, code } = toGatewayError(fault);
      return serializeReply({
        status,
        body: { error: { message, type: 'server_error', param: null, code } },
      });
    }
  }
}

/** Adds the error's headers, and `retry-after` if it is known, unless the route set them. */
function addHeaders(reply: RouteReply, { details: { headers, retryAfter } }: GatewayError): RouteReply {
  if (!headers && retryAfter === undefined) return reply;
  const known = retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) };
  return { ...reply, headers: { ...headers, ...known, ...reply.headers } };
}
