/**
 * Limits retries to a share of all calls. Without a limit, an outage of a provider would multiply the
 * requests to it.
 */
const window = 10_000;

export class RetryBudget {
  readonly #share: number;
  /** The number allowed in a window even with few calls. */
  readonly #least: number;
  #since = 0;
  #calls = 0;
  #retries = 0;

  constructor(share: number, least = share > 0 ? 10 : 0) {
    this.#share = share;
    this.#least = least;
  }

  noteFirst(): void {
    this.#startWindow();
    this.#calls += 1;
  }

  get hasRoom(): boolean {
    this.#startWindow();
    return this.#retries < Math.max(this.#least, Math.floor(this.#calls * this.#share));
  }

  /** Counts one retry. */
  spend(): void {
    this.#startWindow();
    this.#retries += 1;
  }

  #startWindow(): void {
    const now = performance.now();
    if (now - this.#since < window) return;
    this.#since = now;
    this.#calls = 0;
    this.#retries = 0;
  }
}
