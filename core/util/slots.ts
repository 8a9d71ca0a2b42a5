/**
 * Things that come and go with every call, each at a place that is given back. A `Set` would keep them alive too long:
 * V8 moves it to a new table every few dozen changes, and each table it leaves points to the next. Once one of them is in
 * the old generation, none that follow, nor anything that stood in them, is freed before the next full collection.
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
