/**
 * Signs of life from a thread of their own. The event loop's own beats also record how far its calls have come. While the
 * event loop is blocked, these beats do not come, and the thread beats in their place. So no other process takes this one
 * for dead while it lives, however long one turn of its loop takes. When the process dies, the thread dies with it.
 */

/** Looks for each lease. A beat comes after half a lease without one, so even the latest is well in time. */
const looksPerLease = 6;

export class BackupHeartbeat {
  readonly #lease: number;
  readonly #beat: () => boolean | Promise<boolean>;
  #beatenAt = 0;
  #toldAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `beat` gives one sign of life, and returns false where nothing is reserved. */
  constructor(lease: number, beat: () => boolean | Promise<boolean>) {
    this.#lease = lease;
    this.#beat = beat;
  }

  /** To be called when something is to be reserved: from then on there have to be beats. */
  begin(): void {
    this.#toldAt = performance.now();
    if (this.#timer) return;
    this.#beatenAt = this.#toldAt;
    this.#timer = setInterval(() => void this.#look(), this.#lease / looksPerLease).unref();
  }

  /** To be called when the event loop has beaten by itself. */
  beaten(): void {
    this.#beatenAt = performance.now();
    this.#toldAt = this.#beatenAt;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    const now = performance.now();
    if (now - this.#beatenAt < this.#lease / 2) return;
    this.#beatenAt = now;
    try {
      // What was asked for just now may not be in the tables yet.
      if (!(await this.#beat()) && now - this.#toldAt > this.#lease) this.stop();
    } catch {
      // The ledger cannot be used. Every process sees that, and takes nobody for dead meanwhile.
      this.#beatenAt = 0;
    }
  }
}
