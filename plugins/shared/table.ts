/** Lays out rows as an aligned table for a terminal, whatever the texts of others in it contain. */
import { addDecimals, toOneLine } from '../../core/index.ts';

function isNumber(cell: string): boolean {
  return cell === '' || /^-?\d[\d.]*$/.test(cell);
}

/** A fact a line with its name before it, if there is one; its further lines stand below its first. */
export function formatFacts(facts: Readonly<Record<string, string>>): string {
  const shown = Object.entries(facts).filter(([, value]) => value !== '');
  const width = shown.reduce((most, [{ length }]) => Math.max(most, length), 0);
  return shown
    .map(([name, value]) => `${name.padEnd(width)}  ${value.replaceAll('\n', `\n${' '.repeat(width + 2)}`)}`)
    .map((line) => line.trimEnd())
    .join('\n');
}

/**
 * Aligns columns, numbers to the right. Leaves out columns in which no row has anything. `many` is what the
 * rows are called, which is said if there are none. Below several rows a last one has the sums `of` columns.
 */
export function formatTable(
  headings: readonly string[],
  given: readonly (readonly unknown[])[],
  sums?: { readonly many: string; readonly of?: readonly string[] },
): string {
  if (sums?.many && given.length === 0) return `There are no ${sums.many}.`;
  const rows = given.map((row) => row.map((cell) => toOneLine(String(cell ?? ''))));
  const sumUp = (heading: string, place: number): string => {
    if (sums?.of?.includes(heading))
      return rows.reduce((sum, row) => addDecimals(sum, row[place] || '0'), '0');
    return sums?.many && place === 0 ? `${rows.length} ${sums.many}` : '';
  };
  const totals = sums?.of && rows.length > 1 ? headings.map(sumUp) : undefined;
  const columns = headings.flatMap((heading, place) => {
    const cells = [...rows, totals ?? []].map((row) => row[place] ?? '');
    if (cells.every((cell) => cell === '')) return [];
    const width = [heading, ...cells].reduce((most, { length }) => Math.max(most, length), 0);
    return [{ place, width, isRight: rows.every((row) => isNumber(row[place] ?? '')) }];
  });
  const formatLine = (row: readonly string[]): string =>
    columns
      .map(({ place, width, isRight }) => (row[place] ?? '')[isRight ? 'padStart' : 'padEnd'](width))
      .join('  ')
      .trimEnd();
  const rule = columns.map(({ width }) => '-'.repeat(width)).join('  ');
  return [...[headings, ...rows].map(formatLine), ...(totals ? [rule, formatLine(totals)] : [])].join('\n');
}
