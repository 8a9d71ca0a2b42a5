/** Entries by name. A name is unique, and an unknown name throws an error that lists the known ones. */

export class Registry<Entry extends { readonly name: string }> {
  readonly #entries = new Map<string, Entry>();
  readonly #owners = new Map<string, string>();
  readonly #kind: string;

  /** `kind` names an entry in errors, such as "protocol". */
  constructor(kind: string) {
    this.#kind = kind;
  }

  add(entry: Entry): void {
    if (this.#entries.has(entry.name)) throw new Error(`${this.#kind} "${entry.name}" already exists`);
    this.#entries.set(entry.name, entry);
  }

  find(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  get(name: string): Entry {
    const entry = this.#entries.get(name);
    if (!entry)
      throw new Error(`no ${this.#kind} "${name}"; known: ${[...this.#entries.keys()].join(', ') || 'none'}`);
    return entry;
  }

  list(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** The registry as one plugin sees it. It records which plugin added an entry. */
  createView(plugin: string): Entries<Entry> {
    const add = (entry: Entry): void => {
      this.add(entry);
      this.#owners.set(entry.name, plugin);
    };
    return {
      add,
      find: (name) => this.find(name),
      get: (name) => this.get(name),
      list: () => this.list(),
      getOwner: (entry) => this.getOwner(entry),
    };
  }

  getOwner({ name }: Entry): string {
    return this.#owners.get(name) ?? name;
  }
}

export type Entries<Entry extends { readonly name: string }> = Pick<
  Registry<Entry>,
  'add' | 'find' | 'get' | 'list' | 'getOwner'
>;
