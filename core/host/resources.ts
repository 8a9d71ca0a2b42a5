/**
 * Process-owned things: a ledger's writer, a listener, a breaker. They are shared by all who ask with the
 * same key and options and closed with their last user, so that a new configuration beside an old one keeps
 * them; changed options open a second one.
 */
import type { OpenResource } from '../plugin.ts';

interface Held {
  readonly thing: Promise<unknown>;
  close(): Promise<void>;
  users: number;
}

const held = new Map<string, Held>();

function nameOf(key: string, options: object): string {
  const sorted = Object.entries(options).toSorted(([first], [second]) => (first < second ? -1 : 1));
  return `${key} ${JSON.stringify(sorted, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))}`;
}

/** The resources of one gateway: `open` is what its plugins are given, `release` lets go of all of them. */
export class Resources {
  readonly #used = new Map<string, Held>();

  readonly open: OpenResource = <Options extends object, Thing>(
    key: string,
    options: Options,
    open: (options: Options) => Thing | Promise<Thing>,
    close: (thing: Thing) => void | Promise<void>,
  ): Promise<Thing> => {
    const name = nameOf(key, options);
    let entry = held.get(name);
    if (!entry) {
      const thing = (async () => open(options))();
      entry = { thing, users: 0, close: () => thing.then(close, () => undefined) };
      held.set(name, entry);
      // One that could not be opened may be tried again, and there is nothing of it to close.
      thing.catch(() => held.delete(name));
    }
    if (this.#used.get(name) !== entry) {
      this.#used.set(name, entry);
      entry.users += 1;
    }
    // A key stands for one kind of thing, which no type can tell the map.
    return entry.thing as Promise<Thing>;
  };

  /** The last one first: a listener goes before what it serves from. */
  async release(): Promise<void> {
    for (const [name, entry] of [...this.#used].toReversed()) {
      this.#used.delete(name);
      entry.users -= 1;
      if (entry.users > 0) continue;
      if (held.get(name) === entry) held.delete(name);
      await entry.close();
    }
  }
}
