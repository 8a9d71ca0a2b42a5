/**
 * Advice for a call at an unknown path, most often from a client whose base URL is that of another protocol:
 * `POST /v1/messages` where messages is served below `/alpha`.
 */
import type { ClientAddress } from '../plugin.ts';
import type { Protocol } from '../protocol.ts';

interface Served {
  readonly addresses: readonly ClientAddress[];
  readonly protocols: { find(name: string): Protocol | undefined };
}

/** How many ends of a path are looked for below each base URL. */
const mostEnds = 4;

/** Returns where the call is served, as the end of a sentence; an empty string if no base URL serves it. */
export function findRightBase({ addresses, protocols }: Served, method: string, path: string): string {
  let end = path;
  for (let tried = 0; tried < mostEnds && end !== ''; tried += 1) {
    for (const { path: base, protocol } of addresses)
      if (protocols.find(protocol)?.client.match(method, base + end, ''))
        return `; ${protocol} is served at ${base}${end}: the base URL of its clients ends in ${base}`;
    const next = end.indexOf('/', 1);
    end = next < 0 ? '' : end.slice(next);
  }
  return '';
}
