/**
 * What is known about each target, which is one model at one provider with one of its keys. Entries are found
 * by names, since target objects are created again whenever the catalogue changes or the configuration is
 * reloaded.
 */
import type { Target } from '../../../core/index.ts';

/** Models of a provider that are also found by their object, which is quicker than by name. */
const mostFound = 10_000;

export type Named = Pick<Target, 'provider' | 'model'>;

export class PerTarget<Entry> {
  readonly #make: (target: Named) => Entry;
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #found = new Map<Target['provider'], Map<Target['model'], Entry>>();

  /** `make` makes the entry of a target that has none. */
  constructor(make: (target: Named) => Entry) {
    this.#make = make;
  }

  getEntry(target: Named): Entry {
    return this.#found.get(target.provider)?.get(target.model) ?? this.#rememberEntry(target);
  }

  #rememberEntry(target: Named): Entry {
    const { provider, model } = target;
    const entry = this.#ensureByNames(target);
    let found = this.#found.get(provider);
    if (!found || found.size >= mostFound) this.#found.set(provider, (found = new Map()));
    found.set(model, entry);
    // After a reload there are other provider objects, and the old ones must not stay in memory.
    if (this.#found.size > this.#entries.size) this.#found.clear();
    return entry;
  }

  #ensureByNames(target: Named): Entry {
    const { name, credential = 1 } = target.provider;
    const key = `${name} ${credential}`;
    let models = this.#entries.get(key);
    if (!models) this.#entries.set(key, (models = new Map()));
    let entry = models.get(target.model.id);
    if (!entry) models.set(target.model.id, (entry = this.#make(target)));
    return entry;
  }
}
