/**
 * What readers are shown of an entry, and how entries become lines of CSV or JSON. SQLite's thread does this
 * too, so the event loop gets finished text from it. Amounts are exact decimal strings in USD.
 */
import { formatUsd, listUses } from '../../../../core/for-threads.ts';
import type { Use } from '../../../../core/index.ts';
import type { Entry, EntryKind, EntryQuery } from '../books.ts';
import { readShares } from '../budgets/budget.ts';
import { formatCsvLine, formatUses, type ShownUse } from '../operator/csv.ts';

export const exportFormats = ['csv', 'jsonl'] as const;
type ExportFormat = (typeof exportFormats)[number];

/**
 * A slice of the entries' numbers: above `after`, up to `last`. Its cost does not depend on how few
 * entries match. Undefined fields do not filter.
 */
export interface ExportSlice extends Pick<EntryQuery, 'account' | 'key' | 'from' | 'to'> {
  readonly kind?: EntryKind | undefined;
  readonly format: ExportFormat;
  readonly after: number;
  readonly last: number;
}

function toIso(at: number): string {
  return new Date(at).toISOString();
}

/** The rule that priced a call. Most entries have none, or are older than its name, and are not parsed. */
function readRule(usage: string | undefined): string | undefined {
  if (!usage?.includes('"rule"')) return undefined;
  const { rule }: { readonly rule?: unknown } = JSON.parse(usage);
  return typeof rule === 'string' ? rule : undefined;
}

function listUsed(usage: string | undefined): Use[] | undefined {
  return usage === undefined ? undefined : listUses(JSON.parse(usage));
}

function parseList(json: string | undefined): readonly unknown[] | undefined {
  return json === undefined ? undefined : JSON.parse(json);
}

/** The periods of budgets that a call counts in. */
function describeBudgets(budgets: string | undefined) {
  return budgets === undefined
    ? undefined
    : readShares(budgets).map(({ budget, start }) => ({ budget, start: toIso(start) }));
}

/** What readers are shown of an entry besides nested values, in the order of a line. */
const columns = {
  number: ({ number }: Entry) => number,
  at: ({ at }: Entry) => toIso(at),
  kind: ({ kind }: Entry) => kind,
  account: ({ account }: Entry) => account,
  key: ({ key }: Entry) => key,
  call: ({ call }: Entry) => call,
  model: ({ model }: Entry) => model,
  provider: ({ provider }: Entry) => provider,
  credits: ({ credits }: Entry) => formatUsd(credits),
  available: ({ available }: Entry) => formatUsd(available),
  reserved: ({ reserved }: Entry) => formatUsd(reserved),
  revenue: ({ revenue }: Entry) => formatUsd(revenue),
  vendorCost: ({ vendor }: Entry) => (vendor === undefined ? undefined : formatUsd(vendor)),
  input: ({ input }: Entry) => input,
  output: ({ output }: Entry) => output,
  basis: ({ basis }: Entry) => basis,
  reason: ({ reason }: Entry) => reason,
  source: ({ source }: Entry) => source,
  reference: ({ reference }: Entry) => reference,
  author: ({ author }: Entry) => author,
  price: ({ price }: Entry) => price,
  rule: ({ usage }: Entry) => readRule(usage),
  attempts: ({ attempts }: Entry) => attempts,
  flags: ({ flags }: Entry) => flags.join(' '),
};
type Columns = { -readonly [Name in keyof typeof columns]: ReturnType<(typeof columns)[Name]> };

const csvColumns = {
  ...columns,
  /** In its place JSON has `usage`, `costs` and `budgets`. */
  uses: ({ usage }: Entry) => formatUses(listUsed(usage) ?? []),
};
export const columnNames = Object.keys(csvColumns);

export const headOf: Readonly<Record<ExportFormat, string>> = {
  csv: `${columnNames.join(',')}\r\n`,
  jsonl: '',
};

const readers = Object.entries(columns);
const cellReaders = Object.values(csvColumns);
// A copy with all columns takes less time than an object to which they are added one by one.
const empty: Readonly<Record<string, unknown>> = Object.fromEntries(readers.map(([name]) => [name, null]));

function describeColumns(entry: Entry): Columns {
  const row = { ...empty };
  for (const [name, read] of readers) row[name] = read(entry);
  // TypeScript cannot follow each name to the type of its column through a loop.
  return row as Columns;
}

export function describeEntry(entry: Entry) {
  return {
    ...describeColumns(entry),
    usage: listUsed(entry.usage),
    costs: parseList(entry.costs),
    budgets: describeBudgets(entry.budgets),
  };
}

/** An entry without nested values. */
export function flattenEntry<Described extends { readonly usage?: readonly ShownUse[] | undefined }>({
  usage = [],
  ...row
}: Described) {
  return { ...row, uses: formatUses(usage) };
}

/** What is stored as JSON is not parsed. */
function formatJsonLine(entry: Entry): string {
  const budgets = describeBudgets(entry.budgets);
  const nested = { usage: entry.usage, costs: entry.costs, budgets: budgets && JSON.stringify(budgets) };
  let line = JSON.stringify(describeColumns(entry)).slice(0, -1);
  for (const [name, json] of Object.entries(nested)) if (json !== undefined) line += `,"${name}":${json}`;
  return `${line}}\n`;
}

export function formatEntries(entries: readonly Entry[], format: ExportFormat): string {
  const formatLine =
    format === 'csv'
      ? (entry: Entry): string => formatCsvLine(cellReaders.map((read) => read(entry)))
      : formatJsonLine;
  return entries.map(formatLine).join('');
}
