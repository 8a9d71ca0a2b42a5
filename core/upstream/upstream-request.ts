/**
 * Builds the request to a provider: its endpoint, headers from an allow-list, and the provider's signature
 * over the finished bytes.
 */
import { boundOutput } from '../billing/cost-bounds.ts';
import type { EncodedBody } from '../crossing/pieces.ts';
import { spliceBytes } from '../crossing/splice.ts';
import type { Routed, Target } from '../exchange.ts';
import type { Loss } from '../loss.ts';
import type { UpstreamRequest } from '../provider.ts';
import { GatewayError } from '../util/errors.ts';

export function buildRequest(
  exchange: Routed,
  encoded: EncodedBody,
): UpstreamRequest | Promise<UpstreamRequest> {
  return exchange.attempt.target.provider.sign(buildUnsigned(exchange, encoded));
}

const noLosses: readonly Loss[] = [];

/** The wishes of a call that this target's provider cannot fulfil: it does not route calls itself. */
export function listLostWishes({ call, attempt }: Routed): readonly Loss[] {
  const { others } = call.preferences;
  if (others === undefined || attempt.target.provider.routes) return noLosses;
  return Object.keys(others).map((name) => ({
    path: `provider.${name}`,
    reason: 'only a provider that routes calls itself knows it',
    code: 'vendor',
  }));
}

/**
 * Reports an output limit that was lowered to what the call is granted. It counts as a loss in the reply, but
 * never refuses the call.
 */
export function reportLoweredLimit(exchange: Routed): readonly Loss[] {
  const { call, grant, attempt } = exchange;
  const { model } = attempt.target;
  const limit = boundOutput(call, model, grant.outputLimit);
  if (limit >= boundOutput(call, model, undefined)) return [];
  return [
    {
      path: getLimitField(exchange),
      reason: `sent as ${limit}, the limit granted to this call`,
      code: 'approximated',
    },
  ];
}

/** The field that the loss names, whether the client set it or not. */
function getLimitField({ protocol, getRequest }: Routed): string {
  const { outputLimit: usual = 'outputLimit' } = protocol.client.fieldNames;
  try {
    return getRequest().names?.outputLimit ?? usual;
  } catch {
    // A body that passes verbatim may be undecodable here.
    return usual;
  }
}

/** What providers that route calls themselves know of `max_price`. */
const routerPrices: ReadonlySet<string> = new Set(['prompt', 'completion', 'request', 'image']);

/**
 * The `provider` object for a provider that routes calls itself. Of the names in it, the provider's own is
 * for the gateway; undefined if nothing is left.
 */
function buildWishes({ call: { preferences }, attempt }: Routed): object | undefined {
  const { order, only, ignore, sort, allow_fallbacks, require_parameters, max_price, others } = preferences;
  const { name } = attempt.target.provider;
  const filterNames = (names: readonly string[] | undefined): readonly string[] | undefined => {
    const left = names?.filter((each) => each !== name);
    return left?.length ? left : undefined;
  };
  const names = { order: filterNames(order), only: filterNames(only), ignore: filterNames(ignore) };
  const prices = Object.entries(max_price ?? {}).filter(
    ([of, price]) => price !== undefined && routerPrices.has(of),
  );
  const wishes = {
    ...names,
    sort,
    allow_fallbacks,
    require_parameters,
    max_price:
      prices.length > 0 ? Object.fromEntries(prices.map(([of, price]) => [of, Number(price)])) : undefined,
    ...others,
  };
  return Object.values(wishes).some((wish) => wish !== undefined) ? wishes : undefined;
}

/** The body with the `provider` object, which neither lane writes. */
function addWishes(exchange: Routed, body: EncodedBody['body']): EncodedBody['body'] {
  const { provider } = exchange.attempt.target;
  const wishes = provider.routes ? buildWishes(exchange) : undefined;
  if (!wishes) return body;
  const bytes = Buffer.from(body);
  return spliceBytes(bytes, bytes.toString(), [{ path: ['provider'], value: wishes }]);
}

export function buildUnsigned(
  exchange: Routed,
  { body, source, contentType, operation }: EncodedBody,
): UpstreamRequest {
  const { call, attempt, headers } = exchange;
  const { provider, protocol } = attempt.target;
  const own = protocol.upstream.buildHeaders(exchange.protocol === protocol ? headers : {});
  const request: UpstreamRequest = {
    method: 'POST',
    url: buildUrl(attempt.target, operation, call.stream),
    headers: {
      ...own,
      'content-type': contentType,
      accept: own.accept ?? (call.stream ? 'text/event-stream' : 'application/json'),
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
    },
    body: addWishes(exchange, body),
    ...(source && { source }),
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
