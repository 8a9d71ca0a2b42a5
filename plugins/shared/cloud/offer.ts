/**
 * What every cloud does when it is switched on: add a provider for each of its keys, and offer the models of
 * its catalogue file.
 */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Host, Model, Provider } from '../../../core/index.ts';
import { readCatalogue } from '../provider/catalogue-file.ts';
import { addProvider, type Probe } from '../provider/examine-vendor.ts';
import { buildDrainLimits, onAbortSchema, patienceSchema } from '../provider/options.ts';
import { applyOwnModels, ownModelsSchema } from '../provider/own-models.ts';

/** The options that all clouds have. */
export const cloudOptions = {
  /** Models to add, change or hide, by id. */
  models: ownModelsSchema,
  onAbort: onAbortSchema,
  timeouts: patienceSchema,
};

const optionsSchema = z.object(cloudOptions);

interface Cloud {
  /** Everything about the provider except how it signs, and what the operator's options say. */
  readonly provider: Omit<Provider, 'sign' | 'credential' | 'onAbort' | 'patience'>;
  /** How it signs with each of its keys. */
  readonly keys: readonly Pick<Provider, 'sign' | 'unwrap'>[];
  readonly probe: Probe;
  readonly catalogue: URL;
  /** Chooses which of the file's models are offered, and by which names; all of them unless given. */
  readonly choose?: (models: readonly Model[]) => readonly Model[];
  readonly options: z.output<typeof optionsSchema>;
}

export function offerCloud(
  host: Host,
  { provider, keys, probe, catalogue, choose = (models) => models, options }: Cloud,
): void {
  host.watchFile(fileURLToPath(catalogue));
  const models = applyOwnModels(provider.name, choose(readCatalogue(catalogue)), options.models);
  const shared = { ...provider, onAbort: buildDrainLimits(options.onAbort), patience: options.timeouts };
  for (const [index, key] of keys.entries()) {
    const one: Provider = { ...shared, ...key, ...(keys.length > 1 ? { credential: index + 1 } : {}) };
    addProvider(host, one, probe);
    host.catalog.offer(one, models);
  }
}
