import { expect, it } from 'vitest';
import { toOneLine } from '../../core/util/text.ts';
import { formatTable } from '../../plugins/shared/table.ts';

const marks = ['\u061c', '\u200e', '\u200f', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e'];
const isolates = ['\u2066', '\u2067', '\u2068', '\u2069'];
const breaks = ['\r', '\n', '\r\n', '\t', '\v', '\f', '\0', '\u001b', '\u007f', '\u0085', '\u2028', '\u2029'];

it.each([...marks, ...isolates, ...breaks])('a text with %j is one line without it', (mark) => {
  expect(toOneLine(`a${mark}b`)).toBe(`a${'\ufffd'.repeat(mark.length)}b`);
});

it('a text of any script stays as it is', () => {
  const text = 'prénom 名前 שלום \u{1f600} a–b';
  expect(toOneLine(text)).toBe(text);
});

it('a cell with marks and breaks keeps the table aligned, one line for each row', () => {
  const table = formatTable(
    ['NAME', 'COUNT'],
    [
      ['a\r\nevil\u202e', '1'],
      ['b', '20'],
    ],
  );
  expect(table.split('\n')).toEqual(['NAME      COUNT', 'a\ufffd\ufffdevil\ufffd      1', 'b            20']);
});
