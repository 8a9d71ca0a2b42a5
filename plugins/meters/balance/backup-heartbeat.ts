/**
 * Heartbeats from a separate thread. The event loop's own beats also record how far its calls have come.
 * While the event loop is blocked it sends none, and the thread sends them instead. So no other process
 * takes this one for dead, however long one turn of its loop takes. When the process dies, the thread dies
 * with it.
 */

/**
 * Checks per lease. The thread beats after half a lease without a beat, so even its latest beat is well in
 * time.
 */
const looksPerLease = 6;

export class BackupHeartbeat {
  readonly #lease: number;
  readonly #beat: () => boolean | Promise<boolean>;
  #beatenAt = 0;
  #askedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `beat` sends one heartbeat; it returns false if nothing is reserved. */
  constructor(lease: number, beat: () => boolean | Promise<boolean>) {
    this.#lease = lease;
    this.#beat = beat;
  }

  /** Call it before a reservation, which needs heartbeats. */
  begin(): void {
    this.#askedAt = performance.now();
    if (this.#timer) return;
    this.#beatenAt = this.#askedAt;
    this.#timer = setInterval(() => void this.#look(), this.#lease / looksPerLease).unref();
  }

  /** Call it when the event loop has sent a heartbeat itself. */
  noteBeat(): void {
    this.#beatenAt = performance.now();
    this.#askedAt = this.#beatenAt;
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
      // A reservation requested a moment ago may not be in the tables yet.
      if (!(await this.#beat()) && now - this.#askedAt > this.#lease) this.stop();
    } catch {
      // The ledger is unavailable. Every process notices, and takes no other for dead meanwhile.
      this.#beatenAt = 0;
    }
  }
}
