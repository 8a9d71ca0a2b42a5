/**
 * What runs now: items that come and go with every call, each in a slot that is reused.
 * A `Set` or `Map` keeps removed items alive too long. V8 moves it to a new table every few dozen changes,
 * and each old table points to the next. Once one of them is in the old generation, no later one is freed
 * before the next full collection, and each small collection copies twice as much.
 */
export class Running<Item> implements Iterable<Item> {
  readonly #items: (Item | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Returns the slot to pass to `remove`. */
  add(item: Item): number {
    const slot = this.#free.pop() ?? this.#items.length;
    this.#items[slot] = item;
    return slot;
  }

  /** Frees a slot. Must be called once. */
  remove(slot: number): void {
    this.#items[slot] = undefined;
    this.#free.push(slot);
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
