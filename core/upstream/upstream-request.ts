/**
 * The request a vendor is sent: the address where its provider speaks the protocol, headers from an allow-list and
 * nothing else of the client's, and the provider's signature over the finished bytes.
 */
import { GatewayError } from '../errors.ts';
import type { Routed } from '../exchange.ts';
import type { EncodedBody } from '../lanes.ts';
import type { UpstreamRequest } from '../provider.ts';

export async function requestFor(
  exchange: Routed,
  { body, contentType, operation }: EncodedBody,
): Promise<UpstreamRequest> {
  const { call, attempt, headers } = exchange;
  const { provider, protocol } = attempt.target;
  const endpoint = provider.endpoints[protocol.name];
  if (endpoint === undefined)
    throw new GatewayError('internal', `The provider "${provider.name}" does not speak ${protocol.name}.`);
  const request: UpstreamRequest = {
    method: 'POST',
    url:
      typeof endpoint === 'string'
        ? operation === 'count'
          ? (protocol.count?.addressFor(endpoint) ?? endpoint)
          : endpoint
        : endpoint(attempt.target, operation, call.stream),
    headers: {
      ...protocol.upstream.headers(exchange.protocol === protocol ? headers : {}),
      'content-type': contentType,
      accept: call.stream ? 'text/event-stream' : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
    },
    body,
  };
  return provider.sign(provider.wrap ? provider.wrap(request, attempt.target, operation) : request);
}
