/** What all routes for operators share: uncached JSON, errors in one shape, strict reading of input. */
import { z } from 'zod';
import { GatewayError, toGatewayError, type Content, type RouteReply } from '../../core/index.ts';

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

export function describeJson(schema: z.ZodType): Content {
  return { 'application/json': schema };
}

/** The body of errors, for the OpenAPI document. */
export const operatorError = z
  .object({ error: z.object({ code: z.string(), message: z.string(), param: z.string().nullable() }) })
  .meta({ title: 'OperatorError' });

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
