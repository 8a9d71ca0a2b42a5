/**
 * How often calls may be sent again to targets that fail: up to a share of all calls. Without a limit every client would
 * ask a vendor that is down twice.
 */
const window = 10_000;

export class RetryBudget {
  readonly #share: number;
  /** The number allowed in a window even if there are few calls. */
  readonly #least: number;
  #since = 0;
  #firsts = 0;
  #again = 0;

  constructor(share: number, least = 10) {
    this.#share = share;
    this.#least = least;
  }

  noteFirst(): void {
    this.#turn();
    this.#firsts += 1;
  }

  /** Whether a call may be sent again; if so, it is counted. */
  take(): boolean {
    this.#turn();
    if (this.#again >= Math.max(this.#least, Math.floor(this.#firsts * this.#share))) return false;
    this.#again += 1;
    return true;
  }

  #turn(): void {
    const now = Date.now();
    if (now - this.#since < window) return;
    this.#since = now;
    this.#firsts = 0;
    this.#again = 0;
  }
}
