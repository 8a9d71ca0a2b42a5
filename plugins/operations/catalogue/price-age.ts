/** Warns about prices that were last checked long ago: at the start, in `doctor`, and in a metric. */
import { findPriceOrigin, type Catalog, type Finding, type Host } from '../../../core/index.ts';
import { gauge } from '../../shared/metric.ts';

const day = 24 * 60 * 60 * 1000;

export interface PriceAge {
  readonly provider: string;
  /** The day on which the oldest of its prices was checked. */
  readonly asOf: string;
  readonly days: number;
}

/** The age of each provider's oldest price. Prices that an operator states have none. */
export function findPriceAges(catalog: Catalog, now: number): PriceAge[] {
  const oldest = new Map<string, string>();
  for (const { provider, price } of catalog.models().flatMap(({ id }) => catalog.find(id))) {
    const asOf = findPriceOrigin(price)?.asOf;
    const known = oldest.get(provider.name);
    if (asOf !== undefined && (known === undefined || asOf < known)) oldest.set(provider.name, asOf);
  }
  return [...oldest].map(([provider, asOf]) => ({
    provider,
    asOf,
    days: Math.max(0, Math.floor((now - Date.parse(asOf)) / day)),
  }));
}

const remedy =
  'apply new ones: tollgate prices update <file or URL>, or name a feed: catalogue({ prices: { feed } })';

function examineAges(catalog: Catalog, most: number): Finding[] {
  const ages = findPriceAges(catalog, Date.now());
  if (ages.length === 0) return [];
  const old = ages.filter(({ days }) => days > most);
  const subject = 'prices';
  if (old.length === 0)
    return [{ subject, state: 'well', message: `all were checked in the last ${most} days` }];
  const names = old.map(({ provider, asOf }) => `${provider} of ${asOf}`).join(', ');
  return [{ subject, state: 'note', message: `older than ${most} days: ${names}`, remedy }];
}

/** Adds the warnings and the metric. `most` is how many days are not too old. */
export function watchPriceAges({ catalog, examinations, hooks, logger, metrics }: Host, most: number): void {
  examinations.add({ name: 'prices', examine: async () => examineAges(catalog, most) });
  const age = gauge(
    metrics,
    'tollgate_price_age_days',
    'Days since the oldest price of a provider was checked.',
    { together: 'max', labelNames: ['provider'] },
  );
  // A reload makes a new catalogue and keeps the metric.
  Object.assign(age, {
    collect(): void {
      age.reset();
      for (const { provider, days } of findPriceAges(catalog, Date.now())) age.set({ provider }, days);
    },
  });
  const warn = (): void => {
    for (const { provider, asOf, days } of findPriceAges(catalog, Date.now()))
      if (days > most) logger.warn({ provider, asOf, days }, `old prices may be wrong: ${remedy}`);
  };
  let daily: NodeJS.Timeout | undefined;
  hooks.ready.tap('prices', () => {
    warn();
    daily = setInterval(warn, day).unref();
  });
  hooks.close.tapPromise('prices', async () => clearInterval(daily));
}
