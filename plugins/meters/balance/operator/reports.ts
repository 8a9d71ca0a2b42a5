/**
 * What operators read in the books: summed up usage, rows for an export, and what is reserved at the moment.
 */
import { z } from 'zod';
import { formatUsd, usageSchema } from '../../../../core/index.ts';
import { readShares } from '../budgets/budget.ts';
import { columnNames } from '../export/lines.ts';
import { entryKinds, usageGroups, type Entry, type Store } from '../store.ts';
import { formatCsv } from './csv.ts';
import { accountName, page, buildNumberSchema, period, checkPeriod } from './reading.ts';
import { toIso, buildPage } from './replies.ts';

/** Names of groups as in `key,model,day`, each at most once. */
const groups = z
  .string()
  .transform((text) => text.split(',').filter((word) => word !== ''))
  .pipe(z.array(z.enum(usageGroups, `usage is grouped by ${usageGroups.join(', ')}`)))
  .transform((words) => [...new Set(words)]);

const narrowing = {
  account: accountName.optional(),
  key: z.string().max(200).optional(),
  ...period,
};

const format = z.enum(['json', 'csv']).default('json');

export const usageQuery = checkPeriod(
  z.strictObject({
    ...narrowing,
    format,
    model: z.string().max(200).optional(),
    by: groups.prefault('key,model,day'),
  }),
);

export const entryQuery = checkPeriod(
  page.extend({
    ...narrowing,
    format,
    after: buildNumberSchema(0).optional(),
    call: z.string().max(200).optional(),
    reference: z.string().max(200).optional(),
    kind: z.enum(entryKinds).optional(),
  }),
);

export const pendingQuery = page.extend({ account: accountName.optional() });

export async function reportUsage(store: Store, { format: _format, ...query }: z.output<typeof usageQuery>) {
  const rows = await store.sumUsage(query);
  return {
    by: query.by,
    data: rows.map(({ cost, vendor, ...row }) => ({
      ...row,
      cost: formatUsd(cost),
      vendorCost: formatUsd(vendor),
      margin: formatUsd(cost - vendor),
    })),
  };
}

/** The same as CSV; `cost` is in USD. */
export function formatUsageCsv({ by, data }: Awaited<ReturnType<typeof reportUsage>>): string {
  return formatCsv([...by, 'calls', 'input', 'output', 'cost', 'vendorCost', 'margin'], data);
}

/** The name of the rule that priced an entry. Entries written before rules had names have none. */
function readRule(usage: unknown): string | undefined {
  return usageSchema.safeParse(usage).data?.rule;
}

export function describeEntry({
  at,
  credits,
  available,
  reserved,
  revenue,
  flags,
  usage,
  costs,
  vendor,
  budgets,
  reservation: _reservation,
  ...rest
}: Entry) {
  const legs = {
    credits: formatUsd(credits),
    available: formatUsd(available),
    reserved: formatUsd(reserved),
    revenue: formatUsd(revenue),
  };
  const used = parseJson(usage);
  return {
    ...rest,
    ...legs,
    at: toIso(at),
    flags: flags.join(' '),
    rule: readRule(used),
    usage: used,
    costs: parseJson(costs),
    ...(vendor === undefined ? {} : { vendorCost: formatUsd(vendor) }),
    ...(budgets === undefined ? {} : { budgets: describeShares(budgets) }),
  };
}

/** The periods of budgets that a call counts in. */
function describeShares(text: string) {
  return readShares(text).map(({ budget, start }) => ({ budget, start: toIso(start) }));
}

function parseJson(json: string | undefined): unknown {
  return json === undefined ? undefined : JSON.parse(json);
}

export async function listEntries(
  store: Store,
  { kind, format: _format, ...query }: z.output<typeof entryQuery>,
) {
  const rows = await store.listEntries({ ...query, kinds: kind && [kind] });
  return buildPage(rows, query.limit, describeEntry, ({ number }) => number);
}

/** The same as CSV, without nested values. */
export function formatEntriesCsv({ data }: Awaited<ReturnType<typeof listEntries>>): string {
  return formatCsv(
    columnNames,
    data.map(({ usage: _usage, costs: _costs, budgets: _budgets, ...row }) => row),
  );
}

export async function listPendingCalls(store: Store, query: z.output<typeof pendingQuery>) {
  const rows = await store.listPending(query);
  const page = buildPage(
    rows,
    query.limit,
    ({ amount, created, ...row }) => ({ ...row, amount: formatUsd(amount), since: toIso(created) }),
    ({ call }) => call,
  );
  const { pendingCalls: calls, pendingAmount, oldestPending } = await store.sumTotals();
  return { ...page, totals: { calls, amount: formatUsd(pendingAmount), oldest: toIso(oldestPending) } };
}
