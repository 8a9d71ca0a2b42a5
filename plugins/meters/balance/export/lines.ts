/**
 * The columns of an exported entry, and how rows become lines of CSV or JSON. SQLite's thread does this
 * too, so the event loop gets finished text from it. Amounts are exact decimal strings in USD.
 */
import { formatUsd, listUses } from '../../../../core/for-threads.ts';
import type { EntryKind, EntryQuery } from '../books.ts';
import { readShares } from '../budgets/budget.ts';
import { formatCsvCell, formatUses } from '../operator/csv.ts';
import type { Row } from '../rows.ts';
import { askRows, Conditions, type Steps } from '../sql/steps.ts';

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

type Kind = 'count' | 'usd' | 'time' | 'text' | 'rule' | 'uses';

/** The columns by name, with what they hold, in the order of a line. */
const columns: readonly (readonly [name: string, kind: Kind, sql: string])[] = [
  ['number', 'count', 'entries.number'],
  ['at', 'time', 'entries.at'],
  ['kind', 'text', 'entries.kind'],
  ['account', 'text', 'accounts.name'],
  ['key', 'text', 'entries.key'],
  ['call', 'text', 'entries.call'],
  ['model', 'text', 'entries.model'],
  ['provider', 'text', 'entries.provider'],
  ['credits', 'usd', 'entries.credits'],
  ['available', 'usd', 'entries.available'],
  ['reserved', 'usd', 'entries.reserved'],
  ['revenue', 'usd', 'entries.revenue'],
  ['vendorCost', 'usd', 'entries.vendor'],
  ['input', 'count', 'entries.input'],
  ['output', 'count', 'entries.output'],
  ['basis', 'text', 'entries.basis'],
  ['reason', 'text', 'entries.reason'],
  ['source', 'text', 'entries.source'],
  ['reference', 'text', 'entries.reference'],
  ['author', 'text', 'entries.author'],
  ['price', 'text', 'entries.price'],
  ['rule', 'rule', 'entries.usage'],
  ['attempts', 'count', 'entries.attempts'],
  ['flags', 'text', 'entries.flags'],
  // JSON has `usage` in its place.
  ['uses', 'uses', 'entries.usage'],
];

export const columnNames = columns.map(([name]) => name);

export const headOf: Readonly<Record<ExportFormat, string>> = {
  csv: `${columnNames.join(',')}\r\n`,
  jsonl: '',
};

/** The rule that priced a call, out of its usage. Most have none, and are not parsed. */
function readRule(usage: unknown): string | undefined {
  if (typeof usage !== 'string' || !usage.includes('"rule"')) return undefined;
  const { rule }: { readonly rule?: unknown } = JSON.parse(usage);
  return typeof rule === 'string' ? rule : undefined;
}

/** The value of a column; undefined if there is none. */
function formatValue(kind: Kind, value: unknown): string | undefined {
  if (kind === 'rule') return readRule(value);
  if (kind === 'uses') return typeof value === 'string' ? formatUses(listUses(JSON.parse(value))) : undefined;
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'bigint') return String(value);
  if (kind === 'usd') return value === 0n ? '0' : formatUsd(value);
  return kind === 'time' ? new Date(Number(value)).toISOString() : value.toString();
}

function formatCsvLine(row: Row): string {
  let line = '';
  for (const [name, kind] of columns) {
    const value = formatValue(kind, row[name]);
    if (line !== '') line += ',';
    if (value !== undefined)
      line += kind === 'text' || kind === 'rule' || kind === 'uses' ? formatCsvCell(value) : value;
  }
  return `${line}\r\n`;
}

function formatJsonLine(row: Row): string {
  let line = '{';
  for (const [name, kind] of columns) {
    const value = kind === 'uses' ? undefined : formatValue(kind, row[name]);
    if (value === undefined) continue;
    line += `${line === '{' ? '' : ','}"${name}":${kind === 'count' ? value : JSON.stringify(value)}`;
  }
  const { uses: usage, costs, budgets } = row;
  if (typeof usage === 'string') line += `,"usage":${usage}`;
  if (typeof costs === 'string') line += `,"costs":${costs}`;
  if (typeof budgets === 'string') line += `,"budgets":${formatBudgets(budgets)}`;
  return `${line}}\n`;
}

/** The periods of budgets that a call counts in. */
function formatBudgets(text: string): string {
  const shares = readShares(text).map(({ budget, start }) => ({
    budget,
    start: new Date(start).toISOString(),
  }));
  return JSON.stringify(shares);
}

export function* exportEntries(slice: ExportSlice): Steps<string> {
  const { account, key, kind, from, to, after, last, format } = slice;
  const conditions = new Conditions({
    'entries.number >': after,
    'entries.number <=': last,
    'accounts.name =': account,
    'entries.key =': key,
    'entries.kind =': kind,
    'entries.at >=': from,
    'entries.at <': to,
  });
  const text = `
    SELECT ${columns.map(([name, , sql]) => `${sql} AS "${name}"`).join(', ')}, entries.costs, entries.budgets
    FROM entries JOIN accounts ON accounts.id = entries.account ${conditions.where} ORDER BY entries.number`;
  const write = format === 'csv' ? formatCsvLine : formatJsonLine;
  let lines = '';
  for (const row of yield* askRows({ text }, ...conditions.values)) lines += write(row);
  return lines;
}
