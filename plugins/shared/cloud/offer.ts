/**
 * What every cloud does when it is switched on: add a provider for each of its keys, and offer the models of
 * its catalogue file.
 */
import { fileURLToPath } from 'node:url';
import {
  applyOwnModels,
  examineVendor,
  readCatalogue,
  type Host,
  type Model,
  type OwnModels,
  type Probe,
  type Provider,
} from '../../../core/index.ts';

interface Cloud {
  /** Everything about the provider except how it signs. */
  readonly provider: Omit<Provider, 'sign' | 'credential'>;
  /** How it signs with each of its keys. */
  readonly keys: readonly Pick<Provider, 'sign' | 'unwrap'>[];
  readonly probe: Probe;
  readonly catalogue: URL;
  /** Chooses which of the file's models are offered, and by which names; all of them unless given. */
  readonly choose?: (models: readonly Model[]) => readonly Model[];
  /** Models that the operator adds, changes or hides. */
  readonly own: OwnModels;
}

export function offer(
  host: Host,
  { provider, keys, probe, catalogue, choose = (models) => models, own }: Cloud,
): void {
  host.readsFrom(fileURLToPath(catalogue));
  const models = applyOwnModels(provider.name, choose(readCatalogue(catalogue)), own);
  for (const [index, key] of keys.entries()) {
    const one: Provider = { ...provider, ...key, ...(keys.length > 1 ? { credential: index + 1 } : {}) };
    if (index === 0) host.providers.add(one);
    host.examinations.add({ name: `${one.name} ${index + 1}`, examine: () => examineVendor(one, probe) });
    host.catalog.offer(one, models);
  }
}
