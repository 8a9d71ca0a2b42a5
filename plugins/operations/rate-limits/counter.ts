/**
 * Counts what each key and account takes from its limits: requests and tokens in windows, and concurrent
 * calls. This counter does it in memory, for one process; `table-counts.ts` does it for several. What is
 * refused is not counted, so a client that waits long enough gets in.
 */
import type { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export interface Left {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the whole allowance is available again. */
  readonly resetAfter: number;
}

/** What a call needs from one limit, or gives back to it. */
export interface Want {
  readonly whose: 'key' | 'account';
  /** The key or account. */
  readonly name: string;
  readonly kind: 'parallel' | 'requests' | 'tokens';
  readonly limit: number;
  /** When it is given back, this is below zero if more was used than taken. */
  readonly amount: number;
}

export interface Taking {
  /**
   * What is left of each limit, in the order of the wants. For a refused call the last one is the limit that
   * was reached.
   */
  readonly left: readonly Left[];
  readonly refused: boolean;
  /** The counter that it has to be given back to. */
  readonly from: Counts;
}

/** Something that counts calls, for this process or for several. */
export interface Counts {
  /** Takes everything a call wants, or nothing. */
  take(call: string, wants: readonly Want[]): Promise<Taking>;
  give(call: string, wants: readonly Want[]): Promise<void>;
}

/** Milliseconds in the `retry-after` of a call that is refused because too many run. */
export const untilOneEnds = 1000;

function isRefusal(thrown: unknown): thrown is RateLimiterRes {
  return (
    typeof thrown === 'object' && thrown !== null && 'msBeforeNext' in thrown && !(thrown instanceof Error)
  );
}

export class Allowance {
  readonly limit: number;
  readonly #limiter: RateLimiterMemory;

  constructor(limiter: RateLimiterMemory) {
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

/** Counts in memory, for this process. */
export class Counter implements Counts {
  readonly #open: (limit: number) => Allowance;
  readonly #allowances = new Map<string, Allowance>();
  /** The ids of running calls, under the name of the key or account. */
  readonly #running = new Map<string, Set<string>>();

  constructor(open: (limit: number) => Allowance) {
    this.#open = open;
  }

  async take(call: string, wants: readonly Want[]): Promise<Taking> {
    const left: Left[] = [];
    for (const want of wants) {
      const one = await this.#takeOne(call, want);
      left.push(one);
      if (one.taken) continue;
      await this.give(call, wants.slice(0, left.length - 1));
      return { left, refused: true, from: this };
    }
    return { left, refused: false, from: this };
  }

  async give(call: string, wants: readonly Want[]): Promise<void> {
    for (const want of wants) {
      if (want.kind === 'parallel') this.#stop(toName(want), call);
      else await this.#openAllowance(want).correct(want.name, -want.amount);
    }
  }

  async #takeOne(call: string, want: Want): Promise<Left & { readonly taken: boolean }> {
    const { name, kind, limit, amount } = want;
    if (kind !== 'parallel') return this.#openAllowance(want).take(name, amount);
    const calls = this.#running.get(toName(want)) ?? new Set<string>();
    const taken = calls.size < limit;
    if (taken) this.#running.set(toName(want), calls.add(call));
    return { limit, remaining: 0, resetAfter: untilOneEnds, taken };
  }

  #stop(name: string, call: string): void {
    const calls = this.#running.get(name);
    calls?.delete(call);
    if (calls?.size === 0) this.#running.delete(name);
  }

  #openAllowance({ whose, kind, limit }: Want): Allowance {
    const key = `${whose}-${kind} ${limit}`;
    const known = this.#allowances.get(key);
    if (known) return known;
    const made = this.#open(limit);
    this.#allowances.set(key, made);
    return made;
  }
}

/** Of whom, and of which kind of limit. */
export function toName({ whose, kind, name }: Want): string {
  return `${whose}-${kind}:${name}`;
}

/** Imports what it needs only when called, since most gateways limit nothing. */
export async function createMemoryCounter(window: number): Promise<Counter> {
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  return new Counter((points) => new Allowance(new RateLimiterMemory({ points, duration: window })));
}
