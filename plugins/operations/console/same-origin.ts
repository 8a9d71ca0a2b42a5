/**
 * Keeps other sites from using an operator's session. A browser sends a cookie to every port of a host, and
 * to a name that an attacker has pointed at this machine, so `SameSite` alone is not enough.
 */
import { isIP } from 'node:net';
import { GatewayError, type Received } from '../../../core/index.ts';

type Headers = Received['headers'] | Readonly<Record<string, string | string[] | undefined>>;

function readHostName(host: string): string {
  return URL.parse(`http://${host}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
}

/**
 * Throws `forbidden` for a host name that is neither an IP address, nor `localhost`, nor named in the
 * options: a site could have pointed its own name at this address (DNS rebinding).
 */
export function checkHost({ host }: Headers, hosts: readonly string[]): void {
  const name = readHostName(String(host ?? ''));
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || hosts.includes(name)) return;
  throw new GatewayError(
    'forbidden',
    `The console does not know the host name "${name.slice(0, 100)}". ` +
      'Name it in the option "hosts" of the plugin "console".',
  );
}

/**
 * Throws `forbidden` for a request from another origin, including another port of this host. Browsers send
 * `Origin` with everything but GET and HEAD.
 */
export function checkOrigin(headers: Headers, method: string): void {
  const { origin, host, 'sec-fetch-site': site } = headers;
  const isOwnSite = site === undefined || site === 'same-origin' || (site === 'none' && method === 'GET');
  const mustSay = method !== 'GET' && method !== 'HEAD';
  const isOwnOrigin =
    origin === undefined ? !mustSay : origin === `http://${host}` || origin === `https://${host}`;
  if (isOwnSite && isOwnOrigin) return;
  throw new GatewayError('forbidden', 'The console refuses requests from other sites.');
}
