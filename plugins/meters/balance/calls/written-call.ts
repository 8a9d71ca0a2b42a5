/** An ended call as one row of the table of calls: JSON text, made once, which travels to the database as it is. */
import type { End } from '../../../../core/index.ts';
import { longestName, recordText, shortRecordText } from '../../../shared/calls/record.ts';
import type { callColumns } from './records.ts';

/** Characters of a record that are kept for days. Hostile calls can have longer ones. */
const longestRecord = 16_384;
/** A client that disconnected got no status; this is what the metrics call it. */
const goneStatus = 499;

type Columns = Readonly<Record<Exclude<(typeof callColumns)[number], 'tags'>, string | number | null>> & {
  readonly tags: Readonly<Record<string, string>>;
};

function statusOf(end: End): number {
  if (end.type === 'replayed') return end.replay.status;
  if (end.type === 'answered' && end.outcome === 'aborted') return goneStatus;
  return end.error?.status ?? 200;
}

function columnsOf(end: End, account: string, key: string): Columns {
  const { exchange, attempts, type } = end;
  const isAnswer = type === 'answered' || type === 'failed';
  const charge = isAnswer ? end.charge : undefined;
  const attempt = isAnswer ? end.exchange.attempt : undefined;
  const target = attempt?.target ?? (type === 'refused' ? end.exchange.targets?.[0] : undefined);
  const { input = 0, output = 0, cacheRead = 0, reasoning = 0 } = charge?.usage ?? {};
  const isStreamed = type === 'answered' && end.exchange.call.stream;
  return {
    call: exchange.id,
    started: exchange.receivedAt,
    ended: exchange.receivedAt + Math.round(end.duration),
    account,
    key,
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
    cost: String(charge?.cost ?? 0n),
    basis: charge?.basis ?? 'none',
    flags: charge?.suspect ? 'suspect' : '',
    tags: {},
  };
}

/** Undefined for a call without a valid key: strangers must not fill the database. */
export function writeCall(end: End): string | undefined {
  const { principal } = end.exchange;
  if (!principal) return undefined;
  const record = recordText(end);
  const columns = JSON.stringify(columnsOf(end, principal.account, principal.key));
  const body = record.length > longestRecord ? shortRecordText(end) : record;
  return `${columns.slice(0, -1)},"body":${body}}`;
}
