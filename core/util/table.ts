/** Lays out rows as an aligned table for a terminal. */

function isNumber(cell: string): boolean {
  return cell === '' || /^-?\d[\d.]*$/.test(cell);
}

/**
 * Aligns columns, numbers to the right. Leaves out columns in which no row has anything. `totals` is a last
 * row below a line.
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  totals?: readonly string[],
): string {
  const columns = headings.flatMap((heading, place) => {
    const cells = rows.map((row) => row[place] ?? '');
    const total = totals?.[place] ?? '';
    if (cells.every((cell) => cell === '') && total === '') return [];
    const width = Math.max(...[heading, ...cells, total].map(({ length }) => length));
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
