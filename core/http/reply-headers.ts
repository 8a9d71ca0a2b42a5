/** The headers of what clients are sent, and errors in the words of their protocol. */
import type { GatewayError } from '../errors.ts';
import type { Routed } from '../exchange.ts';
import { lossHeader, type Loss } from '../loss.ts';
import type { ClientCall, Match, Protocol } from '../protocol.ts';
import type { Reply } from './reply.ts';

/** Proxies on the way must neither store nor rework nor gather a stream. */
export function streamHead({ framing }: ClientCall): Record<string, string> {
  const type = framing === 'array' ? 'application/json; charset=utf-8' : 'text/event-stream; charset=utf-8';
  return { 'content-type': type, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };
}

/** Names the model that answered, in the head of a reply. */
export const modelHeader = 'x-tollgate-model';

/** Who answered, at which attempt, and what of the request got lost on the way; of an estimate only that it is one. */
export function answerHead(
  { attempt, call, grant }: Routed,
  losses: readonly Loss[],
  estimated: boolean,
): Record<string, string> {
  return {
    ...grant.headers,
    ...(call.stream ? streamHead(call) : { 'content-type': 'application/json' }),
    ...(estimated
      ? { 'x-tollgate-estimate': 'true' }
      : { 'x-tollgate-provider': attempt.target.provider.name, [modelHeader]: attempt.target.model.id }),
    'x-tollgate-attempts': String(attempt.number),
    ...(losses.length > 0 ? { 'x-tollgate-dropped': lossHeader(losses) } : {}),
  };
}

/** Seconds after which a client may come again that called too often, where nobody knows better. */
const usualPause = 5;

/** How a client is told whether to come again, beside the body its protocol has for the error. */
function errorHead(error: GatewayError): Record<string, string> {
  const retryAfter = error.details.retryAfter ?? (error.code === 'rate_limited' ? usualPause : undefined);
  return {
    ...error.details.headers,
    'content-type': 'application/json',
    ...(error.retry ? {} : { 'x-should-retry': 'false' }),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) }),
  };
}

/** Ends a reply with an error: as status and body while nothing was sent, inside the stream afterwards. */
export function sendError(
  reply: Reply,
  protocol: Protocol,
  error: GatewayError,
  match: Match,
  call?: ClientCall,
): void {
  if (reply.started && call) return reply.finish(protocol.client.encodeStreamError(error, call, false));
  const { status, body } = protocol.client.encodeError(error, reply.id, match);
  reply.head(status, errorHead(error));
  reply.finish(JSON.stringify(body));
}
