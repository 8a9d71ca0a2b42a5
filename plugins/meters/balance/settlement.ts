/**
 * How a call's end becomes the one entry that settles it, and how that entry is kept trying while the ledger is
 * out of order: from memory with growing pauses, with the pending reservation on disk as its backstop.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { formatUsd, isGatewayError, type End, type Host, type Price, type Replayed } from '../../../core/index.ts';
import type { Settled, Settlement, Store } from './store.ts';

const priceTexts = new WeakMap<Price, string>();

/** The rates as the catalogue writes them; one text for each price, since every call of a model has the same. */
function priceText(price: Price): string {
  const known = priceTexts.get(price);
  if (known !== undefined) return known;
  const text = JSON.stringify(price, (_, value: unknown) => (typeof value === 'bigint' ? formatUsd(value) : value));
  priceTexts.set(price, text);
  return text;
}

/** An end for which nothing is owed voids its reservation; a charge of 0 (a free model) is posted. */
export function settlementOf(end: Exclude<End, Replayed>, at: number): Settlement {
  const ended = { id: end.exchange.id, attempts: end.attempts.length, at };
  if (end.type === 'refused') {
    return { ...ended, amount: undefined, reason: end.error.code, basis: 'none', usage: '{}', price: undefined, model: undefined, provider: undefined };
  }
  const { model, provider, price } = end.exchange.attempt.target;
  const { basis, cost, usage } = end.charge;
  return {
    ...ended,
    amount: basis === 'none' ? undefined : cost,
    reason: end.type === 'failed' ? end.error.code : end.outcome,
    basis,
    usage: JSON.stringify(usage),
    price: priceText(price),
    model: model.id,
    provider: provider.name,
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
        logger.error({ error, settlement: { ...settlement, amount: settlement.amount?.toString() } }, 'a call was not settled: its reservation stays pending');
        return undefined;
      }
      if (pause === firstPause) logger.warn({ error, reservation }, 'the ledger is out of order: settling is tried again');
      await pauseFor(pause, undefined, { signal: closing }).catch(() => undefined);
    }
  }
}
