/**
 * What one key or account may still use in a window, counted in memory or in a PostgreSQL that several
 * processes share. What is refused is not counted, so a client that waits long enough gets in.
 */
import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';

export interface Left {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the whole allowance is available again. */
  readonly resetAfter: number;
}

function isRefusal(thrown: unknown): thrown is RateLimiterRes {
  return (
    typeof thrown === 'object' && thrown !== null && 'msBeforeNext' in thrown && !(thrown instanceof Error)
  );
}

export class Allowance {
  readonly limit: number;
  readonly #limiter: RateLimiterAbstract;

  constructor(limiter: RateLimiterAbstract) {
    this.limit = limiter.points;
    this.#limiter = limiter;
  }

  /** Takes what a call needs. If less is left, it takes nothing. */
  async take(name: string, amount: number): Promise<Left & { readonly taken: boolean }> {
    try {
      return { ...this.#toLeft(await this.#limiter.consume(name, amount)), taken: true };
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      const left = this.#toLeft(await this.#limiter.reward(name, amount));
      return { ...left, resetAfter: thrown.msBeforeNext, taken: false };
    }
  }

  /** Corrects what was taken by what was really used. A difference that is more than is left is owed. */
  async correct(name: string, difference: number): Promise<void> {
    if (difference > 0) await this.#limiter.penalty(name, difference);
    if (difference < 0) await this.#limiter.reward(name, -difference);
  }

  #toLeft({ remainingPoints, msBeforeNext }: RateLimiterRes): Left {
    return { limit: this.limit, remaining: Math.max(0, remainingPoints), resetAfter: msBeforeNext };
  }
}
