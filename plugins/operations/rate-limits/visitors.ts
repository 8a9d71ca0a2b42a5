/**
 * How often each address asks for public pages. There can be any number of addresses, so they are counted in
 * a fixed number of drawers, chosen by a digest. Strangers seldom share a drawer, none can choose which to
 * share, and a crowd takes no more memory.
 */
import { hash, randomUUID } from 'node:crypto';
import { GatewayError } from '../../../core/index.ts';
import { toNetwork } from '../../shared/network.ts';
import { Allowance } from './allowance.ts';

/** Hexadecimal digits of a drawer's name; four make 65 536 drawers. */
const drawerDigits = 4;

function isThisMachine(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.');
}

export class Visitors {
  readonly #most: number;
  readonly #window: number;
  readonly #salt = randomUUID();
  #allowance: Promise<Allowance> | undefined;

  /** `window`: seconds. */
  constructor(most: number, window: number) {
    this.#most = most;
    this.#window = window;
  }

  /**
   * Counts one request; rejects if it is one too many. Undefined for this machine itself, which is not
   * counted.
   */
  admit(address: string): Promise<void> | undefined {
    return isThisMachine(address) ? undefined : this.#look(this.computeDrawer(address));
  }

  computeDrawer(address: string): string {
    return hash('sha256', this.#salt + toNetwork(address)).slice(0, drawerDigits);
  }

  async #look(drawer: string): Promise<void> {
    this.#allowance ??= this.#open();
    const { taken, resetAfter } = await (await this.#allowance).take(drawer, 1);
    if (!taken) {
      throw new GatewayError(
        'rate_limited',
        `This address may look ${this.#most} times in ${this.#window} seconds. Try again later.`,
        { retryAfter: Math.ceil(resetAfter / 1000) },
      );
    }
  }

  /** Loads its module for the first stranger, since most gateways have none. */
  async #open(): Promise<Allowance> {
    const { RateLimiterMemory } = await import('rate-limiter-flexible');
    return new Allowance(new RateLimiterMemory({ points: this.#most, duration: this.#window }));
  }
}
