/**
 * What every vendor does when it is switched on: add a provider for each of its keys, and offer the models of
 * its catalogue file, or those that it lists itself.
 */
import { fileURLToPath } from 'node:url';
import type { Host, Model, Provider } from '../../../core/index.ts';
import { readCatalogue } from './catalogue-file.ts';
import { addProvider, type Probe } from './examine-vendor.ts';
import { buildDrainLimits, type ProviderOptions } from './options.ts';
import { applyOwnModels } from './own-models.ts';
import type { Signing } from './sign-with-key.ts';

interface Vendor {
  /** Everything about the provider except how it signs, and what the operator's options say. */
  readonly provider: Omit<Provider, 'sign' | 'credential' | 'onAbort'>;
  /** How it signs with each of its keys. */
  readonly keys: readonly Signing[];
  readonly probe: Probe;
  /** Without one `discover` offers the models of each key, which have their numbers from 0. */
  readonly catalogue?: URL;
  discover?(provider: Provider, key: number): void;
  /** Chooses which of the file's models are offered, and by which names; all of them unless given. */
  choose?(models: readonly Model[]): readonly Model[];
  readonly options: Pick<ProviderOptions, 'models' | 'onAbort' | 'timeouts'>;
}

export function offerVendor(
  host: Host,
  { provider, keys, probe, catalogue, discover, choose = (models) => models, options }: Vendor,
): void {
  if (catalogue) host.watchFile(fileURLToPath(catalogue));
  const models = catalogue && applyOwnModels(provider.name, choose(readCatalogue(catalogue)), options.models);
  const patience = { ...provider.patience, ...options.timeouts };
  const shared = { ...provider, onAbort: buildDrainLimits(options.onAbort), patience };
  for (const [index, key] of keys.entries()) {
    const one: Provider = { ...shared, ...key, ...(keys.length > 1 ? { credential: index + 1 } : {}) };
    addProvider(host, one, probe);
    if (models) host.catalog.offer(one, models);
    else discover?.(one, index);
  }
}
