/** What an overview shows: spend, calls, tokens, errors, cache hits and times, as totals and series. */
import { z } from 'zod';
import { findCount, formatUsd, kinds, nameKind, type Use } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import {
  computePercentile,
  counted,
  dimensions,
  formerKinds,
  shortestKept,
  units,
  type Unit,
} from '../calls/figures.ts';
import type { OverviewRow } from '../store.ts';
import { nameKey, readKeyNames } from './key-records.ts';
import { defineOperation, type Ledger } from './operation.ts';
import { accountName, buildNumberSchema, period, checkPeriod } from './reading.ts';
import { buildParamError, toIso } from './replies.ts';

const name = z.string().min(1).max(200).optional();
const unitNames = ['5m', '1h', '1d'] as const satisfies Unit[];

const overviewQuery = checkPeriod(
  z.strictObject({
    ...period,
    by: z.enum(dimensions, `an overview is by ${dimensions.join(', ')}`).default('model'),
    tag: name,
    step: z.enum(unitNames, `a step is one of ${unitNames.join(', ')}`).optional(),
    top: buildNumberSchema(1, 100).default(12),
    account: accountName.optional(),
    key: name,
    model: name,
    provider: name,
  }),
);

type Query = z.output<typeof overviewQuery>;

/** Points of a series that an overview may have. */
const mostSteps = 1000;

/** The range in whole steps, and their unit. */
function computeRange({ step, by, tag, ...query }: Query) {
  const to = query.to ?? Date.now();
  const from = query.from ?? to - units['1d'];
  const isFiltered = [query.account, query.key, query.model, query.provider].some(Boolean);
  const isKept = from >= Date.now() - shortestKept;
  if (from >= to) throw buildParamError('from', 'it has to be before "to"');
  if (tag !== undefined && by !== 'tag') throw buildParamError('tag', 'it goes with by=tag only');
  if (step === '5m' && isFiltered) throw buildParamError('step', 'with a filter it is 1h or 1d');
  if (step === '5m' && !isKept)
    throw buildParamError('step', 'steps of 5m are kept for 48 hours; ask for 1h or 1d');
  if (by === 'tag' && isFiltered) throw buildParamError('by', 'an overview by tag has no other filter');
  const isShort = to - from <= 6 * units['1h'] && isKept && !isFiltered;
  const longer = to - from <= 8 * units['1d'] ? '1h' : '1d';
  const unit: Unit = step ?? (isShort ? '5m' : longer);
  const length = units[unit];
  const range = { from: Math.floor(from / length) * length, to: Math.ceil(to / length) * length, unit };
  if ((range.to - range.from) / length > mostSteps)
    throw unit === '1d'
      ? buildParamError('from', `an overview spans at most ${mostSteps} days; choose a shorter range`)
      : buildParamError('step', `at most ${mostSteps} steps fit into an overview; ask for longer ones`);
  return range;
}

/** What was charged, what the vendors bill for it, and the difference. */
function sumMoney(rows: readonly OverviewRow[]) {
  const cost = rows.reduce((total, row) => total + row.cost, 0n);
  const margin = rows.reduce((total, row) => total + row.margin, 0n);
  return { cost: formatUsd(cost), vendor_cost: formatUsd(cost - margin), margin: formatUsd(margin) };
}

/** What is counted step by step. */
type Count = (typeof counted)[number] | keyof typeof formerKinds;

function mapCounts<Value>(map: (read: (row: OverviewRow) => number) => Value): Record<Count, Value> {
  const read = [
    ...counted.map((name) => [name, ({ counts }: OverviewRow) => counts[name]] as const),
    ...Object.entries(formerKinds).map(
      ([name, unit]) => [name, ({ uses }: OverviewRow) => findCount(uses, unit) ?? 0] as const,
    ),
  ];
  return Object.fromEntries(read.map(([name, each]) => [name, map(each)])) as Record<Count, Value>;
}

