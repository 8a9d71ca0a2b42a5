/**
 * Things that come and go with every call, each at a place it gives back. A `Set` of them would keep them all: it
 * moves to a new table every few dozen changes, the table it leaves points to the next, and once one of them is old
 * none of those that follow, nor what stood in them, is collected before the next full collection.
 */
export class Running<Item> implements Iterable<Item> {
  readonly #items: (Item | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Answers the place to give back. */
  add(item: Item): number {
    const place = this.#free.pop() ?? this.#items.length;
    this.#items[place] = item;
    return place;
  }

  /** Gives a place back, once. */
  remove(place: number): void {
    this.#items[place] = undefined;
    this.#free.push(place);
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
