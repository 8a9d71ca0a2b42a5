/** The error for a call that a budget refuses: which budget, what is left of it, and when it starts again. */
import { formatUsd, GatewayError, type Nano } from '../../../../core/index.ts';
import type { Quote } from '../reservations.ts';
import type { ShortBudget } from './budget.ts';

/** If a budget resets within this many milliseconds, the refusal has a `retry-after`. */
const near = 3_600_000;

/** A moment on the clocks of a zone: `2026-11-23 00:00 (Europe/Berlin)`. */
function localMoment(at: number, zone: string): string {
  const format = { timeZone: zone, dateStyle: 'short', timeStyle: 'short' } as const;
  return `${new Intl.DateTimeFormat('sv-SE', format).format(at)} (${zone})`;
}

export function budgetExceeded(
  quotes: readonly Quote[],
  { available, budget }: { readonly available: Nano; readonly budget: ShortBudget },
  at: number,
): GatewayError {
  const { id, scope, subject, per, zone, allowed, resets } = budget;
  const needed = quotes.reduce(
    (least, quote) => (quote.least < least ? quote.least : least),
    quotes[0]?.least ?? 0n,
  );
  const left = formatUsd(available > 0n ? available : 0n);
  const period = per === 'total' ? '' : ` for this ${per}`;
  const reset = resets === undefined ? '' : ` It resets at ${localMoment(resets, zone)}.`;
  return new GatewayError(
    'budget_exceeded',
    `This call could cost ${formatUsd(needed)} USD, and the budget ${id} of the ${scope} "${subject}" ` +
      `has ${left} of ${formatUsd(allowed)} USD left${period}.${reset} ` +
      'Shorten the input, lower the output limit, or have it raised: ' +
      `tollgate budgets raise ${id} <usd> --until <time>.`,
    resets !== undefined && resets - at <= near ? { retryAfter: Math.max(1, (resets - at) / 1000) } : {},
  );
}
