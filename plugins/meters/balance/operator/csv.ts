/** Writes rows as CSV of RFC 4180. Text that a spreadsheet would run as a formula is made harmless. */
import { nameKind } from '../../../../core/for-threads.ts';

/** A use as replies have it, also those of other versions. */
export type ShownUse = Readonly<{ unit: string; modality?: string | undefined; count: number }>;

/** What was used of each unit, in one cell: `input 1200, image 1`. */
export function formatUses(uses: readonly ShownUse[]): string {
  return uses.map((use) => `${nameKind(use)} ${use.count}`).join(', ');
}

/** A text as a cell: quoted if it needs to be, and never a formula. */
export function formatCsvCell(value: string): string {
  // Most cells are neither.
  if (!/^[=+@\t\r-]|[",\r\n]/.test(value)) return value;
  const text = /^[=+@\t\r]|^-(?!\d+(\.\d+)?$)/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? formatCsvCell(value) : String(value);
}

export function formatCsvLine(cells: readonly unknown[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`;
}

/** The columns by name in a first line, then a line for each row. */
export function formatCsv<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Partial<Record<Column, unknown>>>[],
): string {
  const lines = rows.map((row) => formatCsvLine(columns.map((column) => row[column])));
  return `${columns.join(',')}\r\n${lines.join('')}`;
}
