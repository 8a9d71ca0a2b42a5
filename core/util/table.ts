/** Lays out rows as an aligned table for a terminal, whatever the texts of others in it contain. */

/** What breaks a line, steers a terminal or turns the direction of what follows. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text of others as a part of a line. */
export function toOneLine(text: string): string {
  return text.replaceAll(unprintable, '\u{fffd}');
}

function isNumber(cell: string): boolean {
  return cell === '' || /^-?\d[\d.]*$/.test(cell);
}

/**
 * Aligns columns, numbers to the right. Leaves out columns in which no row has anything. `totals` is a last
 * row below a line.
 */
export function formatTable(
  headings: readonly string[],
  given: readonly (readonly string[])[],
  totals?: readonly string[],
): string {
  const rows = given.map((row) => row.map(toOneLine));
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