/** What was used of each unit. */
export function sumUses(uses: readonly Use[]): Use[] {
  const sums = new Map<string, Use>();
  for (const use of uses) {
    const name = nameKind(use);
    sums.set(name, { ...use, count: (sums.get(name)?.count ?? 0) + use.count });
  }
  return kinds.flatMap(({ name }) => sums.get(name) ?? []);
}

export function computeTotals(rows: readonly OverviewRow[]) {
  const sumRows = (read: (row: OverviewRow) => number): number =>
    rows.reduce((total, row) => total + read(row), 0);
  const counts = rows[0]?.buckets.map((_, index) => sumRows(({ buckets }) => buckets[index] ?? 0)) ?? [];
  return {
    ...mapCounts(sumRows),
    uses: sumUses(rows.flatMap(({ uses }) => uses)),
    ...sumMoney(rows),
    first_event_ms: {
      count: counts.reduce((total, count) => total + count, 0),
      p50: computePercentile(counts, 0.5),
      p95: computePercentile(counts, 0.95),
    },
  };
}

/** One value for each step, in their order. */
function computeColumns(rows: readonly OverviewRow[], starts: readonly number[]) {
  const byStart = new Map(rows.map((row) => [row.start, row]));
  const computeColumn = <Value>(read: (row: OverviewRow) => Value, none: Value): Value[] =>
    starts.map((start) => {
      const row = byStart.get(start);
      return row ? read(row) : none;
    });
  return {
    ...mapCounts((read) => computeColumn(read, 0)),
    cost: computeColumn(({ cost }) => formatUsd(cost), '0'),
    vendor_cost: computeColumn(({ cost, margin }) => formatUsd(cost - margin), '0'),
    margin: computeColumn(({ margin }) => formatUsd(margin), '0'),
    p50: computeColumn(({ buckets }) => computePercentile(buckets, 0.5), null),
    p95: computeColumn(({ buckets }) => computePercentile(buckets, 0.95), null),
  };
}

async function computeOverview({ store, lastAudit: audit }: Ledger, query: Query) {
  const { from, to, unit } = computeRange(query);
  const { by, tag, top, account, key, model, provider } = query;
  const [rows, totals, behind] = await Promise.all([
    store.sumCalls({ from, to, unit, by, tag, top, account, key, model, provider }),
    store.sumTotals(),
    store.countUnsummed(),
  ]);
  const starts = Array.from({ length: (to - from) / units[unit] }, (_, index) => from + index * units[unit]);
  const keyIds = by === 'key' ? new Set(rows.flatMap(({ name: id }) => id ?? [])) : [];
  const keyNames = await readKeyNames(store, [...keyIds]);
  const series = [...Map.groupBy(rows, (row) => row.name ?? null)].map(([named, own]) => ({
    name: named,
    ...(keyNames.has(named ?? '') && { key_name: keyNames.get(named ?? '') }),
    totals: computeTotals(own),
    ...computeColumns(own, starts),
  }));
  const { pendingCalls, pendingAmount, oldestPending } = totals;
  return {
    from: toIso(from),
    to: toIso(to),
    by,
    step: unit,
    times: starts.map((at) => toIso(at)),
    totals: computeTotals(rows),
    series,
    others: Math.max(0, (rows[0]?.names ?? 0) - top),
    pending: { calls: pendingCalls, amount: formatUsd(pendingAmount), oldest: toIso(oldestPending) },
    audit: audit ? { ok: audit.ok, at: toIso(audit.at), findings: audit.findings } : null,
    behind,
  };
}

export const overviewOperations = [
  defineOperation({
    route: 'GET /admin/overview',
    summary: 'Show spend, calls, tokens, errors and times over a range',
    roles: roles.readOwn,
    input: overviewQuery,
    async run(ledger, query) {
      await ledger.flush?.();
      return computeOverview(ledger, await nameKey(ledger.store, query));
    },
  }),
];
