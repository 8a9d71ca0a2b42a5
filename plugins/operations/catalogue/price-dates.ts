/**
 * Warns about prices that were last checked long ago, and before the holidays end that price rules know: at
 * the start and daily in the log, in `doctor`, and in a metric. Days after the last holidays are priced as if
 * none were a holiday.
 */
import { type Catalog, type Finding, type Host } from '../../../core/index.ts';
import { defineGauge } from '../../shared/metric.ts';
import { findPriceOrigin } from '../../shared/provider/catalogue-file.ts';

const day = 24 * 60 * 60 * 1000;
/** Days before the end of the known holidays from which on it is time to add the next ones. */
const notice = 30;

/** The earliest date of each provider's prices. Prices that an operator states have none. */
function findEarliestDates(
  catalog: Catalog,
  member: 'asOf' | 'holidaysThrough',
): [provider: string, date: string][] {
  const found = new Map<string, string>();
  for (const { provider, price } of catalog.listModels().flatMap(({ id }) => catalog.find(id))) {
    const date = findPriceOrigin(price)?.[member];
    const known = found.get(provider.name);
    if (date !== undefined && (known === undefined || date < known)) found.set(provider.name, date);
  }
  return [...found];
}

/** The day on which the oldest price of each provider was checked, and how many days ago that was. */
export function findPriceAges(catalog: Catalog, now: number) {
  return findEarliestDates(catalog, 'asOf').map(([provider, asOf]) => {
    return { provider, asOf, days: Math.max(0, Math.floor((now - Date.parse(asOf)) / day)) };
  });
}

/** The last day of each provider whose holidays are known, and the days left after today. */
export function findHolidayEnds(catalog: Catalog, now: number) {
  return findEarliestDates(catalog, 'holidaysThrough').map(([provider, through]) => {
    return { provider, through, days: Math.floor((Date.parse(through) - now) / day) + 1 };
  });
}

interface Dated {
  readonly provider: string;
  readonly days: number;
}

interface Watched<Found extends Dated> {
  /** The day of the check. */
  readonly name: string;
  readonly metric: readonly [name: string, help: string, together: 'min' | 'max'];
  readonly warning: string;
  readonly remedy: string;
  find(catalog: Catalog, now: number): Found[];
  isDue(days: number): boolean;
  /** The warning about those that are due; undefined if none is. */
  buildMessage(due: readonly Found[], all: readonly Found[]): string | undefined;
}

function watch<Found extends Dated>(
  { catalog, examinations, hooks, logger, metrics }: Host,
  { name, metric: [metric, help, together], warning, remedy, find, isDue, buildMessage }: Watched<Found>,
): void {
  const findNow = (): Found[] => find(catalog, Date.now());
  async function examine(): Promise<Finding[]> {
    const all = findNow();
    const due = all.filter(({ days }) => isDue(days));
    const text = buildMessage(due, all);
    if (text === undefined) return [];
    const verdict = due.length === 0 ? ({ state: 'well' } as const) : ({ state: 'note', remedy } as const);
    return [{ subject: 'prices', message: text, ...verdict }];
  }
  examinations.add({ name, examine });
  const days = defineGauge(metrics, metric, help, { together, labelNames: ['provider'] });
  // A reload makes a new catalogue and keeps the metric.
  Object.assign(days, {
    collect(): void {
      days.reset();
      for (const each of findNow()) days.set({ provider: each.provider }, each.days);
    },
  });
  const warn = (): void => {
    for (const each of findNow().filter(({ days }) => isDue(days))) {
      const facts: object = each;
      logger.warn(facts, `${warning}: ${remedy}`);
    }
  };
  let daily: NodeJS.Timeout | undefined;
  hooks.ready.tap(name, () => {
    warn();
    daily = setInterval(warn, day).unref();
  });
  hooks.close.tapPromise(name, async () => clearInterval(daily));
}

const consequence = 'later days are priced as if none were a holiday';

/** `most` is how many days are not too old for a price. */
export function watchPriceDates(host: Host, most: number): void {
  watch(host, {
    name: 'prices',
    metric: ['tollgate_price_age_days', 'Days since the oldest price of a provider was checked.', 'max'],
    warning: 'old prices may be wrong',
    remedy:
      'apply new ones: tollgate prices update <file or URL>, or name a feed: catalogue({ prices: { feed } })',
    find: findPriceAges,
    isDue: (days) => days > most,
    buildMessage(due, all) {
      if (due.length === 0) return all.length === 0 ? undefined : `all were checked in the last ${most} days`;
      const names = due.map(({ provider, asOf }) => `${provider} of ${asOf}`).join(', ');
      return `older than ${most} days: ${names}`;
    },
  });
  watch(host, {
    name: 'holidays',
    metric: ['tollgate_price_holidays_days', 'Days for which the holidays of price rules are known.', 'min'],
    warning: `the known holidays end; ${consequence}`,
    remedy: 'update the gateway, or state the price with its days in the option "models" of the provider',
    find: findHolidayEnds,
    isDue: (days) => days < notice,
    buildMessage(due) {
      if (due.length === 0) return undefined;
      const names = due.map(({ provider, through }) => `${provider} on ${through}`).join(', ');
      return `the known holidays end: ${names}; ${consequence}`;
    },
  });
}
