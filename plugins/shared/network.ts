/** Networks of clients' addresses, by which attempts and looks are counted. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../core/index.ts';
import { limitEntries } from './up-to.ts';

/**
 * What a client's address is counted as. For IPv6 it is the network, the first half: who has one address of a
 * network usually has all of them.
 */
export function toNetwork(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : `${Buffer.from(parsed.toByteArray().slice(0, 8)).toString('hex')}/64`;
}

/**
 * A network in CIDR notation as it is stored: its first address and the length of its prefix. An address is
 * a network too. Undefined for any other text.
 */
export function readNetwork(text: string): string | undefined {
  const [, start = '', typed] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(start);
  const longest = version === 6 ? 128 : 32;
  const length = Number(typed ?? longest);
  if (version === 0 || length > longest) return undefined;
  if (version === 4) return `${ipaddr.IPv4.networkAddressFromCIDR(`${start}/${length}`)}/${length}`;
  const parsed = ipaddr.IPv6.parse(start);
  // A client that connects by IPv4 counts as one, however its address is written.
  if (parsed.isIPv4MappedAddress() && length >= 96)
    return readNetwork(`${parsed.toIPv4Address()}/${length - 96}`);
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${start}/${length}`)}/${length}`;
}

/** Networks that are counted at once: a crowd of strangers takes no more memory. */
const mostNetworks = 10_000;

/** How often each network does something in a window of time. */
export class NetworkCounts {
  readonly #most: number;
  readonly #counts: LRUCache<string, number>;

  /** `window`: seconds. */
  constructor(most: number, window: number) {
    this.#most = most;
    this.#counts = new LRUCache({ ...limitEntries(mostNetworks), ttl: window * 1000, noUpdateTTL: true });
  }

  /** Counts once more. Throws `rate_limited` with the message if that is once too often. */
  add(address: string, message: string): void {
    const network = toNetwork(address);
    const count = this.#counts.get(network) ?? 0;
    if (count >= this.#most)
      throw new GatewayError('rate_limited', message, {
        retryAfter: Math.ceil(this.#counts.getRemainingTTL(network) / 1000),
      });
    this.#counts.set(network, count + 1);
  }

  forget(address: string): void {
    this.#counts.delete(toNetwork(address));
  }
}
