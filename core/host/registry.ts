/** Things known by name. A name is taken once, and asking for one that is not there tells which are. */
export class Registry<Entry extends { readonly name: string }> {
  readonly #entries = new Map<string, Entry>();
  readonly #owners = new Map<string, string>();
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
    if (!entry)
      throw new Error(
        `no ${this.#kind} "${name}"; there are: ${[...this.#entries.keys()].join(', ') || 'none'}`,
      );
    return entry;
  }

  all(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** The entries as one plugin sees them: it is known of what it adds whose that is. */
  seenBy(plugin: string): Entries<Entry> {
    const add = (entry: Entry): void => {
      this.add(entry);
      this.#owners.set(entry.name, plugin);
    };
    return { add, find: (name) => this.find(name), get: (name) => this.get(name), all: () => this.all() };
  }

  /** The plugin that added an entry. */
  ownerOf({ name }: Entry): string {
    return this.#owners.get(name) ?? name;
  }
}

/** What a plugin sees of a registry. */
export type Entries<Entry extends { readonly name: string }> = Pick<
  Registry<Entry>,
  'add' | 'find' | 'get' | 'all'
>;
