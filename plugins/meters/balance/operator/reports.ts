/**
 * What operators read in the books: summed up usage, rows for an export, and what is reserved at the moment.
 */
import { z } from 'zod';
import { findCount, formatUsd, parseUsd } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { formatTable } from '../../../shared/table.ts';
import { columnNames, describeEntry, flattenEntry } from '../export/lines.ts';
import { entryKinds, usageGroups } from '../store.ts';
import { formatCsv, formatUses } from './csv.ts';
import { nameKey, readKeyNames } from './key-records.ts';
import { findOwners } from './keys.ts';
import { defineOperation, only } from './operation.ts';
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

const figures = ['calls', 'input', 'output', 'cost', 'vendorCost', 'margin'];
/** The headings of columns that are not called what they are. */
const headings = new Map([
  ['key_name', 'NAME'],
  ['cost', 'COST USD'],
  ['vendorCost', 'VENDOR USD'],
  ['margin', 'MARGIN USD'],
]);
const toHeading = (column: string): string => headings.get(column) ?? column.toUpperCase();

type UsageRow = Replies['GET /admin/usage']['data'][number];

/** A row with its uses in one cell. */
function joinUses({ uses, ...row }: UsageRow): Record<string, unknown> {
  return { ...row, uses: formatUses(uses) };
}

/** The dearest rows first. If they are grouped by day before all else, the days stay in order. */
function sortBySpend(by: readonly string[], rows: readonly UsageRow[]): UsageRow[] {
  const dearest = rows.toSorted((one, other) => Number(parseUsd(other.cost) - parseUsd(one.cost)));
  return by[0] === 'day'
    ? dearest.toSorted((one, other) => (one.day ?? '').localeCompare(other.day ?? ''))
    : dearest;
}

function formatUsage({ by, data: found }: Replies['GET /admin/usage']): string {
  if (found.length === 0) return 'There is no usage.';
  const groups = by.flatMap((name) => (name === 'key' ? ['key', 'key_name'] : [name]));
  const columns = [...groups, ...figures, 'uses'];
  const rows = sortBySpend(by, found).map(({ uses, ...row }) => {
    const cells = joinUses({ ...row, uses: uses.filter(({ count }) => count > 0) });
    return columns.map((column) => cells[column]);
  });
  const table = formatTable(columns.map(toHeading), rows, { many: '', of: figures.map(toHeading) });
  return `${table}\nCalls that were not charged, such as refused ones, are not counted.`;
}

export const usageReport = defineOperation({
  route: 'GET /admin/usage',
  summary: 'Show calls, tokens and what they cost, by key, model and day',
  roles: roles.readOwn,
  input: checkPeriod(
    z.strictObject({
      ...narrowing,
      model: z.string().max(200).optional(),
      by: groups.prefault('key,model,day'),
    }),
  ),
  async run({ store }, query) {
    const rows = await store.sumUsage(await nameKey(store, query));
    const names = await readKeyNames(store, [...new Set(rows.flatMap(({ key }) => key || []))]);
    return {
      by: query.by,
      data: rows.map(({ calls, uses, cost, vendor, ...group }) => ({
        ...group,
        key_name: names.get(group.key ?? '') || undefined,
        calls,
        input: findCount(uses, 'input') ?? 0,
        output: findCount(uses, 'output') ?? 0,
        cost: formatUsd(cost),
        vendorCost: formatUsd(vendor),
        margin: formatUsd(cost - vendor),
        uses,
      })),
    };
  },
  csv: {
    name: 'usage',
    format: ({ by, data }) => formatCsv([...by, ...figures, 'uses'], data.map(joinUses)),
  },
  verbs: {
    usage: {
      flags: {
        '--by <groups>': `comma-separated groups: ${usageGroups.join(', ')}`,
        ...only.owner,
        ...only.model,
        ...only.period,
      },
      complete: findOwners,
      format: formatUsage,
    },
  },
});

export const reportOperations = [
  usageReport,
  defineOperation({
    route: 'GET /admin/entries',
    summary: 'List entries of the ledger',
    roles: roles.read,
    input: checkPeriod(
      page.extend({
        ...narrowing,
        after: buildNumberSchema(0).optional(),
        call: z.string().max(200).optional(),
        reference: z.string().max(200).optional(),
        kind: z.enum(entryKinds).optional(),
      }),
    ),
    async run({ store }, { kind, ...query }) {
      const rows = await store.listEntries({ ...(await nameKey(store, query)), kinds: kind && [kind] });
      return buildPage(rows, query.limit, describeEntry, ({ number }) => number);
    },
    csv: {
      name: 'entries',
      /** Without nested values. */
      format: ({ data }) => formatCsv(columnNames, data.map(flattenEntry)),
    },
  }),
  defineOperation({
    route: 'GET /admin/reservations',
    summary: 'List what is reserved for calls that run',
    roles: roles.read,
    input: page.extend({ account: accountName.optional() }),
    async run({ store }, query) {
      const rows = await store.listPending(query);
      const page = buildPage(
        rows,
        query.limit,
        ({ amount, created, ...row }) => ({ ...row, amount: formatUsd(amount), since: toIso(created) }),
        ({ call }) => call,
      );
      const { pendingCalls: calls, pendingAmount, oldestPending } = await store.sumTotals();
      return { ...page, totals: { calls, amount: formatUsd(pendingAmount), oldest: toIso(oldestPending) } };
    },
  }),
];
