/** Things known by name. A name is taken once, and asking for one that is not there tells which are. */
export class Registry<Entry extends { readonly name: string }> {
  readonly #entries = new Map<string, Entry>();
  readonly #kind: string;

  /** `kind` is what an error calls an entry: "protocol". */
  constructor(kind: string) {
    this.#kind = kind;
  }

  /** Throws where the name is taken. */
  add(entry: Entry): void {
    if (this.#entries.has(entry.name)) throw new Error(`${this.#kind} "${entry.name}" is there already`);
    this.#entries.set(entry.name, entry);
  }

  find(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  /** Throws where there is no such entry, listing those there are. */
  get(name: string): Entry {
    const entry = this.#entries.get(name);
    if (!entry) throw new Error(`no ${this.#kind} "${name}"; there are: ${[...this.#entries.keys()].join(', ') || 'none'}`);
    return entry;
  }

  all(): IterableIterator<Entry> {
    return this.#entries.values();
  }
}
