/** What went wrong between us and a vendor, as the caller may know it, and whether another vendor may do better. */
import { GatewayError, toGatewayError, type ErrorCode } from './errors.ts';
import type { Routed } from './exchange.ts';
import { readText } from './lanes.ts';
import type { Protocol } from './protocol.ts';
import type { UpstreamResponse } from './provider.ts';

const longestErrorBody = 1024 * 1024;

/** A connection that broke is told by why it did: the client's leaving, our deadline, or the vendor. */
export function failureOf(thrown: unknown, { cancellation, attempt }: Routed): GatewayError {
  if (cancellation.cancelled) return new GatewayError('client_gone', 'The client left before the reply was complete.', { cause: thrown });
  if (attempt.cancellation.cancelled) return new GatewayError('timeout', 'The provider did not begin to answer in time.', { cause: thrown });
  if (isSystemError(thrown)) return new GatewayError('upstream_failed', 'The connection to the provider broke before its reply was complete.', { cause: thrown });
  return toGatewayError(thrown);
}

/** Sockets, DNS and undici put a code on their errors; the gateway's own carry theirs under a brand. */
function isSystemError(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name !== 'GatewayError' && 'code' in thrown && typeof thrown.code === 'string';
}

/** What a vendor's refusal means to the caller; its `retry-after` is kept. */
export async function refusedBy(protocol: Protocol, response: UpstreamResponse): Promise<GatewayError> {
  const error = protocol.upstream.decodeError(response.status, await readText(response, longestErrorBody));
  const seconds = Number(response.headers['retry-after']);
  if (!Number.isFinite(seconds) || seconds < 0) return error;
  return new GatewayError(error.code, error.message, { ...error.details, retryAfter: Math.ceil(seconds) });
}

/** A request that is wrong is wrong everywhere; all else concerns this vendor, our key there, or its model. */
const othersMayAnswer: ReadonlySet<ErrorCode> = new Set(['upstream_failed', 'upstream_overloaded', 'rate_limited', 'model_not_found', 'timeout', 'unsupported_parameter']);

export function fallsBack({ code }: GatewayError): boolean {
  return othersMayAnswer.has(code);
}
