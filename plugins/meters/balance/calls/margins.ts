/**
 * The step of both databases that adds what was charged above vendors' bills to calls and roll-ups, and sums
 * up the margins of entries that are folded already. The stored calls of before do not know theirs.
 */
import { dimensions, units } from './figures.ts';

const hour = units['1h'];
const margins = `
  SELECT accounts.name AS account, coalesce(entries.key, '') AS key, coalesce(entries.model, '') AS model,
    coalesce(entries.provider, '') AS provider, entries.at AS at, revenue - vendor AS margin
  FROM entries JOIN accounts ON accounts.id = entries.account
  WHERE vendor <> revenue AND entries.number <= (SELECT last FROM folds WHERE log = 'entries')`;

function adding(table: string, columns: readonly string[], values: readonly string[]): string {
  const key = columns.join(', ');
  return `
    INSERT INTO ${table} (${key}, margin) SELECT ${values.join(', ')}, CAST(sum(margin) AS bigint)
    FROM folded_margins WHERE true GROUP BY ${values.map((_, index) => index + 1).join(', ')}
    ON CONFLICT (${key}) DO UPDATE SET margin = ${table}.margin + excluded.margin;`;
}

export function marginColumns(integer: string): string {
  const column = `ADD COLUMN margin ${integer} NOT NULL DEFAULT 0`;
  const series = dimensions
    .filter((dimension) => dimension !== 'tag')
    .flatMap((dimension) =>
      Object.values(units).map((unit) =>
        adding(
          'series',
          ['dimension', 'unit', 'start', 'name'],
          [`'${dimension}'`, String(unit), `at / ${unit} * ${unit}`, dimension],
        ),
      ),
    );
  const key = ['account', 'key', 'hour', 'model', 'provider'];
  const hours = key.map((column) => (column === 'hour' ? `at / ${hour} * ${hour}` : column));
  return `
    ALTER TABLE calls ${column};
    ALTER TABLE rollups ${column};
    ALTER TABLE series ${column};
    CREATE TABLE folded_margins AS ${margins};
    ${adding('rollups', key, hours)}
    ${series.join('')}
    DROP TABLE folded_margins;`;
}
