/**
 * What a connection remembers of its last responses: their input and output, as the `input` of the call that
 * continues one of them. OpenAI keeps the same in a socket's memory. Responses that continue each other share
 * their items.
 */
import type { LRUCache } from 'lru-cache';

/** Items in a row, as JSON without the brackets of their list. Never empty. */
export type Items = Uint8Array;

/** Bytes of a response beside its items. */
const perResponse = 200;

export interface MemoryLimits {
  readonly responses: number;
  readonly bytes: number;
}

export class Memory {
  readonly #limits: MemoryLimits;
  /** All connections' bytes. */
  readonly #all: LRUCache<Memory, number>;
  /** The oldest first. */
  readonly #responses = new Map<string, readonly Items[]>();

  constructor(limits: MemoryLimits, all: LRUCache<Memory, number>) {
    this.#limits = limits;
    this.#all = all;
  }

  /** The items of a response and of all before it; undefined if it is unknown or was forgotten. */
  find(id: string): readonly Items[] | undefined {
    this.#all.get(this);
    return this.#responses.get(id);
  }

  /** Remembers a response, and forgets older ones for which there is no room. */
  remember(id: string, items: readonly Items[]): void {
    this.#responses.set(id, items);
    let bytes = this.#countBytes();
    for (const oldest of this.#responses.keys()) {
      if (this.#responses.size <= this.#limits.responses && bytes <= this.#limits.bytes) break;
      this.#responses.delete(oldest);
      bytes = this.#countBytes();
    }
    if (this.#responses.size === 0) this.#all.delete(this);
    else this.#all.set(this, bytes);
    // It may be larger than all may be together.
    if (!this.#all.has(this)) this.forget();
  }

  /** Forgets everything because others need the room. */
  forget(): void {
    this.#responses.clear();
  }

  clear(): void {
    this.forget();
    this.#all.delete(this);
  }

  #countBytes(): number {
    let bytes = this.#responses.size * perResponse;
    const shared = new Set(this.#responses.values().flatMap((items) => items));
    for (const { length } of shared) bytes += length;
    return bytes;
  }
}
