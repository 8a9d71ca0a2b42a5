/** The facts of an ended call by which calls are listed, stored and shown live. */
import { formatUsd, type End } from '../../../core/index.ts';
import { attributionOf } from '../attribution.ts';
import { vendorCost } from '../vendor-price.ts';
import { longestName } from './record.ts';

/** A client that disconnected got no status; this is what the metrics call it. */
const goneStatus = 499;

function statusOf(end: End): number {
  if (end.type === 'replayed') return end.replay.status;
  if (end.type === 'answered' && end.outcome === 'aborted') return goneStatus;
  return end.error?.status ?? 200;
}

/**
 * One flat literal, since every call makes it. Empty texts: no valid key, no model found, no provider called.
 */
export function columnsOf(end: End) {
  const { exchange, attempts, type } = end;
  const isAnswer = type === 'answered' || type === 'failed';
  const charge = isAnswer ? end.charge : undefined;
  const attempt = isAnswer ? end.exchange.attempt : undefined;
  const target = attempt?.target ?? (type === 'refused' ? end.exchange.targets?.[0] : undefined);
  const { input = 0, output = 0, cacheRead = 0, reasoning = 0 } = charge?.usage ?? {};
  const cost = charge?.cost ?? 0n;
  const bill = charge && attempt ? vendorCost(charge, attempt.target.price) : undefined;
  const isStreamed = type === 'answered' && end.exchange.call.stream;
  return {
    call: exchange.id,
    started: exchange.receivedAt,
    ended: exchange.receivedAt + Math.round(end.duration),
    account: exchange.principal?.account ?? '',
    key: exchange.principal?.key ?? '',
    asked: exchange.call?.model.slice(0, longestName) ?? null,
    model: target?.model.id ?? '',
    provider: attempt?.target.provider.name ?? '',
    protocol: exchange.family,
    operation: exchange.operation,
    stream: exchange.call?.stream ? 1 : 0,
    outcome: type === 'answered' ? end.outcome : type,
    code: type === 'replayed' ? null : (end.error?.code ?? null),
    status: statusOf(end),
    first_event:
      isStreamed && attempt?.firstEventAfter !== undefined
        ? Math.round(attempt.startedAt - exchange.startedAt + attempt.firstEventAfter)
        : null,
    duration: Math.round(end.duration),
    attempts: attempts.length,
    input,
    output,
    cached: cacheRead,
    reasoning,
    cost: String(cost),
    // What is charged above the vendor's bill.
    margin: String(bill === undefined ? 0n : cost - bill),
    basis: charge?.basis ?? 'none',
    flags: charge?.suspect ? 'suspect' : '',
    tags: attributionOf(exchange).byName,
  };
}

/** Columns as either store or an end has them. */
export type ListedColumns = Omit<
  ReturnType<typeof columnsOf>,
  'stream' | 'cost' | 'margin' | 'asked' | 'code' | 'outcome' | 'operation' | 'basis'
> & {
  readonly asked: string | null;
  readonly code: string | null;
  readonly outcome: string;
  readonly operation: string;
  readonly basis: string;
  readonly stream: boolean | number;
  readonly cost: string | bigint;
  readonly margin: string | bigint;
};

const iso = (time: number): string => new Date(time).toISOString();

/** A call as key holders see it in a list. */
export function ownCall(row: ListedColumns) {
  const wasSent = row.provider !== '';
  return {
    id: row.call,
    started: iso(row.started),
    ended: iso(row.ended),
    protocol: row.protocol,
    operation: row.operation,
    stream: Boolean(row.stream),
    model: row.asked,
    answered_by: wasSent ? row.model : null,
    provider: wasSent ? row.provider : null,
    outcome: row.outcome,
    error_code: row.code,
    first_event_ms: row.first_event,
    duration_ms: row.duration,
    attempts: row.attempts,
    input: row.input,
    output: row.output,
    cached: row.cached,
    reasoning: row.reasoning,
    cost: formatUsd(BigInt(row.cost)),
    cost_basis: row.basis,
  };
}

/** A call as operators see it in a list. */
export function shownCall(row: ListedColumns) {
  const margin = BigInt(row.margin);
  return {
    ...ownCall(row),
    account: row.account === '' ? null : row.account,
    key: row.key === '' ? null : row.key,
    status: row.status,
    vendor_cost: formatUsd(BigInt(row.cost) - margin),
    margin: formatUsd(margin),
    flags: row.flags.split(' ').filter((flag) => flag !== ''),
    tags: row.tags,
  };
}
