/** What callers and operators are shown of calls, from their records and from stored columns. */
import { formatUsd, listUses, type Use } from '../../../core/index.ts';
import type { CallRecord } from './record.ts';

/** Columns as either store or a record has them. */
export type ListedColumns = Pick<
  CallRecord,
  | 'call'
  | 'started'
  | 'ended'
  | 'account'
  | 'key'
  | 'asked'
  | 'model'
  | 'provider'
  | 'protocol'
  | 'status'
  | 'first_event'
  | 'duration'
  | 'attempts'
  | 'input'
  | 'output'
  | 'cached'
  | 'reasoning'
  | 'flags'
  | 'tags'
> & {
  readonly code: string | null;
  readonly outcome: string;
  readonly operation: string;
  readonly basis: string;
  readonly stream: boolean | number;
  readonly cost: string | bigint;
  readonly margin: string | bigint;
  /** Counts by their names; undefined in records that are older than they are. */
  readonly usage?: Readonly<Record<string, unknown>> | undefined;
};

const toIso = (time: number): string => new Date(time).toISOString();

/** What a call used of each unit. */
function listCallUses({ usage, input, output, cached, reasoning }: ListedColumns): Use[] {
  const uses = listUses(usage ?? { input, output, cacheRead: cached, reasoning });
  return uses.filter(({ count }) => count > 0);
}

/** A call as key holders see it in a list. */
export function describeOwnCall(row: ListedColumns) {
  const wasSent = row.provider !== '';
  return {
    id: row.call,
    started: toIso(row.started),
    ended: toIso(row.ended),
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
    uses: listCallUses(row),
    cost: formatUsd(BigInt(row.cost)),
    cost_basis: row.basis,
  };
}

/** A call as operators see it in a list. */
export function describeCall(row: ListedColumns) {
  const margin = BigInt(row.margin);
  return {
    ...describeOwnCall(row),
    account: row.account === '' ? null : row.account,
    key: row.key === '' ? null : row.key,
    status: row.status,
    vendor_cost: formatUsd(BigInt(row.cost) - margin),
    margin: formatUsd(margin),
    flags: row.flags.split(' ').filter((flag) => flag !== ''),
    tags: row.tags,
  };
}

/** Milliseconds of each step. A step that was not reached is left out. */
function describeTiming({
  authenticated,
  read,
  replayed,
  routed,
  authorized,
  ended,
  settled,
}: CallRecord['timing']) {
  // The end of a call is known when it begins to be settled.
  const settling = settled === 0 ? 0 : Math.min(settled, ended);
  return {
    authenticate: computeDuration(0, authenticated),
    read: computeDuration(authenticated, read),
    replay: computeDuration(read, replayed),
    route: computeDuration(replayed, routed),
    authorize: computeDuration(routed, authorized),
    settle_start: computeDuration(0, settling),
    settle: computeDuration(settling, settled),
  };
}

function computeDuration(from: number, to: number): number | undefined {
  return to === 0 ? undefined : (to - from) / 1000;
}

function describeRecord(record: CallRecord) {
  const wasAnswered = ['completed', 'aborted', 'cut'].includes(record.outcome);
  const cost = formatUsd(BigInt(record.cost));
  return {
    id: record.call,
    object: 'call',
    created: Math.floor(record.started / 1000),
    protocol: record.protocol,
    operation: record.operation,
    stream: Boolean(record.stream),
    model: record.asked,
    outcome: record.outcome,
    error: record.code === null ? null : { code: record.code, message: record.message ?? '' },
    provider: wasAnswered ? record.provider : null,
    answered_by: wasAnswered ? record.model : null,
    duration_ms: record.duration,
    cost,
    cost_basis: record.basis,
    rule: record.rule ?? null,
    usage: listUses(record.usage ?? {}),
    losses: record.losses ?? [],
    losses_omitted: record.losses_omitted,
    not_granted: record.not_granted,
    routing: record.routing,
    timing: describeTiming(record.timing),
    // The last attempt is the one that is charged.
    attempts: record.tries.map((each) => ({
      ...each,
      cost: each.number === record.attempts ? cost : formatUsd(0n),
      losses: each.losses ?? [],
    })),
  };
}

/** A call with all that its caller is shown, as `GET /v1/calls/{id}` returns it. */
export function readShownRecord(text: string): ReturnType<typeof describeRecord> {
  const record: CallRecord | ReturnType<typeof describeRecord> = JSON.parse(text);
  // Ledgers that are older than the record hold what is shown.
  return 'tries' in record ? describeRecord(record) : record;
}
