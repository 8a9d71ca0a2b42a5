/** The page of the canonical request and its events names every field that there is, and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildCanonicalTables } from '../support/canonical-tables.ts';

const page = readFileSync(join(import.meta.dirname, '../../plugins/canonical.md'), 'utf8');

it.each(Object.entries(buildCanonicalTables()))(
  'the table "%s" of the page has what the schema has',
  (name, rows) => {
    const [, table = ''] = new RegExp(`<!-- ${name} -->\n(.*?)\n<!-- /${name} -->`, 's').exec(page) ?? [];
    const cells = table
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    expect(cells.map(([field, holds]) => [field, holds])).toEqual(
      rows.map(([field, holds]) => [field, holds === '' ? '–' : holds]),
    );
    expect(rows.length).toBeGreaterThan(2);
    expect(cells.filter(([, , meaning = '']) => meaning === '')).toEqual([]);
  },
);
