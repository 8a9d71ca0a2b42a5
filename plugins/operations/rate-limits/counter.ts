/**
 * Counts what each key and account takes from its limits: requests and tokens in windows, and concurrent
 * calls. This counter does it in memory, for one process; `table-counts.ts` does it for several. What is
 * refused is not counted, so a client that waits long enough gets in.
 */
import type { RateLimiterMemory } from 'rate-limiter-flexible';

export interface Left {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the whole allowance is available again. */
  readonly resetAfter: number;
}

/** What a call needs from one limit, or gives back to it. */
export interface Want {
  readonly whose: 'key' | 'account' | 'team' | 'gateway';
  /** The key, account or team. */
  readonly name: string;
  /** Which of its calls count: ` of openai/* in company`. Absent or empty: all. */
  readonly among?: string;
  readonly kind: 'parallel' | 'requests' | 'tokens' | 'input' | 'output';
  /** Whether input counts that the provider read from its cache; it does unless this is false. */
  readonly cachedInput?: boolean | undefined;
  readonly limit: number;
  /** Of concurrent calls: another limit. Nothing is taken while anything is taken from that one. */
  readonly unless?: Want;
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
  /** The concurrent calls that are taken from a limit, in the order of their names. */
  listRunning(want: Want): Promise<readonly string[]>;
}

/** Milliseconds in the `retry-after` of a call that is refused because too many run. */
export const untilOneEnds = 1000;

type Taken = Left & { readonly taken: boolean };

/** Takes an amount from a limit. If less is left, it takes nothing. */
async function takePoints(
  limiter: RateLimiterMemory,
  name: string,
  { limit, amount }: Pick<Want, 'limit' | 'amount'>,
): Promise<Taken> {
  const { consumedPoints: used, msBeforeNext: resetAfter } = await limiter.penalty(name, amount);
  const taken = used <= limit;
  if (!taken) await limiter.reward(name, amount);
  return { limit, remaining: Math.max(0, limit - (taken ? used : used - amount)), resetAfter, taken };
}

/** Imports its library only when called, since most gateways limit nothing. `window` is in seconds. */
export async function createLimiter(window: number): Promise<RateLimiterMemory> {
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  // Limits are compared where they are known.
  return new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: window });
}

/** Counts in memory, for this process. */
export class Counter implements Counts {
  readonly #limiter: RateLimiterMemory;
  /** The ids of running calls, under the name of the key or account. */
  readonly #running = new Map<string, Set<string>>();

  constructor(limiter: RateLimiterMemory) {
    this.#limiter = limiter;
  }

  async take(call: string, wants: readonly Want[]): Promise<Taking> {
    const left: Left[] = [];
    for (const want of wants) {
      const one =
        want.kind === 'parallel'
          ? this.#start(call, want)
          : await takePoints(this.#limiter, toName(want), want);
      left.push(one);
      if (one.taken) continue;
      await this.give(call, wants.slice(0, left.length - 1));
      return { left, refused: true, from: this };
    }
    return { left, refused: false, from: this };
  }

  /** A difference that is more than is left is owed. */
  async give(call: string, wants: readonly Want[]): Promise<void> {
    for (const want of wants) {
      if (want.kind === 'parallel') this.#stop(toName(want), call);
      else await this.#limiter.reward(toName(want), want.amount);
    }
  }

  async listRunning(want: Want): Promise<readonly string[]> {
    return [...(this.#running.get(toName(want)) ?? [])];
  }

  #start(call: string, want: Want): Taken {
    const calls = this.#running.get(toName(want)) ?? new Set<string>();
    const isBarred = want.unless && this.#running.has(toName(want.unless));
    const taken = calls.size < want.limit && !isBarred;
    if (taken) this.#running.set(toName(want), calls.add(call));
    return { limit: want.limit, remaining: 0, resetAfter: untilOneEnds, taken };
  }

  #stop(name: string, call: string): void {
    const calls = this.#running.get(name);
    calls?.delete(call);
    if (calls?.size === 0) this.#running.delete(name);
  }
}

/** Of whom, and of which kind of limit. */
export function toName({ whose, kind, name, among = '' }: Want): string {
  return `${whose}-${kind}:${name}${among}`;
}
