/**
 * Follows the shared history of prices in a running gateway, and reads the automatic feed. Each process
 * reads the history every few seconds, so that a change reaches all workers and machines without a
 * restart. One of the processes reads the feed when it is due.
 */
import { getMessage, type Catalog, type Documents, type Host } from '../../../core/index.ts';
import { defineCounter, defineGauge } from '../../shared/metric.ts';
import { loadFeed, formatSource, type PublicKey } from './load-feed.ts';
import { AppliedPrices, editHistory, readHistory, type PriceHistory } from './price-history.ts';
import { applyFeed } from './price-updates.ts';
import { readSnapshot } from './snapshot.ts';

export interface AutomaticFeed {
  readonly feed: string;
  /** Milliseconds. */
  readonly every: number;
}

export interface PriceServiceOptions {
  readonly automatic: AutomaticFeed | undefined;
  readonly publicKey: PublicKey | undefined;
}

/** Milliseconds between two reads of the history. */
const lookEvery = 2000;

type Use = <Result>(work: (documents: Documents) => Promise<Result>) => Promise<Result>;

function createMetrics(registry: Host['metrics']) {
  return {
    ok: defineGauge(registry, 'tollgate_price_feed_ok', '1, or 0 after the price feed could not be read', {
      together: 'min',
    }),
    succeeded: defineGauge(
      registry,
      'tollgate_price_feed_last_success_timestamp_seconds',
      'When the price feed was read last',
      { together: 'max' },
    ),
    failures: defineCounter(registry, 'tollgate_price_feed_failures_total', 'Failed reads of the price feed'),
    held: defineGauge(
      registry,
      'tollgate_price_updates_held',
      'Price updates that wait for an operator to confirm them',
      { together: 'max' },
    ),
  };
}

export class PriceService {
  readonly #catalog: Catalog;
  readonly #logger: Host['logger'];
  readonly #use: Use;
  readonly #options: PriceServiceOptions;
  readonly #metrics: ReturnType<typeof createMetrics>;
  #version = -1;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Whether the history could not be read the last time: an outage is logged only once. */
  #isAway = false;

  constructor(
    { catalog, logger, metrics }: Pick<Host, 'catalog' | 'logger' | 'metrics'>,
    use: Use,
    options: PriceServiceOptions,
  ) {
    this.#catalog = catalog;
    this.#logger = logger;
    this.#use = use;
    this.#options = options;
    this.#metrics = createMetrics(metrics);
    this.#metrics.ok.set(1);
  }

  /** Rejects if the prices in effect cannot be read: the catalogue's prices could be out of date. */
  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => void this.look(), lookEvery).unref();
    if (this.#options.automatic) void this.look();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Reads the history, and the feed if it is due. Only one read runs at a time. */
  look(): Promise<void> {
    this.#running ??= this.#lookAndRead()
      .then(() => void (this.#isAway = false))
      .catch((error: unknown) => {
        if (!this.#isAway) this.#logger.warn({ error }, 'the history of prices could not be read');
        this.#isAway = true;
      })
      .finally(() => void (this.#running = undefined));
    return this.#running;
  }

  async #lookAndRead(): Promise<void> {
    const { feed } = await this.#look();
    const { automatic } = this.#options;
    if (!automatic || wasReadWithin(feed, automatic.every)) return;
    const isOurs = await this.#use((documents) => claimRead(documents, automatic.every));
    if (!isOurs) return;
    await this.#readFeed(automatic);
    await this.#look();
  }

  async #look(): Promise<PriceHistory> {
    const { version, history } = await this.#use(readHistory);
    if (version === this.#version) return history;
    const { feed, updates } = history;
    this.#catalog.setPrices(new AppliedPrices(history));
    if (this.#version >= 0) this.#logger.info({ version }, 'the prices were read again');
    this.#version = version;
    this.#metrics.held.set(updates.filter(({ state }) => state === 'held').length);
    this.#metrics.ok.set(this.#options.automatic && feed?.fault !== undefined ? 0 : 1);
    if (feed?.succeeded !== undefined) this.#metrics.succeeded.set(feed.succeeded / 1000);
    return history;
  }

  async #readFeed({ feed: source }: AutomaticFeed): Promise<void> {
    let fault: string | undefined;
    try {
      const { text, name } = await loadFeed(source, this.#options.publicKey);
      const order = { source: name, from: Date.now(), by: 'feed', confirmed: false, automatic: true };
      const snapshot = readSnapshot(text, name);
      const result = await this.#use((documents) => applyFeed(documents, this.#catalog, snapshot, order));
      if (result.matched === 0) throw new Error(`the price feed ${name} has no model of the catalogue`);
      const { applied, held, doubtful } = result;
      if (applied !== null)
        this.#logger.info({ update: applied, source: name }, 'the price feed changed prices');
      if (held !== null)
        this.#logger.warn(
          { update: held, source: name, doubtful: doubtful.slice(0, 20) },
          'the price feed has prices that an operator has to confirm: run `tollgate prices list`',
        );
    } catch (error) {
      fault = getMessage(error).slice(0, 500);
      this.#metrics.failures.inc();
      this.#logger.error(
        { error, source: formatSource(source) },
        'the price feed failed and prices stay as they are: check it, or run `tollgate prices update <file>`',
      );
    }
    await this.#use((documents) => noteRead(documents, fault));
  }
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
