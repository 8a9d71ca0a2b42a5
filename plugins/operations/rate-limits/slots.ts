/** Calls at one time: which calls of each key and account run, and in whose hands, so that what dies with its holder is free again. */
export interface Slots {
  /** Takes one of `limit` places for a call; false where all are taken. */
  take(name: string, limit: number, call: string, holder: number): boolean | Promise<boolean>;
  /** Giving back twice, or what was never taken, changes nothing. */
  give(name: string, call: string): unknown;
}

/** Counted in memory, for one process or for several that each hold their own. */
export class MemorySlots implements Slots {
  /** The holder of each call, by what is limited. */
  readonly #running = new Map<string, Map<string, number>>();

  take(name: string, limit: number, call: string, holder: number): boolean {
    const calls = this.#running.get(name) ?? new Map<string, number>();
    if (calls.size >= limit) return false;
    this.#running.set(name, calls.set(call, holder));
    return true;
  }

  /** Whether it was taken here. */
  give(name: string, call: string): boolean {
    const calls = this.#running.get(name);
    const had = calls?.delete(call) ?? false;
    if (calls?.size === 0) this.#running.delete(name);
    return had;
  }

  /** Gives back all that a holder had. */
  gone(holder: number): void {
    for (const [name, calls] of this.#running) {
      for (const [call, other] of calls) if (other === holder) this.give(name, call);
    }
  }
}
