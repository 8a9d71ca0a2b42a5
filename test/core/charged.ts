/** Charges a call whose provider reports whatever usage a test wants. */
import { computeCharge } from '../../core/billing/charge.ts';
import type { Usage } from '../../core/index.ts';
import { Tally } from '../../core/tally.ts';
import { target } from '../balance/targets.ts';
import { buildRouted } from '../support/exchange.ts';
import { nameUsage } from '../support/rates.ts';

export const inHouse = target('house', { input: '1', output: '2', cacheRead: '0.1' });
export const exchange = buildRouted(inHouse);

Object.assign(exchange.attempt, { sent: true, phase: 'first-event' });

export const bytes = exchange.call.size.textBytes;

export type NamedCharge = ReturnType<typeof nameUsage>;

/** A charge with its counts by their names. */
export function chargeOf(...asked: Parameters<typeof computeCharge>): NamedCharge {
  return nameUsage(computeCharge(...asked));
}

/** Charges a completed call whose provider sent this usage, one after the other, and so much text. */
export function chargeUsage(
  figures: readonly Usage[],
  text = 'hello there',
  outcome: 'completed' | 'aborted' = 'completed',
): NamedCharge {
  const tally = new Tally();
  tally.read({ type: 'block-delta', candidate: 0, block: 0, text });
  for (const usage of figures) tally.read({ type: 'usage', usage });
  return chargeOf(outcome, exchange, tally);
}

export const estimate = { input: Math.ceil(bytes / 4), output: 3 };
