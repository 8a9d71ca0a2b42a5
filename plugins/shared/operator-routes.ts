/** What all routes for operators share: uncached JSON, errors in one shape, strict reading of input. */
import type { z } from 'zod';
import {
  GatewayError,
  toGatewayError,
  type Description,
  type Principal,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../core/index.ts';

/** Secrets and balances must not be kept by a cache. */
export const noStore = { 'cache-control': 'no-store' };

export function buildReply(body: unknown, status = 200): RouteReply {
  return { status, headers: noStore, body };
}

export function buildErrorReply(error: unknown): RouteReply {
  const { code, message, status, details } = toGatewayError(error);
  const retry = details.retryAfter === undefined ? {} : { 'retry-after': String(details.retryAfter) };
  return {
    status,
    headers: { ...noStore, ...retry },
    body: { error: { code, message, param: details.param ?? null } },
  };
}

/** Throws `invalid_request` with everything that is wrong. */
export function readInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join('.')}: ${message}` : message,
  );
  const [first] = parsed.error.issues;
  const param = first?.code === 'unrecognized_keys' ? first.keys[0] : first?.path.join('.');
  throw new GatewayError('invalid_request', [...new Set(problems)].join('; '), {
    param: param || undefined,
    cause: parsed.error,
  });
}

/** Answers a request; the result is sent as JSON. */
type Handle = (request: RouteRequest, principal: Principal) => Promise<object>;

/** Descriptions of routes for the OpenAPI document; their errors have one shape. */
export type Descriptions = Readonly<Record<string, Omit<Description, 'error'>>>;

/**
 * Routes for operators, by method and path: `GET /admin/config`. Their descriptions have the same names, and
 * are loaded when somebody asks for them. `harmless` names the one that changes nothing
 * although it is no GET, so keys that may only read have it too.
 */
export function buildOperatorRoutes(
  handlers: Readonly<Record<string, Handle>>,
  describe: () => Promise<{ readonly descriptions: Descriptions }>,
  harmless?: string,
): Route[] {
  return Object.entries(handlers).map(([name, handle]) => {
    const [verb, path = ''] = name.split(' ');
    return {
      name,
      method: verb === 'GET' ? 'GET' : 'POST',
      path,
      access: 'operator',
      ...(name === harmless ? { changesNothing: true } : {}),
      encodeError: buildErrorReply,
      async describe() {
        const { [name]: description } = (await describe()).descriptions;
        if (!description) throw new Error(`no description of ${name}`);
        return { ...description, error: (await import('./operator-description.ts')).operatorError };
      },
      handle: async (request, principal) => buildReply(await handle(request, principal)),
    };
  });
}
