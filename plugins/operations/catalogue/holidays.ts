/**
 * Warns before the holidays end that price rules know: at the start, in `doctor`, and in a metric. Days after
 * them are priced as if none were a holiday.
 */
import { findPriceOrigin, type Catalog, type Finding, type Host } from '../../../core/index.ts';
import { gauge } from '../../shared/metric.ts';

const day = 24 * 60 * 60 * 1000;
/** Days before the end from which on it is time to add the next holidays. */
const notice = 30;

interface HolidaysEnd {
  readonly provider: string;
  /** The last day whose holidays are known. */
  readonly through: string;
  /** Whole days left after today; below zero once it is over. */
  readonly days: number;
}

export function findHolidayEnds(catalog: Catalog, now: number): HolidaysEnd[] {
  const first = new Map<string, string>();
  for (const { provider, price } of catalog.models().flatMap(({ id }) => catalog.find(id))) {
    const through = findPriceOrigin(price)?.holidaysThrough;
    const known = first.get(provider.name);
    if (through !== undefined && (known === undefined || through < known)) first.set(provider.name, through);
  }
  return [...first].map(([provider, through]) => ({
    provider,
    through,
    days: Math.floor((Date.parse(through) - now) / day) + 1,
  }));
}

const consequence = 'later days are priced as if none were a holiday';
const remedy = 'update the gateway, or state the price with its days in the option "models" of the provider';

function examine(catalog: Catalog): Finding[] {
  const soon = findHolidayEnds(catalog, Date.now()).filter(({ days }) => days < notice);
  if (soon.length === 0) return [];
  const names = soon.map(({ provider, through }) => `${provider} on ${through}`).join(', ');
  const message = `the known holidays end: ${names}; ${consequence}`;
  return [{ subject: 'prices', state: 'note', message, remedy }];
}

export function watchHolidays({ catalog, examinations, hooks, logger, metrics }: Host): void {
  examinations.add({ name: 'holidays', examine: async () => examine(catalog) });
  const left = gauge(
    metrics,
    'tollgate_price_holidays_days',
    'Days for which the holidays of price rules are known.',
    { together: 'min', labelNames: ['provider'] },
  );
  Object.assign(left, {
    collect(): void {
      left.reset();
      for (const { provider, days } of findHolidayEnds(catalog, Date.now())) left.set({ provider }, days);
    },
  });
  const warn = (): void => {
    for (const each of findHolidayEnds(catalog, Date.now()))
      if (each.days < notice) logger.warn(each, `the known holidays end; ${consequence}: ${remedy}`);
  };
  let daily: NodeJS.Timeout | undefined;
  hooks.ready.tap('holidays', () => {
    warn();
    daily = setInterval(warn, day).unref();
  });
  hooks.close.tapPromise('holidays', async () => clearInterval(daily));
}
