/**
 * Signs with a key that the operator states or refers to. If the vendor refuses a key that is referred to,
 * the reference is read again, and the call shows the next key that it has.
 */
import { LRUCache } from 'lru-cache';
import {
  getMessage,
  GatewayError,
  isReference,
  type Host,
  type Provider,
  type UpstreamRequest,
} from '../../../core/index.ts';
import { plainSecret } from './options.ts';

/** Milliseconds for which a refused key is not shown, if there is another: a new one may not count yet. */
const resting = { max: 32, ttl: 60_000 };

export type Signing = Pick<Provider, 'sign' | 'unwrap' | 'renew'>;

/** Shows the same headers with each request. */
export function signWithHeaders(shown: Readonly<Record<string, string>>): Signing {
  return { sign: (request) => ({ ...request, headers: { ...request.headers, ...shown } }) };
}

export function signWithKey(
  { openSecret, logger }: Pick<Host, 'openSecret' | 'logger'>,
  provider: string,
  text: string,
  build: (key: string) => Readonly<Record<string, string>>,
): Signing {
  if (!isReference(text)) return signWithHeaders(build(text));
  const secret = openSecret(text, plainSecret);
  const refused = new LRUCache<string, true>(resting);
  const show = (request: UpstreamRequest, key: string) => signWithHeaders(build(key)).sign(request);
  const hasKey = ({ headers }: UpstreamRequest, key: string): boolean =>
    Object.entries(build(key)).every(([name, value]) => headers[name] === value);
  return {
    async sign(request) {
      const keys = await Promise.try(() => secret.read()).catch((error: unknown) => {
        const fault = `The key of the provider "${provider}" cannot be read.`;
        throw new GatewayError('upstream_failed', fault, { cause: getMessage(error) });
      });
      return show(request, keys.find((key) => !refused.has(key)) ?? keys[0]);
    },
    async renew(request) {
      const keys: readonly string[] = await secret.renew().catch(() => []);
      const old = keys.find((key) => hasKey(request, key));
      const next = keys.find((key) => key !== old && !refused.has(key));
      if (next === undefined) return undefined;
      if (old !== undefined) refused.set(old, true);
      logger.warn(`${provider} refused a key of ${text}: the next one is shown`);
      return show(request, next);
    },
  };
}

/** Sends a request of the gateway's own, once more if the vendor refuses the key and there is another. */
export async function fetchSigned(
  { sign, renew }: Signing,
  request: UpstreamRequest,
  init: Pick<RequestInit, 'redirect' | 'signal'>,
): Promise<Response> {
  const send = ({ method, url, headers, body }: UpstreamRequest): Promise<Response> =>
    fetch(url, { ...init, method, headers, ...(method === 'GET' ? {} : { body }) });
  const signed = await sign(request);
  const response = await send(signed);
  const again = response.status === 401 ? await renew?.(signed) : undefined;
  if (!again) return response;
  await response.body?.cancel();
  return send(again);
}
