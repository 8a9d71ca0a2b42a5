/**
 * Resources that the process owns: a ledger's writer, a listener, a circuit breaker. Plugins that ask with
 * the same key and options share one, and the last user closes it. A reloaded configuration keeps them;
 * changed options open a second one.
 */
import type { OpenResource } from '../plugin.ts';

interface Held {
  readonly thing: Promise<unknown>;
  close(): Promise<void>;
  users: number;
}

const held = new Map<string, Held>();

function buildName(key: string, options: object): string {
  const sorted = Object.entries(options).toSorted(([first], [second]) => (first < second ? -1 : 1));
  const json = JSON.stringify(sorted, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each));
  return `${key} ${json}`;
}

/** The resources of one gateway. Plugins call `open`; `release` closes all of them. */
export class Resources {
  readonly #used = new Map<string, Held>();

  readonly open: OpenResource = <Options extends object, Thing>(
    key: string,
    options: Options,
    open: (options: Options) => Thing | Promise<Thing>,
    close: (thing: Thing) => void | Promise<void>,
  ): Promise<Thing> => {
    const name = buildName(key, options);
    let entry = held.get(name);
    if (!entry) {
      const thing = (async () => open(options))();
      entry = { thing, users: 0, close: () => thing.then(close, () => undefined) };
      held.set(name, entry);
      // A resource that failed to open may be tried again, and there is nothing to close.
      thing.catch(() => held.delete(name));
    }
    if (this.#used.get(name) !== entry) {
      this.#used.set(name, entry);
      entry.users += 1;
    }
    // A key always names one kind of resource, which the map's type cannot express.
    return entry.thing as Promise<Thing>;
  };

  /** In reverse order: a listener closes before what it serves from. */
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
