/** What an overview shows: spend, calls, tokens, errors, cache hits and times, as totals and series. */
import { z } from 'zod';
import { formatUsd } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import {
  addSums,
  amountParts,
  computePercentile,
  createSums,
  dimensions,
  formerKinds,
  listBuckets,
  listUsed,
  shortestKept,
  units,
  type Sums,
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
export function computeRange({ step, by, tag, ...query }: Query) {
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

/** What is shown of each step and of totals. */
function describeSums({ cost, margin, calls, counts }: Sums) {
  const firsts = listBuckets(counts);
  const tokens = Object.entries(formerKinds).map(([name, kind]) => [name, (counts[kind] ?? 0) / amountParts]);
  return {
    calls,
    errors: counts.errors ?? 0,
    cache_hits: counts.cache_hits ?? 0,
    // TypeScript cannot follow the names of the table through a list.
    ...(Object.fromEntries(tokens) as Record<keyof typeof formerKinds, number>),
    cost: formatUsd(cost),
    vendor_cost: formatUsd(cost - margin),
    margin: formatUsd(margin),
    p50: computePercentile(firsts, 0.5),
    p95: computePercentile(firsts, 0.95),
  };
}

export function computeTotals(rows: readonly Readonly<Sums>[]) {
  const sums = createSums();
  for (const row of rows) addSums(sums, row);
  const { p50, p95, ...described } = describeSums(sums);
  const count = listBuckets(sums.counts).reduce((total, each) => total + each, 0);
  return { ...described, uses: listUsed(sums.counts), first_event_ms: { count, p50, p95 } };
}

type Described = ReturnType<typeof describeSums>;
type Columns = { [Name in keyof Described]: Described[Name][] };

/** One value for each step, in their order. */
function computeColumns(rows: readonly OverviewRow[], starts: readonly number[]): Columns {
  const none = describeSums(createSums());
  const byStart = new Map(rows.map((row) => [row.start, describeSums(row)]));
  const described = starts.map((start) => byStart.get(start) ?? none);
  const names = Object.keys(none) as (keyof Described)[];
  const columns = names.map((name) => [name, described.map((each) => each[name])]);
  return Object.fromEntries(columns) as Columns;
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
