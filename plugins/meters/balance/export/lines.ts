/**
 * What readers are shown of an entry, and how entries become lines of CSV or JSON. SQLite's thread does this
 * too, so the event loop gets finished text from it. Amounts are exact decimal strings in USD.
 */
import { formatUsd, listUses } from '../../../../core/for-threads.ts';
import type { Entry, EntryKind, EntryQuery } from '../books.ts';
import { readShares } from '../budgets/budget.ts';
import { formatCsvLines, formatUses, type ShownUse } from '../operator/csv.ts';

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

/** The columns in the order of a line. In JSON `usage`, `costs` and `budgets` are in place of `uses`. */
export const columnNames = `number at kind account key call model provider credits available reserved revenue
  vendorCost input output basis reason source reference author price rule attempts flags uses`.split(/\s+/);

export const headOf: Readonly<Record<ExportFormat, string>> = {
  csv: `${columnNames.join(',')}\r\n`,
  jsonl: '',
};

function toIso(at: number): string {
  return new Date(at).toISOString();
}

function parseObject(json: string | undefined): Readonly<Record<string, unknown>> | undefined {
  return json === undefined ? undefined : JSON.parse(json);
}

function parseList(json: string | undefined): readonly unknown[] | undefined {
  return json === undefined ? undefined : JSON.parse(json);
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
  const used = parseObject(usage);
  return {
    ...rest,
    ...legs,
    at: toIso(at),
    flags: flags.join(' '),
    // Unknown if the entry is older than names of rules.
    rule: typeof used?.rule === 'string' ? used.rule : undefined,
    usage: used && listUses(used),
    costs: parseList(costs),
    ...(vendor === undefined ? {} : { vendorCost: formatUsd(vendor) }),
    // The periods of budgets that a call counts in.
    ...(budgets === undefined
      ? {}
      : { budgets: readShares(budgets).map(({ budget, start }) => ({ budget, start: toIso(start) })) }),
  };
}

/** An entry without nested values. */
export function flattenEntry<Described extends { readonly usage?: readonly ShownUse[] | undefined }>({
  usage = [],
  ...row
}: Described) {
  return { ...row, uses: formatUses(usage) };
}

function formatJsonLine(entry: Entry): string {
  const { costs, budgets, usage: _usage, ...row } = describeEntry(entry);
  const values: Readonly<Record<string, unknown>> = row;
  const ordered = Object.fromEntries(columnNames.map((name) => [name, values[name]]));
  return `${JSON.stringify({ ...ordered, usage: parseObject(entry.usage), costs, budgets })}\n`;
}

export function formatEntries(entries: readonly Entry[], format: ExportFormat): string {
  if (format === 'jsonl') return entries.map(formatJsonLine).join('');
  return formatCsvLines(
    columnNames,
    entries.map((entry) => flattenEntry(describeEntry(entry))),
  );
}
