/**
 * How a call's end becomes the one entry that settles it, and how that entry is kept trying while the ledger is
 * out of order: from memory with growing pauses, with the pending reservation on disk as its backstop.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { costLines, formatUsd, isGatewayError, type Charge, type CostLine, type End, type Host, type Replayed, type Target } from '../../../core/index.ts';
import { priceRecord } from './prices.ts';
import type { Consumption, Settled, Settlement, Store } from './store.ts';

/** What was used and what it comes to, as the ledger keeps it. */
export function consumptionOf({ usage }: Charge, { model, provider, price }: Target, attempts: number): Consumption {
  return {
    model: model.id,
    provider: provider.name,
    price: priceRecord(price).version,
    input: usage.input ?? 0,
    output: usage.output ?? 0,
    usage: JSON.stringify(usage),
    costs: costsText(costLines(usage, price)),
    attempts,
  };
}

/** A list of flat lists: kind, units, and what one unit (or a million tokens) costs in USD. */
function costsText(lines: readonly CostLine[]): string {
  return JSON.stringify(lines.map(({ kind, units, rate }) => [kind, Number(units), formatUsd(rate)]));
}

const nobodyAsked = { model: undefined, provider: undefined, price: undefined, input: 0, output: 0, usage: '{}', costs: '[]' } as const;

/** An end for which nothing is owed voids its reservation; a charge of 0 (a free model) is posted. */
export function settlementOf(end: Exclude<End, Replayed>, at: number): Settlement {
  const { id } = end.exchange;
  const attempts = end.attempts.length;
  if (end.type === 'refused') return { ...nobodyAsked, id, attempts, at, amount: undefined, reason: end.error.code, basis: 'none', suspect: false };
  const { basis, cost } = end.charge;
  return {
    ...consumptionOf(end.charge, end.exchange.attempt.target, attempts),
    id, at, basis,
    amount: basis === 'none' ? undefined : cost,
    reason: end.type === 'failed' ? end.error.code : end.outcome,
    suspect: false,
    outcome: end.recording,
  };
}

const firstPause = 100;
const longestPause = 30_000;
/** Milliseconds after which an entry is left to its pending row. */
const patience = 15 * 60_000;

export interface Retrying {
  readonly logger: Host['logger'];
  /** Fires when the gateway stops: one last try is made at once. */
  readonly closing: AbortSignal;
}

/** Resolves once the entry is durable, or given up and logged as such; never rejects. */
export async function settleDurably(store: Store, settlement: Settlement, { logger, closing }: Retrying): Promise<Settled | undefined> {
  const began = performance.now();
  const reservation = settlement.id;
  for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
    try {
      const settled = await store.settle(settlement);
      const isRetry = pause > firstPause;
      // Behind a failed try, "already" tells that only its answer was lost.
      if (settled.status !== 'posted' && settled.status !== 'voided' && !isRetry) logger.error({ reservation, settled }, 'a call could not be settled');
      return settled;
    } catch (error) {
      const isOutOfOrder = isGatewayError(error) && error.code === 'ledger_unavailable';
      if (!isOutOfOrder || closing.aborted || performance.now() - began > patience) {
        logger.error({ error, settlement: { ...settlement, amount: settlement.amount?.toString(), outcome: undefined } }, 'a call was not settled: its reservation stays pending');
        return undefined;
      }
      if (pause === firstPause) logger.warn({ error, reservation }, 'the ledger is out of order: settling is tried again');
      await pauseFor(pause, undefined, { signal: closing }).catch(() => undefined);
    }
  }
}
