/**
 * Advice for a call at an unknown path, most often from a client whose base URL has a version too many or
 * another one: `POST /v1/v1/chat/completions`, `POST /v1alpha/models/…`.
 */
import type { ClientAddress } from '../plugin.ts';
import type { Protocol } from '../protocol.ts';

/** What a listener serves. */
export interface Served {
  readonly addresses: readonly ClientAddress[];
  readonly protocols: { find(name: string): Protocol | undefined };
}

/** How many ends of a path are looked for below each base URL. */
const mostEnds = 4;
/** What some SDKs expect at the end of their base URL, and others add to it. */
const versions = ['/v1beta', '/v1'];
const otherVersion = /^\/v\d+(?:(?:alpha|beta)\d*)?(?=\/)/;

/** Returns where the call is served, as the end of a sentence; an empty string if no base URL serves it. */
export function findRightBase({ addresses, protocols }: Served, method: string, path: string): string {
  // Somebody who looks at an endpoint of calls in a browser sends GET.
  const serves = (protocol: string, at: string): boolean =>
    [method, 'POST'].some((each) => protocols.find(protocol)?.client.match(each, at, ''));
  // Below the mounts and at the root.
  for (const { path: mount, protocol } of addresses)
    for (const base of [mount, '']) {
      const end = path.startsWith(`${base}/`) ? path.slice(base.length) : '';
      if (!otherVersion.test(end)) continue;
      const rest = end.replace(otherVersion, '');
      const version = versions.find((each) => serves(protocol, base + each + rest));
      if (version) return advise(protocol, base + version, rest);
    }
  let end = path;
  for (let tried = 0; tried < mostEnds && end !== ''; tried += 1) {
    for (const { path: base, protocol } of addresses)
      if (serves(protocol, base + end)) return advise(protocol, base, end);
    const next = end.indexOf('/', 1);
    end = next < 0 ? '' : end.slice(next);
  }
  return '';
}

function advise(protocol: string, base: string, end: string): string {
  return `; ${protocol} is served at ${base}${end}: the base URL of its clients ends in ${base}`;
}
