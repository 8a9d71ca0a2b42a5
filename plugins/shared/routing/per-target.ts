/**
 * What is known about each target, which is one model at one provider with one of its keys. Entries are found
 * by names, since target objects are created again whenever the catalogue changes or the configuration is
 * reloaded.
 */
import type { Target } from '../../../core/index.ts';

export type Named = Pick<Target, 'provider' | 'model'>;

export class PerTarget<Entry> {
  readonly #make: (target: Named) => Entry;
  /** By provider and model, an entry for each key. */
  readonly #entries = new Map<string, Map<string, Entry[]>>();

  /** `make` makes the entry of a target that has none. */
  constructor(make: (target: Named) => Entry) {
    this.#make = make;
  }

  getEntry(target: Named): Entry {
    const { name, credential = 1 } = target.provider;
    let models = this.#entries.get(name);
    if (!models) this.#entries.set(name, (models = new Map()));
    let entries = models.get(target.model.id);
    if (!entries) models.set(target.model.id, (entries = []));
    return (entries[credential - 1] ??= this.#make(target));
  }
}
