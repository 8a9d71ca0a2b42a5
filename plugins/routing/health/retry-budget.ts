/**
 * What a provider may be asked again: of calls that failed elsewhere, or at another of its models and keys, only a
 * share of the calls that it was the first to be asked for. A vendor that is down is not asked twice by everyone.
 */
const window = 10_000;

interface Count {
  since: number;
  firsts: number;
  again: number;
}

export class RetryBudget {
  readonly #share: number;
  /** How many are let through in a window however few calls there are. */
  readonly #least: number;
  readonly #counts = new Map<string, Count>();

  constructor(share: number, least = 3) {
    this.#share = share;
    this.#least = least;
  }

  noteFirst(provider: string): void {
    this.#countOf(provider).firsts += 1;
  }

  /** Whether a call may go on to the provider as a retry; if so, it is counted. */
  take(provider: string): boolean {
    const count = this.#countOf(provider);
    if (count.again >= Math.max(this.#least, Math.floor(count.firsts * this.#share))) return false;
    count.again += 1;
    return true;
  }

  #countOf(provider: string): Count {
    const now = Date.now();
    const known = this.#counts.get(provider);
    if (known && now - known.since < window) return known;
    const count = { since: now, firsts: 0, again: 0 };
    this.#counts.set(provider, count);
    return count;
  }
}
