/**
 * What is known of each target: of one model at one provider by one of its keys. It is found by names, since targets
 * are made anew whenever the catalogue changes or the configuration is read again.
 */
import type { Target } from '../../../core/index.ts';

/** Targets that are found again by themselves, which is quicker than by their names. */
const mostFound = 100_000;

export class PerTarget<Entry> {
  readonly #make: (target: Target) => Entry;
  readonly #entries = new Map<string, Map<number, Map<string, Entry>>>();
  readonly #found = new Map<Target, Entry>();

  /** `make` gives what is known of a target that nothing is known of. */
  constructor(make: (target: Target) => Entry) {
    this.#make = make;
  }

  of(target: Target): Entry {
    const found = this.#found.get(target);
    if (found) return found;
    const entry = this.#byNames(target);
    if (this.#found.size >= mostFound) this.#found.clear();
    this.#found.set(target, entry);
    return entry;
  }

  #byNames(target: Target): Entry {
    const { name, credential = 1 } = target.provider;
    let keys = this.#entries.get(name);
    if (!keys) this.#entries.set(name, (keys = new Map()));
    let models = keys.get(credential);
    if (!models) keys.set(credential, (models = new Map()));
    let entry = models.get(target.model.id);
    if (!entry) models.set(target.model.id, (entry = this.#make(target)));
    return entry;
  }
}
