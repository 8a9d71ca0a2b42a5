/**
 * What is known of each target: of one model at one provider by one of its keys. It is found by names, since targets
 * are made anew whenever the catalogue changes or the configuration is read again.
 */
import type { Target } from '../../../core/index.ts';

/** Models of a provider that are found by themselves, which is quicker than by their names. */
const mostFound = 10_000;

type Named = Pick<Target, 'provider' | 'model'>;

export class PerTarget<Entry> {
  readonly #make: (target: Named) => Entry;
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #found = new Map<Target['provider'], Map<Target['model'], Entry>>();

  /** `make` gives what is known of a target that nothing is known of. */
  constructor(make: (target: Named) => Entry) {
    this.#make = make;
  }

  of(target: Named): Entry {
    return this.#found.get(target.provider)?.get(target.model) ?? this.#find(target);
  }

  #find(target: Named): Entry {
    const { provider, model } = target;
    const entry = this.#byNames(target);
    let found = this.#found.get(provider);
    if (!found || found.size >= mostFound) this.#found.set(provider, (found = new Map()));
    found.set(model, entry);
    // A configuration that was read again has other providers.
    if (this.#found.size > this.#entries.size) this.#found.clear();
    return entry;
  }

  #byNames(target: Named): Entry {
    const { name, credential = 1 } = target.provider;
    const key = `${name} ${credential}`;
    let models = this.#entries.get(key);
    if (!models) this.#entries.set(key, (models = new Map()));
    let entry = models.get(target.model.id);
    if (!entry) models.set(target.model.id, (entry = this.#make(target)));
    return entry;
  }
}
