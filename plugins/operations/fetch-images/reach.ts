/**
 * Where a picture may be fetched from. A name is resolved once, all it resolves to is looked at, and the connection goes
 * to what was looked at and nowhere else: a name that means another machine a moment later gains nothing.
 */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Whoever knows the addresses of a name; none where it has none. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Azure's machines are told their secrets at an address that looks like anybody's. */
const hidden = '168.63.129.16';

/** All that was ever given out of the longer addresses; an IPv4 address can be written as one of the others. */
const givenOut = ipaddr.parseCIDR('2000::/3');

/** Whether an address is one that everybody in the world reaches alike, and none of this machine's own. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6' && !parsed.match(givenOut)) return false;
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map((each) => ipaddr.parse(each.address).toString()));
  return parsed.range() === 'unicast' && parsed.toString() !== hidden && !own.includes(parsed.toString());
}

/** Asks the name servers itself: Node's own look-up has four threads for the whole process, which slow name servers could take up. */
const names = new Resolver({ timeout: 2000, tries: 2 });

async function resolvePublic(host: string): Promise<readonly LookupAddress[]> {
  const [four, six] = await Promise.all([names.resolve4(host).catch(() => []), names.resolve6(host).catch(() => [])]);
  return [...four.map((address) => ({ address, family: 4 })), ...six.map((address) => ({ address, family: 6 }))];
}

/** Names of one's own may stand in the machine's own lists. */
function resolvePrivate(host: string): Promise<readonly LookupAddress[]> {
  return lookup(host, { all: true }).catch(() => []);
}

export interface Reach {
  /** The addresses a connection to this host may go to; none where it may not be reached. */
  addresses(host: string): Promise<readonly LookupAddress[]>;
}

/** `hosts`: the only ones, where they are named; `privateHosts`: those that may be anywhere. */
export function reachOf(hosts: readonly string[] | undefined, privateHosts: readonly string[], resolve: Resolve = resolvePublic, fits = isPublic): Reach {
  return {
    async addresses(host) {
      const bare = host.replace(/^\[|\]$/g, '');
      const isOwn = privateHosts.includes(bare);
      if (!isOwn && hosts && !hosts.some((pattern) => isMeant(pattern, bare))) return [];
      const family = isIP(bare);
      const found = family === 0 ? await (isOwn ? resolvePrivate : resolve)(bare) : [{ address: bare, family }];
      // One address that does not fit is enough: an honest name has none.
      return isOwn || found.every(({ address }) => fits(address)) ? found : [];
    },
  };
}

/** `*.example.com` means every name below it. */
function isMeant(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}
