/** Rewrites provider errors for the client: they show the client's name of the model, and never our key. */
import type { Model } from '../model-facts.ts';
import type { UpstreamRequest } from '../provider.ts';
import { GatewayError } from '../util/errors.ts';

/** Headers that carry a credential. */
const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];
const shortestSecret = 6;

/** Removes our credentials from an error text, in case the provider echoes them. */
export function redactSecrets(text: string, { headers }: UpstreamRequest): string {
  const secrets = secretHeaders.flatMap((name) => headers[name]?.split(' ').at(-1) ?? []);
  return secrets.reduce(
    (redacted, secret) =>
      secret.length < shortestSecret ? redacted : redacted.replaceAll(secret, '[redacted]'),
    text,
  );
}

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/**
 * A pattern that finds the provider's name of a model. A plain word counts only in quotes, since it may mean
 * anything.
 */
function buildPattern({ id, upstream }: Model): RegExp {
  const name = escapePattern(upstream);
  if (/^[a-z]+$/i.test(upstream)) return new RegExp(`(?<=['"\`])${name}(?=['"\`])`, 'g');
  const before = id.endsWith(upstream) ? escapePattern(id.slice(0, -upstream.length)) : '';
  return new RegExp(`(?<![\\w-]${before ? `|${before}` : ''})${name}(?![\\w-]|\\.\\w)`, 'g');
}

function replaceDeep(value: unknown, pattern: RegExp, id: string): unknown {
  if (typeof value === 'string') return value.replace(pattern, () => id);
  if (Array.isArray(value)) return value.map((each) => replaceDeep(each, pattern, id));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, replaceDeep(each, pattern, id)]),
  );
}

/** Replaces the provider's name of the model with the client's. */
export function renameModel(error: GatewayError, model: Model): GatewayError {
  const { code, message, details } = error;
  const { vendor } = details;
  if (!vendor || model.upstream === model.id) return error;
  const pattern = buildPattern(model);
  const body =
    vendor.body &&
    Object.fromEntries(
      Object.entries(vendor.body).map(([name, value]) => [name, replaceDeep(value, pattern, model.id)]),
    );
  return new GatewayError(
    code,
    message.replace(pattern, () => model.id),
    { ...details, vendor: { ...vendor, body } },
  );
}
