/**
 * How often a key may call: so many calls a minute, counted by each process for itself, for the keys that have such a
 * limit. A rate that changes begins a minute of its own.
 */
import type { RateLimiterMemory } from 'rate-limiter-flexible';
import { GatewayError, type Principal } from '../../../core/index.ts';
import { KeyHolder } from './key-limits.ts';

const seconds = 60;

function waitOf(thrown: unknown): number | undefined {
  return typeof thrown === 'object' && thrown !== null && 'msBeforeNext' in thrown ? Number(thrown.msBeforeNext) : undefined;
}

export class KeyRates {
  readonly #limiters = new Map<number, RateLimiterMemory>();

  /** Counts a call; throws `rate_limited` where it is one too many. */
  async take(principal: Principal): Promise<void> {
    const rate = principal instanceof KeyHolder ? principal.callsPerMinute : undefined;
    if (rate === undefined) return;
    try {
      await (await this.#limiterFor(rate)).consume(principal.key);
    } catch (thrown) {
      const wait = waitOf(thrown);
      if (wait === undefined) throw thrown;
      throw new GatewayError('rate_limited', `The API key ${principal.key} may make ${rate} calls a minute, and has.`, { retryAfter: Math.max(1, Math.ceil(wait / 1000)) });
    }
  }

  async #limiterFor(rate: number): Promise<RateLimiterMemory> {
    const known = this.#limiters.get(rate);
    if (known) return known;
    // Loaded with the first key that needs it: most have no rate.
    const { RateLimiterMemory: Limiter } = await import('rate-limiter-flexible');
    const made = this.#limiters.get(rate) ?? new Limiter({ points: rate, duration: seconds, keyPrefix: String(rate) });
    this.#limiters.set(rate, made);
    return made;
  }
}
