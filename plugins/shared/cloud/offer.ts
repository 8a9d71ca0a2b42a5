/** What every cloud does once it is switched on: be a provider, and offer what its catalogue file says. */
import { fileURLToPath } from 'node:url';
import { readCatalogue, type Host, type Model, type Provider } from '../../../core/index.ts';

/** `choose` says which of the file's models are offered, and by which names. */
export function offer(host: Host, provider: Provider, catalogue: URL, choose: (models: readonly Model[]) => readonly Model[] = (models) => models): void {
  host.readsFrom(fileURLToPath(catalogue));
  host.providers.add(provider);
  host.catalog.offer(provider, choose(readCatalogue(catalogue)));
}
