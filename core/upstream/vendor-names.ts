/** A vendor's error in the client's terms: the client knows the model by another name, and our key not at all. */
import type { Model } from '../catalog.ts';
import { GatewayError } from '../errors.ts';
import type { UpstreamRequest } from '../provider.ts';

/** Headers that carry a credential. */
const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];
const shortestSecret = 6;

/** The text of a refusal without our key, should the vendor repeat it. */
export function withoutSecrets(text: string, { headers }: UpstreamRequest): string {
  const secrets = secretHeaders.flatMap((name) => headers[name]?.split(' ').at(-1) ?? []);
  return secrets.reduce(
    (told, secret) => (secret.length < shortestSecret ? told : told.replaceAll(secret, '[redacted]')),
    text,
  );
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** Finds the vendor's name of a model in a text. A plain word counts only in quotes, since it may mean anything. */
function patternFor({ id, upstream }: Model): RegExp {
  const name = escaped(upstream);
  if (/^[a-z]+$/i.test(upstream)) return new RegExp(`(?<=['"\`])${name}(?=['"\`])`, 'g');
  const before = id.endsWith(upstream) ? escaped(id.slice(0, -upstream.length)) : '';
  return new RegExp(`(?<![\\w-]${before ? `|${before}` : ''})${name}(?![\\w-]|\\.\\w)`, 'g');
}

function replaced(value: unknown, pattern: RegExp, id: string): unknown {
  if (typeof value === 'string') return value.replace(pattern, () => id);
  if (Array.isArray(value)) return value.map((each) => replaced(each, pattern, id));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaced(each, pattern, id)]));
}

/** The error with the client's id of the model where the vendor wrote its own name. */
export function inClientNames(error: GatewayError, model: Model): GatewayError {
  const { code, message, details } = error;
  const { vendor } = details;
  if (!vendor || model.upstream === model.id) return error;
  const pattern = patternFor(model);
  const body =
    vendor.body &&
    Object.fromEntries(
      Object.entries(vendor.body).map(([name, value]) => [name, replaced(value, pattern, model.id)]),
    );
  return new GatewayError(
    code,
    message.replace(pattern, () => model.id),
    { ...details, vendor: { ...vendor, body } },
  );
}
