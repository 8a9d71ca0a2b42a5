/**
 * How often each address looks at public pages. Counted at once and in few words, since the page itself is sent from
 * memory; and of so many addresses at most, since a crowd can come from any number of them.
 */
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../../core/index.ts';

interface Looks {
  count: number;
  /** When the window ends, in milliseconds of the monotonic clock. */
  readonly until: number;
}

const mostAddresses = 100_000;

/** Whom an address counts as: whoever has one of the longer kind has all of its network, which is the first half. */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : `${Buffer.from(parsed.toByteArray().slice(0, 8)).toString('hex')}/64`;
}

function isThisMachine(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.');
}

export class Visitors {
  readonly #looks = new LRUCache<string, Looks>({ max: mostAddresses });
  readonly #most: number;
  readonly #window: number;

  /** `window`: seconds. */
  constructor(most: number, window: number) {
    this.#most = most;
    this.#window = window;
  }

  /** Throws where it is one look too many. */
  admit(address: string): void {
    if (isThisMachine(address)) return;
    const now = performance.now();
    const network = networkOf(address);
    const looks = this.#looks.get(network);
    if (!looks || looks.until <= now) this.#looks.set(network, { count: 1, until: now + this.#window * 1000 });
    else if (looks.count < this.#most) looks.count += 1;
    else throw new GatewayError('rate_limited', `This address may look ${this.#most} times in ${this.#window} seconds. Try again later.`, { retryAfter: Math.ceil((looks.until - now) / 1000) });
  }
}
