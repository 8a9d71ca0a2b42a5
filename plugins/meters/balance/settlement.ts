/**
 * How a call's end becomes the one entry that settles it, and how that entry is retried while the ledger
 * fails: it stays in memory and is retried after growing pauses, which end when the ledger works again. If
 * the process dies first, the pending reservation on disk is left to recover from.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import {
  computeChargeSoFar,
  isGatewayError,
  nameCounts,
  nameKind,
  type Charge,
  type End,
  type Host,
  type Planned,
  type Replayed,
  type Routed,
  type Target,
} from '../../../core/index.ts';
import { computeVendorCost } from '../../shared/vendor-price.ts';
import { nothing } from './decisions.ts';
import { settleWithoutFaulty } from './plugin-tables.ts';
import { getPriceRecord } from './prices.ts';
import type { Consumption, Progress, Settled, Settlement, Store } from './store.ts';

/** What a call used and what that costs, as the ledger stores it. */
function buildConsumption(
  { uses, mode, lines, rule, price }: Charge,
  { model, provider, price: asked }: Target,
  attempts: number,
): Consumption {
  const usage = nameCounts(uses);
  return {
    model: model.id,
    provider: provider.name,
    price: getPriceRecord(price ?? asked).version,
    input: usage.input ?? 0,
    output: usage.output ?? 0,
    usage: JSON.stringify({ ...usage, mode, rule: rule || undefined }),
    costs: JSON.stringify(lines.map((line) => [nameKind(line), line.count, line.rate])),
    attempts,
  };
}

/** The entry that releases a reservation whose call was not sent to any vendor. */
export function buildUnsent(id: string, reason: string, at: number, attempts = 0): Settlement {
  return { ...nothing, id, attempts, at, amount: undefined, reason, suspect: false };
}

/**
 * How an ended call is settled. If nothing is owed its reservation is voided, but a charge of 0 (a free
 * model) is posted.
 */
export function buildSettlement(end: Exclude<End, Replayed>, at: number): Settlement {
  const { id } = end.exchange;
  const attempts = end.attempts.length;
  if (end.type === 'refused') return buildUnsent(id, end.error.code, at, attempts);
  const { basis, cost, suspect } = end.charge;
  const { target } = end.exchange.attempt;
  return {
    ...buildConsumption(end.charge, target, attempts),
    id,
    at,
    basis,
    suspect,
    vendor: computeVendorCost(end.charge, end.charge.price ?? target.price),
    amount: basis === 'none' ? undefined : cost,
    reason: end.type === 'failed' ? end.error.code : end.outcome,
    outcome: end.recording,
  };
}

function isRouted(exchange: Planned | Routed): exchange is Routed {
  return 'attempt' in exchange && exchange.attempt !== undefined;
}

/** How far a running call has come; undefined until a vendor is called. */
export function findProgress(exchange: Planned): Progress | undefined {
  if (!isRouted(exchange) || !exchange.attempt.sent) return undefined;
  const { attempt, id } = exchange;
  const charge = computeChargeSoFar(exchange);
  return {
    ...buildConsumption(charge, attempt.target, attempt.number),
    id,
    sent: true,
    delivered: attempt.tally.deliveredBytes,
    owed: charge.cost,
  };
}

const firstPause = 100;
const longestPause = 10_000;

/** The pauses of all entries that wait for the ledger. */
export class Pauses {
  #wake = new AbortController();

  /** Waits so many milliseconds, or until `endAll`, or until the gateway stops. */
  async wait(milliseconds: number, closing: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([closing, this.#wake.signal]);
    await pauseFor(milliseconds, undefined, { signal }).catch(() => undefined);
  }

  /** Ends them: the ledger works again. */
  endAll(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }
}

export interface Retrying {
  readonly logger: Host['logger'];
  readonly pauses: Pauses;
  /** Fires when the gateway stops. The entry is then tried one last time, without a pause. */
  readonly closing: AbortSignal;
}

/**
 * Resolves when the entry is durable. It never rejects: if the gateway stops first, the entry is abandoned
 * and the loss is logged.
 */
export async function settleDurably(
  store: Store,
  settlement: Settlement,
  { logger, pauses, closing }: Retrying,
): Promise<Settled | undefined> {
  const call = settlement.id;
  for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
    try {
      const settled = await settleWithoutFaulty(store, settlement, logger);
      // After a failed try, "already" only means that the try succeeded and its reply was lost.
      const isStrange = settled.status.startsWith('already') || settled.status === 'not_found';
      if (isStrange && pause === firstPause) logger.error({ call, settled }, 'a call could not be settled');
      return settled;
    } catch (error) {
      const isOutOfOrder = isGatewayError(error) && error.code === 'ledger_unavailable';
      if (!isOutOfOrder || closing.aborted) {
        const { outcome: _, also: _also, amount, ...known } = settlement;
        const lost = { error, call, settlement: { ...known, amount: amount?.toString() } };
        logger.error(lost, 'a call was not settled: its reservation stays pending');
        return undefined;
      }
      if (pause === firstPause)
        logger.warn({ error, call }, 'the ledger failed: the call is settled again later');
      await pauses.wait(pause, closing);
    }
  }
}
