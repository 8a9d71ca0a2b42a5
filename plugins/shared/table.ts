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
    const cells = rows.map((row) => row[place] ?? '');
    const total = totals?.[place] ?? '';
    if (cells.every((cell) => cell === '') && total === '') return [];
    const width = [heading, ...cells, total].reduce((most, { length }) => Math.max(most, length), 0);
    const isRight = cells.every(isNumber);
    return [{ place, heading, total, width, isRight }];
  });
  const formatLine = (getCell: (column: (typeof columns)[number]) => string): string =>
    columns
      .map((column) => getCell(column)[column.isRight ? 'padStart' : 'padEnd'](column.width))
      .join('  ')
      .trimEnd();
  return [
    formatLine(({ heading }) => heading),
    ...rows.map((row) => formatLine(({ place }) => row[place] ?? '')),
    ...(totals ? [formatLine(({ width }) => '-'.repeat(width)), formatLine(({ total }) => total)] : []),
  ].join('\n');
}
