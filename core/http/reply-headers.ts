/** Builds and checks the headers of replies, and sends errors in the format of the client's protocol. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Routed } from '../exchange.ts';
import { formatPaths, type Loss } from '../loss.ts';
import type { ClientCall } from '../protocol.ts';
import { getMessage, type GatewayError } from '../util/errors.ts';
import type { Call } from './arrival.ts';
import type { Reply } from './reply.ts';

/** Tells proxies not to store, transform or buffer a stream. */
export function buildStreamHeaders(
  { framing }: ClientCall,
  type = framing === 'array' ? 'application/json; charset=utf-8' : 'text/event-stream; charset=utf-8',
): Record<string, string> {
  return { 'content-type': type, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };
}

/** The reply header that names the model that answered. */
export const modelHeader = 'x-tollgate-model';

/** Names the provider, the model, the attempt and the losses. An estimate is only marked as one. */
export function buildReplyHeaders(
  { attempt, call, grant }: Routed,
  losses: readonly Loss[],
  estimated: boolean,
  type?: string,
): Record<string, string> {
  return {
    ...grant.headers,
    ...(call.stream || type ? buildStreamHeaders(call, type) : { 'content-type': 'application/json' }),
    ...(estimated
      ? { 'x-tollgate-estimate': 'true' }
      : { 'x-tollgate-provider': attempt.target.provider.name, [modelHeader]: attempt.target.model.id }),
    'x-tollgate-attempts': String(attempt.number),
    ...(losses.length > 0 ? { 'x-tollgate-dropped': formatPaths(losses.map(({ path }) => path)) } : {}),
  };
}

/** Names the fields that the client left out and the gateway filled in. An error has the header, too. */
export function noteDefaulted(reply: Reply, { defaulted }: ClientCall): void {
  if (defaulted?.length) reply.setHead(200, { 'x-tollgate-defaulted': formatPaths(defaulted) });
}

/** `retry-after` in seconds for a rate-limited client if no provider states one. */
const defaultRetryAfter = 5;

/** Headers that say whether and when to retry, in addition to the body of the protocol's error. */
export function buildErrorHeaders(error: GatewayError): Record<string, string> {
  const retryAfter =
    error.details.retryAfter ?? (error.code === 'rate_limited' ? defaultRetryAfter : undefined);
  return {
    ...error.details.headers,
    'content-type': 'application/json',
    ...(error.retry ? {} : { 'x-should-retry': 'false' }),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) }),
  };
}

/** Ends a reply with an error: as status and body if nothing was sent, otherwise inside the stream. */
export function sendError(
  { reply, protocol, match }: Call & { readonly reply: Reply },
  error: GatewayError,
  call?: ClientCall,
): void {
  if (reply.started && call) return reply.finish(protocol.client.encodeStreamError(error, call, false));
  const { status, body } = protocol.client.encodeError(error, reply.id, match);
  reply.setHead(status, buildErrorHeaders(error));
  reply.finish(JSON.stringify(body));
}

/** Why Node cannot send headers: it would throw in the middle of a reply. Undefined if it can. */
export function findHeaderFault(headers: object): string | undefined {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return undefined;
  } catch (error) {
    return getMessage(error);
  }
}

export function isStatus(status: unknown): boolean {
  return typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
}
