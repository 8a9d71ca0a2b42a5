import type { Core } from '../core.ts';
/**
 * What a plugin's route answers, made fit to be sent before anything of it is. What cannot be sent is the plugin's
 * fault, and logged with its name.
 */
import { toGatewayError, type GatewayError } from '../errors.ts';
import { PluginError, reasonOf, type Route, type RouteReply } from '../plugin.ts';
import { headersFault, isStatus } from './valid-headers.ts';

export interface SendableReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

const json = 'application/json; charset=utf-8';
/** Statuses of replies that have no body, whatever was answered. */
const bodiless = new Set([204, 205, 304]);

/** Throws where Node could not send it. A reply without a body is told by an empty one: Koa would make a 204 of none, whatever the status. */
function sendable({ status, headers = {}, body }: RouteReply): SendableReply {
  if (!isStatus(status)) throw new TypeError(`the status ${String(status)}, which is none from 200 to 599`);
  const fault = headersFault(headers);
  if (fault !== undefined) throw new TypeError(`headers that cannot be sent: ${fault}`);
  if (body === undefined || body === null || bodiless.has(status)) return { status, headers, body: '' };
  if (typeof body === 'string') return { status, headers, body };
  if (body instanceof Uint8Array)
    return { status, headers, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
  const text: unknown = JSON.stringify(body);
  if (typeof text !== 'string') throw new TypeError(`a body that is no JSON: a ${typeof body}`);
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return { status, headers: isTyped ? headers : { ...headers, 'content-type': json }, body: text };
}

/** What the plugin's function answered, or an error that names the plugin. */
function checked({ routes }: Core, route: Route, by: string, reply: RouteReply | undefined): SendableReply {
  try {
    if (!reply) throw new TypeError('nothing');
    return sendable(reply);
  } catch (error) {
    throw new PluginError(
      routes.ownerOf(route),
      `"${by}" of its route "${route.name}" answered what cannot be sent: ${error instanceof Error ? error.message : reasonOf(error)}`,
      error,
    );
  }
}

/** The reply to a request for a route: what it answers, or what went wrong in its words, or in ours where it has none. */
export async function replyOf(
  core: Core,
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
        plugin: core.routes.ownerOf(route),
      },
      'a route failed',
    );
  try {
    return checked(core, route, 'handle', await answer());
  } catch (error) {
    const told = toGatewayError(error);
    if (told.code === 'internal') log(error);
    try {
      return checked(core, route, 'errors', withWait(route.errors(error, id), told));
    } catch (fault) {
      log(fault);
      const { status, message, code } = toGatewayError(fault);
      return sendable({ status, body: { error: { message, type: 'server_error', param: null, code } } });
    }
  }
}

/** When to come again, where that is known, beside what the route says of it. */
function withWait(reply: RouteReply, { details: { retryAfter } }: GatewayError): RouteReply {
  return retryAfter === undefined
    ? reply
    : { ...reply, headers: { 'retry-after': String(Math.ceil(retryAfter)), ...reply.headers } };
}
