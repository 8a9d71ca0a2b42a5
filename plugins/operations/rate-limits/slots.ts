/**
 * Concurrent calls: which calls of each key and account run, and which process holds them, so that those of a
 * dead process can be freed.
 */
export interface Slots {
  /** Takes one of `limit` places for a call; false if all are taken. */
  take(name: string, limit: number, call: string, holder: number): boolean | Promise<boolean>;
  /** Gives a place back. Does nothing if it was given back before, or never taken. */
  give(name: string, call: string): unknown;
}

/** Counts in memory, for one process or for several holders. */
export class MemorySlots implements Slots {
  /** The holder of each call, under the name of the key or account. */
  readonly #running = new Map<string, Map<string, number>>();

  take(name: string, limit: number, call: string, holder: number): boolean {
    const calls = this.#running.get(name) ?? new Map<string, number>();
    if (calls.size >= limit) return false;
    this.#running.set(name, calls.set(call, holder));
    return true;
  }

  /** Returns whether the place was taken here. */
  give(name: string, call: string): boolean {
    const calls = this.#running.get(name);
    const had = calls?.delete(call) ?? false;
    if (calls?.size === 0) this.#running.delete(name);
    return had;
  }

  /** Gives back all places of a holder that is gone. */
  releaseHolder(holder: number): void {
    for (const [name, calls] of this.#running) {
      for (const [call, other] of calls) if (other === holder) this.give(name, call);
    }
  }
}
