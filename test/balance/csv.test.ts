/** CSV as spreadsheets and scripts read it. */
import { describe, expect, it } from 'vitest';
import { formatCsv } from '../../plugins/meters/balance/operator/csv.ts';

describe('CSV', () => {
  it('names the columns in its first line, in their order, and leaves a cell empty if a row lacks it', () => {
    expect(formatCsv(['b', 'a'], [{ a: 1, b: 'x' }, { a: null }])).toBe('b,a\r\nx,1\r\n,\r\n');
  });

  it('quotes characters that would end a cell or a line', () => {
    expect(formatCsv(['a'], [{ a: 'x,y' }, { a: 'say "so"' }, { a: 'two\nlines' }])).toBe(
      'a\r\n"x,y"\r\n"say ""so"""\r\n"two\nlines"\r\n',
    );
  });

  it('keeps text from becoming a formula, and numbers unchanged', () => {
    const rows = ['=1+1', '@SUM(A1)', '+1', '-cmd', '-1+cmd()', '-0.5', -3].map((a) => ({ a }));
    expect(formatCsv(['a'], rows).split('\r\n').slice(1, -1)).toEqual([
      "'=1+1",
      "'@SUM(A1)",
      "'+1",
      "'-cmd",
      "'-1+cmd()",
      '-0.5',
      '-3',
    ]);
  });
});
