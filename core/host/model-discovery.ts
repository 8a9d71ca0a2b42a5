/**
 * Reads a provider's own list of models when the gateway is ready and from time to time, and offers what it
 * finds.
 */
import type { Logger } from 'pino';
import type { Catalog } from '../catalog.ts';
import type { CoreHooks } from '../hooks.ts';
import type { Model } from '../model-facts.ts';
import type { Host, OpenResource } from '../plugin.ts';
import type { Provider } from '../provider.ts';
import { readListing } from './model-listing.ts';

const patienceForListing = 5000;

/**
 * The provider's last answer. It outlives a reload, so that the next configuration offers the models before
 * it asks again.
 */
interface Listed {
  models?: readonly Model[];
}

interface Place {
  readonly hooks: CoreHooks;
  readonly catalog: Catalog;
  readonly logger: Logger;
  readonly open: OpenResource;
}

/** A provider that does not answer keeps its previous models: it may only be restarting. */
export function watchListing(
  { hooks, catalog, logger, open }: Place,
  provider: Provider,
  { url, headers, options }: Parameters<Host['discoverModels']>[1],
): void {
  let listed: Listed = {};
  const look = async (): Promise<void> => {
    try {
      const response = await fetch(url, {
        headers,
        redirect: 'error',
        signal: AbortSignal.timeout(patienceForListing),
      });
      if (!response.ok) throw new Error(`the provider answered ${response.status}`);
      listed.models = readListing(provider.name, await response.json(), options);
      catalog.offer(provider, listed.models);
    } catch (error) {
      logger.warn({ error }, `the list of models could not be read from ${url}`);
    }
  };
  catalog.keepPlace(provider, look);
  // Models that the operator describes need no list.
  catalog.offer(provider, readListing(provider.name, { data: [] }, options));
  let timer: NodeJS.Timeout | undefined;
  hooks.ready.tapPromise(provider.name, async () => {
    listed = await open(
      'listing',
      { provider: provider.name, url, headers, options },
      (): Listed => ({}),
      () => undefined,
    );
    if (listed.models) catalog.offer(provider, listed.models);
    // Not awaited: a slow provider must not delay the start.
    void look();
    timer = setInterval(() => void look(), options.discoverEvery * 1000).unref();
  });
  hooks.close.tapPromise(provider.name, async () => clearInterval(timer));
}
