/**
 * Reads a provider's own list of models when the gateway is ready and from time to time, and offers what it
 * finds.
 */
import { hash } from 'node:crypto';
import type { Host, Model, Provider } from '../../../core/index.ts';
import { keepThroughReloads } from '../kept.ts';
import { raiseNotice, resolveNotice } from '../notices/events.ts';
import { readListing, withoutPrice, type LeftOut } from './listing.ts';
import type { ProviderOptions } from './options.ts';
import { fetchSigned } from './sign-with-key.ts';

const patienceForListing = 5000;

/**
 * The provider's last answer. It outlives a reload, so that the next configuration offers the models before
 * it asks again.
 */
interface Listed {
  models?: readonly Model[];
  /** What was last said of models that are not offered. */
  leftOut?: string;
}

/** Names of models in one line of the log. A vendor can list hundreds. */
const mostNames = 10;

/** Says which models of a list are not offered, and why: once, not with each look at the list. */
function reportLeftOut(
  { logger, notices }: Pick<Host, 'logger' | 'notices'>,
  provider: string,
  listed: Listed,
  leftOut: readonly LeftOut[],
): void {
  const models = leftOut.filter(({ reason }) => reason === withoutPrice).map(({ id }) => id);
  if (models.length === 0) resolveNotice(notices, 'price.missing', provider);
  const text = JSON.stringify(leftOut);
  if (leftOut.length === 0 || text === listed.leftOut) return;
  listed.leftOut = text;
  for (const [reason, rows] of Map.groupBy(leftOut, (row) => row.reason)) {
    const names = rows.slice(0, mostNames).map(({ id }) => JSON.stringify(id.slice(0, 200)));
    const more = rows.length > names.length ? ` and ${rows.length - names.length} more` : '';
    logger.info(`not offered: ${names.join(', ')}${more}: ${reason}`);
  }
  // Told again when there are others.
  const about = { subject: provider, period: hash('sha256', models.join('\n')).slice(0, 16) };
  if (models.length > 0) void raiseNotice(notices, 'price.missing', about, { provider, models });
}

interface Source {
  readonly url: string;
  /** As the operator states it, or refers to it. Lists that were read with another key are not used. */
  readonly key: string | undefined;
  readonly options: ProviderOptions;
}

/** A provider that does not answer keeps its previous models: it may only be restarting. */
export function watchListing(
  { hooks, catalog, logger, notices, openResource }: Host,
  provider: Provider,
  { url, key, options }: Source,
): void {
  const known: Listed = {};
  const settings = { provider: provider.name, url, key, options };
  const getListed = keepThroughReloads({ hooks, openResource }, 'listing', known, settings);
  const look = async (): Promise<void> => {
    try {
      const request = { method: 'GET', url, headers: {}, body: '' } as const;
      const limits = { redirect: 'error', signal: AbortSignal.timeout(patienceForListing) } as const;
      const response = await fetchSigned(provider, request, limits);
      if (!response.ok) throw new Error(`the provider answered ${response.status}`);
      const leftOut: LeftOut[] = [];
      const listed = getListed();
      listed.models = readListing(provider.name, await response.json(), options, leftOut);
      catalog.offer(provider, listed.models);
      reportLeftOut({ logger, notices }, provider.name, listed, leftOut);
    } catch (error) {
      logger.warn({ error }, `the list of models could not be read from ${url}`);
    }
  };
  catalog.keepPlace(provider, look);
  // Models that the operator describes need no list.
  catalog.offer(provider, readListing(provider.name, { data: [] }, options));
  let timer: NodeJS.Timeout | undefined;
  hooks.ready.tapPromise(provider.name, async () => {
    const { models } = getListed();
    if (models) catalog.offer(provider, models);
    // Not awaited: a slow provider must not delay the start.
    void look();
    timer = setInterval(() => void look(), options.discoverEvery * 1000).unref();
  });
  hooks.close.tapPromise(provider.name, async () => clearInterval(timer));
}
