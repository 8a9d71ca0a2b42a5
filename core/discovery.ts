/** Looks at a vendor's own list of models when the gateway is ready and from time to time, and offers what it finds. */
import type { Logger } from 'pino';
import type { Catalog } from './catalog.ts';
import type { CoreHooks } from './hooks.ts';
import { readListing } from './listing.ts';
import type { Host } from './plugin.ts';
import type { Provider } from './provider.ts';

const patienceForListing = 5000;

/** A vendor that does not answer keeps what it offered before: it may only be restarting. */
export function watchListing(hooks: CoreHooks, catalog: Catalog, provider: Provider, source: Parameters<Host['discover']>[1], logger: Logger): void {
  const { url, headers, options } = source;
  const look = async (): Promise<void> => {
    try {
      const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(patienceForListing) });
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      catalog.offer(provider, readListing(provider.name, await response.json(), options));
    } catch (error) {
      logger.warn({ error }, `the list of models could not be read from ${url}`);
    }
  };
  catalog.expect(provider, look);
  let timer: NodeJS.Timeout | undefined;
  // Not awaited: a vendor that is slow to answer must not keep the gateway from starting.
  hooks.ready.tapPromise(provider.name, async () => {
    void look();
    timer = setInterval(() => void look(), options.discoverEvery * 1000).unref();
  });
  hooks.close.tapPromise(provider.name, async () => clearInterval(timer));
}
