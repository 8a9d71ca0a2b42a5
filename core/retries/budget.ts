/**
 * How often calls may be sent again to targets that fail: up to a share of all calls. Without a limit, every client of a
 * vendor that is down would send it several requests for one.
 */
const window = 10_000;

export class RetryBudget {
  readonly #share: number;
  /** The number allowed in a window even if there are few calls. */
  readonly #least: number;
  #since = 0;
  #firsts = 0;
  #again = 0;

  constructor(share: number, least = share > 0 ? 10 : 0) {
    this.#share = share;
    this.#least = least;
  }

  noteFirst(): void {
    this.#turn();
    this.#firsts += 1;
  }

  get hasRoom(): boolean {
    this.#turn();
    return this.#again < Math.max(this.#least, Math.floor(this.#firsts * this.#share));
  }

  /** Counts a call that is sent again. */
  spend(): void {
    this.#turn();
    this.#again += 1;
  }

  #turn(): void {
    const now = performance.now();
    if (now - this.#since < window) return;
    this.#since = now;
    this.#firsts = 0;
    this.#again = 0;
  }
}
