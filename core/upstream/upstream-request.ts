/**
 * Builds the request to a provider: its endpoint, headers from an allow-list, and the provider's signature
 * over the finished bytes.
 */
import { GatewayError } from '../errors.ts';
import type { Routed, Target } from '../exchange.ts';
import type { EncodedBody } from '../lanes.ts';
import type { UpstreamRequest } from '../provider.ts';

export function buildRequest(
  exchange: Routed,
  encoded: EncodedBody,
): UpstreamRequest | Promise<UpstreamRequest> {
  return exchange.attempt.target.provider.sign(buildUnsigned(exchange, encoded));
}

/** The request without the provider's credential. */
export function buildUnsigned(
  exchange: Routed,
  { body, contentType, operation }: EncodedBody,
): UpstreamRequest {
  const { call, attempt, headers } = exchange;
  const { provider, protocol } = attempt.target;
  const request: UpstreamRequest = {
    method: 'POST',
    url: buildUrl(attempt.target, operation, call.stream),
    headers: {
      ...protocol.upstream.buildHeaders(exchange.protocol === protocol ? headers : {}),
      'content-type': contentType,
      accept: call.stream ? 'text/event-stream' : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
    },
    body,
  };
  return provider.wrap ? provider.wrap(request, attempt.target, operation) : request;
}

function buildUrl(target: Target, operation: EncodedBody['operation'], stream: boolean): string {
  const { provider, protocol } = target;
  const endpoint = provider.endpoints[protocol.name];
  if (endpoint === undefined)
    throw new GatewayError('internal', `The provider "${provider.name}" has no ${protocol.name} endpoint.`);
  if (typeof endpoint === 'function') return endpoint(target, operation, stream);
  return (operation === 'count' ? protocol.count?.buildAddress(endpoint) : undefined) ?? endpoint;
}
