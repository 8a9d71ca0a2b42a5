/**
 * Cookies of sessions in browsers, which scripts cannot read, and the check that a request with one comes
 * from a page of ours.
 */
import { GatewayError, type Received } from '../../core/index.ts';

export type Headers = Received['headers'] | Readonly<Record<string, string | string[] | undefined>>;

interface Cookie {
  readonly name: string;
  readonly value: string;
  /** How long browsers keep it; 0 deletes it. */
  readonly seconds: number;
  readonly isSecure: boolean;
  readonly site?: 'Lax' | 'Strict';
}

export function formatCookie({ name, value, seconds, isSecure, site = 'Strict' }: Cookie): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${site}${secure}`;
}

export function findCookie(headers: Headers, name: string): string | undefined {
  return String(headers['cookie'] ?? '')
    .split('; ')
    .find((part) => part.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

/**
 * Throws `forbidden` for a request from a page of another origin, including another port of this host.
 * Browsers send `Origin` with everything but GET and HEAD.
 */
export function checkOrigin(headers: Headers, method: string, ours: readonly string[]): void {
  const { origin, 'sec-fetch-site': site } = headers;
  const isRead = method === 'GET' || method === 'HEAD';
  const isOwnSite = site === undefined || site === 'same-origin' || (site === 'none' && isRead);
  if (isOwnSite && (origin === undefined ? isRead : ours.includes(String(origin)))) return;
  throw new GatewayError('forbidden', 'Requests from other sites are refused.');
}
