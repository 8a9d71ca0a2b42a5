/**
 * Follows the shared history of prices in a running gateway, and reads the automatic feed. Each process
 * reads the history every few seconds, so that a change reaches all workers and machines without a
 * restart. One of the processes reads the feed when it is due.
 */
import { getMessage, type Documents, type Host } from '../../../core/index.ts';
import { defineCounter, defineGauge } from '../../shared/metric.ts';
import { raiseNotice, resolveNotice } from '../../shared/notices/events.ts';
import { loadFeed, formatSource } from './load-feed.ts';
import { AppliedPrices, editHistory, readHistory, type PriceHistory } from './price-history.ts';
import { applyFeed, type PriceWork } from './price-updates.ts';
import { readSnapshot } from './snapshot.ts';

/** Milliseconds between two reads of the history. */
const lookEvery = 2000;

function createMetrics(registry: Host['metrics']) {
  const most = { together: 'max' } as const;
  const define = (name: string, help: string, options: Parameters<typeof defineGauge>[3] = most) =>
    defineGauge(registry, name, help, options);
  return {
    ok: define('tollgate_price_feed_ok', '1, or 0 after the price feed could not be read', {
      together: 'min',
    }),
    succeeded: define(
      'tollgate_price_feed_last_success_timestamp_seconds',
      'When the price feed was read last',
    ),
    failures: defineCounter(registry, 'tollgate_price_feed_failures_total', 'Failed reads of the price feed'),
    held: define('tollgate_price_updates_held', 'Price updates that wait for an operator to confirm them'),
  };
}

async function applySource(
  logger: Host['logger'],
  { catalog, publicKey, use }: PriceWork,
  from: string,
): Promise<void> {
  const { text, name } = await loadFeed(from, publicKey);
  const order = { source: name, from: Date.now(), by: 'feed', confirmed: false, automatic: true };
  const snapshot = readSnapshot(text, name);
  const result = await use((documents) => applyFeed(documents, catalog, snapshot, order));
  if (result.matched === 0) throw new Error(`the price feed ${name} has no model of the catalogue`);
  const { applied, held: update, doubtful } = result;
  if (applied !== null) logger.info({ update: applied, source: name }, 'the price feed changed prices');
  if (update !== null)
    logger.warn(
      { update, source: name, doubtful: doubtful.slice(0, 20) },
      'the price feed has prices that an operator has to confirm: run `tollgate prices list`',
    );
}

/** Returns why the feed could not be applied, if so. */
async function tryFeed(logger: Host['logger'], work: PriceWork, from: string): Promise<string | undefined> {
  try {
    await applySource(logger, work, from);
    return undefined;
  } catch (error) {
    logger.error(
      { error, source: formatSource(from) },
      'the price feed failed and prices stay as they are: check it, or run `tollgate prices update <file>`',
    );
    return getMessage(error).slice(0, 500);
  }
}

/** Tells operators of updates that wait for them, and that they wait no more. */
function raiseHeld(notices: Host['notices'], { updates }: PriceHistory): void {
  for (const { id, state, at, changes } of updates) {
    const subject = `price update ${id}`;
    if (state !== 'held') resolveNotice(notices, 'price.held', subject);
    else
      void raiseNotice(
        notices,
        'price.held',
        { subject, period: at },
        { update: id, models: changes.length },
      );
  }
}

/** Tells operators that the feed fails, or that it works again. */
function raiseFeedFault(notices: Host['notices'], feed: PriceHistory['feed'], from: string): void {
  const [subject, reason] = [formatSource(from), feed?.fault];
  if (reason === undefined) resolveNotice(notices, 'price.feed_failed', subject);
  else void raiseNotice(notices, 'price.feed_failed', { subject }, { source: subject, reason });
}

/** `feed` is read each time that `every` milliseconds have passed, if there is one. */
export function createPriceService(
  { logger, metrics, notices }: Pick<Host, 'logger' | 'metrics' | 'notices'>,
  work: PriceWork,
  { feed: source, every }: { readonly feed: string | undefined; readonly every: number },
) {
  const { catalog, use } = work;
  const { ok, succeeded, failures, held } = createMetrics(metrics);
  ok.set(1);
  let lastVersion = -1;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  /** Whether the history could not be read the last time: an outage is logged only once. */
  let isAway = false;

  async function readPrices(): Promise<PriceHistory> {
    const { version, history } = await use(readHistory);
    const { feed, updates } = history;
    raiseHeld(notices, history);
    if (source !== undefined) raiseFeedFault(notices, feed, source);
    if (version === lastVersion) return history;
    catalog.setPrices(new AppliedPrices(history));
    if (lastVersion >= 0) logger.info({ version }, 'the prices were read again');
    lastVersion = version;
    held.set(updates.filter(({ state }) => state === 'held').length);
    ok.set(source !== undefined && feed?.fault !== undefined ? 0 : 1);
    if (feed?.succeeded !== undefined) succeeded.set(feed.succeeded / 1000);
    return history;
  }

  async function lookAndRead(): Promise<void> {
    const { feed } = await readPrices();
    if (source === undefined || wasReadWithin(feed, every)) return;
    if (!(await use((documents) => claimRead(documents, every)))) return;
    const fault = await tryFeed(logger, work, source);
    if (fault !== undefined) failures.inc();
    await use((documents) => noteRead(documents, fault));
    await readPrices();
  }

  /** Reads the history, and the feed if it is due. Only one read runs at a time. */
  function look(): Promise<void> {
    running ??= lookAndRead()
      .then(() => void (isAway = false))
      .catch((error: unknown) => {
        if (!isAway) logger.warn({ error }, 'the history of prices could not be read');
        isAway = true;
      })
      .finally(() => void (running = undefined));
    return running;
  }

  return {
    look,
    /** Rejects if the prices in effect cannot be read: the catalogue's prices could be out of date. */
    async start(): Promise<void> {
      await readPrices();
      timer = setInterval(() => void look(), lookEvery).unref();
      if (source !== undefined) void look();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await running;
    },
  };
}

/** Whether the feed was read in this time. A time to come is one before the clock jumped back. */
function wasReadWithin(feed: PriceHistory['feed'], every: number): boolean {
  const since = Date.now() - (feed?.attempted ?? 0);
  return since >= 0 && since < every;
}

function claimRead(documents: Documents, every: number): Promise<boolean> {
  return editHistory(documents, (history) => {
    if (wasReadWithin(history.feed, every)) return { result: false };
    const attempted = Date.now();
    return { next: { ...history, feed: { ...history.feed, attempted } }, result: true };
  });
}

function noteRead(documents: Documents, fault: string | undefined): Promise<void> {
  return editHistory(documents, (history) => {
    const { attempted = Date.now(), succeeded } = history.feed ?? {};
    const feed = fault === undefined ? { attempted, succeeded: Date.now() } : { attempted, succeeded, fault };
    return { next: { ...history, feed }, result: undefined };
  });
}
