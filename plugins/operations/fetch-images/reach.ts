/**
 * Which hosts a picture may be fetched from. A name is resolved once, and all its addresses are checked. The
 * connection then goes to a checked address, so it does not help an attacker if the name means another
 * machine a moment later.
 */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Resolves a host's name; empty if it has no address. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Azure's machines read their secrets at this address, which looks public. */
const hidden = '168.63.129.16';

/** All IPv6 addresses that are in public use. Others can contain an IPv4 address. */
const givenOut = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an address means the same host for everybody in the world, so that it is not one of our own
 * network.
 */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6' && !parsed.match(givenOut)) return false;
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map((each) => ipaddr.parse(each.address).toString()),
  );
  return parsed.range() === 'unicast' && parsed.toString() !== hidden && !own.includes(parsed.toString());
}

/**
 * Asks name servers itself: Node's own look-up has four threads for the whole process, and slow name servers
 * could occupy them.
 */
const names = new Resolver({ timeout: 2000, tries: 2 });

async function resolvePublic(host: string): Promise<readonly LookupAddress[]> {
  const [four, six] = await Promise.all([
    names.resolve4(host).catch(() => []),
    names.resolve6(host).catch(() => []),
  ]);
  return [
    ...four.map((address) => ({ address, family: 4 })),
    ...six.map((address) => ({ address, family: 6 })),
  ];
}

/** Uses the system's look-up, since names of your own may be in the machine's hosts file. */
function resolvePrivate(host: string): Promise<readonly LookupAddress[]> {
  return lookup(host, { all: true }).catch(() => []);
}

export interface Reach {
  /** The addresses that a connection to this host may use; empty if it must not be reached. */
  findAddresses(host: string): Promise<readonly LookupAddress[]>;
}

/** `hosts` are the only ones allowed, if given; `privateHosts` may have any address. */
export function createReach(
  hosts: readonly string[] | undefined,
  privateHosts: readonly string[],
  resolve: Resolve = resolvePublic,
  fits = isPublic,
): Reach {
  return {
    async findAddresses(host) {
      const bare = host.replace(/^\[|\]$/g, '');
      const isOwn = privateHosts.includes(bare);
      if (!isOwn && hosts && !hosts.some((pattern) => isMeant(pattern, bare))) return [];
      const family = isIP(bare);
      const found =
        family === 0 ? await (isOwn ? resolvePrivate : resolve)(bare) : [{ address: bare, family }];
      // One address that is not allowed is enough to refuse: an honest name has none.
      return isOwn || found.every(({ address }) => fits(address)) ? found : [];
    },
  };
}

/** `*.example.com` matches every name below it. */
function isMeant(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}
