/**
 * What operators read in the books: summed up usage, rows for an export, and what is reserved at the moment.
 */
import { z } from 'zod';
import { formatUsd, usageSchema } from '../../../../core/index.ts';
import { readShares } from '../budgets/budget.ts';
import { columnNames } from '../export/lines.ts';
import { entryKinds, usageGroups, type Entry, type Store } from '../store.ts';
import { csv } from './csv.ts';
import { accountName, moment, page, wholeNumber } from './reading.ts';
import { iso, pageOf } from './replies.ts';

/** Names of groups as in `key,model,day`, each at most once. */
const groups = z
  .string()
  .transform((text) => text.split(',').filter((word) => word !== ''))
  .pipe(z.array(z.enum(usageGroups, `usage is grouped by ${usageGroups.join(', ')}`)))
  .transform((words) => [...new Set(words)]);

const narrowing = {
  account: accountName.optional(),
  key: z.string().max(200).optional(),
  from: moment.optional(),
  to: moment.optional(),
};

const format = z.enum(['json', 'csv']).default('json');

export const usageQuery = z.strictObject({
  ...narrowing,
  format,
  model: z.string().max(200).optional(),
  by: groups.prefault('key,model,day'),
});

export const entryQuery = page.extend({
  ...narrowing,
  format,
  after: wholeNumber(0).optional(),
  call: z.string().max(200).optional(),
  reference: z.string().max(200).optional(),
  kind: z.enum(entryKinds).optional(),
});

export const pendingQuery = page.extend({ account: accountName.optional() });

export async function usage(store: Store, { format: _format, ...query }: z.output<typeof usageQuery>) {
  const rows = await store.usage(query);
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
export function usageCsv({ by, data }: Awaited<ReturnType<typeof usage>>): string {
  return csv([...by, 'calls', 'input', 'output', 'cost', 'vendorCost', 'margin'], data);
}

/** The name of the rule that priced an entry. Entries written before rules had names have none. */
function ruleOf(usage: unknown): string | undefined {
  return usageSchema.safeParse(usage).data?.rule;
}

export function shownEntry({
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
  const used = parsed(usage);
  return {
    ...rest,
    ...legs,
    at: iso(at),
    flags: flags.join(' '),
    rule: ruleOf(used),
    usage: used,
    costs: parsed(costs),
    ...(vendor === undefined ? {} : { vendorCost: formatUsd(vendor) }),
    ...(budgets === undefined ? {} : { budgets: shownShares(budgets) }),
  };
}

/** The periods of budgets that a call counts in. */
function shownShares(text: string) {
  return readShares(text).map(({ budget, start }) => ({ budget, start: iso(start) }));
}

function parsed(json: string | undefined): unknown {
  return json === undefined ? undefined : JSON.parse(json);
}

export async function entries(
  store: Store,
  { kind, format: _format, ...query }: z.output<typeof entryQuery>,
) {
  const rows = await store.entries({ ...query, kinds: kind && [kind] });
  return pageOf(rows, query.limit, shownEntry, ({ number }) => number);
}

/** The same as CSV, without nested values. */
export function entriesCsv({ data }: Awaited<ReturnType<typeof entries>>): string {
  return csv(
    columnNames,
    data.map(({ usage: _usage, costs: _costs, budgets: _budgets, ...row }) => row),
  );
}

export async function pendingCalls(store: Store, query: z.output<typeof pendingQuery>) {
  const rows = await store.listPending(query);
  const page = pageOf(
    rows,
    query.limit,
    ({ amount, created, ...row }) => ({ ...row, amount: formatUsd(amount), since: iso(created) }),
    ({ call }) => call,
  );
  const { pendingCalls: calls, pendingAmount, oldestPending } = await store.totals();
  return { ...page, totals: { calls, amount: formatUsd(pendingAmount), oldest: iso(oldestPending) } };
}
