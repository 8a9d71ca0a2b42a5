/**
 * Finds sums of roll-ups that differ from the entries, and corrects them while calls continue. It stores
 * differences, which stay right while folds add to the same sums. Entries contain only money, so the
 * counts of calls and tokens stay as they are.
 */
import { readCount, readInteger, readText, type Row } from '../rows.ts';
import { kept } from '../sql/kept.ts';
import { askAll, askRecords, askRows, nameStatements, type Operations } from '../sql/steps.ts';
import { booked, dimensions, figures, units } from './figures.ts';
import { foldedEntries } from './rollup-sql.ts';
import { buildAddSql, rollupKey, seriesKey } from './slice-sums.ts';

/** What has to be added to one sum of a roll-up: its place and its money. */
export interface RollupGap {
  readonly table: 'rollups' | 'series';
  readonly place: readonly (string | number)[];
  readonly money: readonly bigint[];
}

export interface RollupGaps {
  /** How many repairs there were when the gaps were found. */
  readonly repairs: number;
  readonly gaps: readonly RollupGap[];
}

const hour = units['1h'];
const sums = booked.map((name) => `CAST(sum(${name}) AS bigint) AS ${name}`).join(', ');
const money = booked.join(', ');
const less = booked.map((name) => `-${name} AS ${name}`).join(', ');
const differs = `HAVING ${booked.map((name) => `sum(${name}) <> 0`).join(' OR ')}`;
const parties = 'account, key, model, provider';

/** The series that are made of entries and kept: those of five minutes are deleted after two days. */
const series = dimensions
  .filter((dimension) => dimension !== 'tag')
  .flatMap((dimension) => [hour, units['1d']].map((unit) => ({ dimension, unit })));

function buildSeriesGapsSql({ dimension, unit }: (typeof series)[number]): string {
  return `
    SELECT '${dimension}' AS target, ${unit} AS unit, start, name, '' AS key, '' AS model, '' AS provider,
      ${sums}
    FROM (
      SELECT start / ${unit} * ${unit} AS start, ${dimension} AS name, ${money} FROM booked_hours
      UNION ALL SELECT start, name, ${less} FROM series WHERE dimension = '${dimension}' AND unit = ${unit}
    ) AS parts GROUP BY start, name ${differs}`;
}

/** One statement, so that it reads one moment of the ledger. */
const gaps = `
  WITH booked_hours AS MATERIALIZED (
    SELECT ${parties}, at / ${hour} * ${hour} AS start, ${sums} FROM (${foldedEntries}) AS folded
    GROUP BY ${parties}, at / ${hour} * ${hour})
  SELECT 'rollups' AS target, ${hour} AS unit, start, account AS name, key, model, provider, ${sums}
  FROM (
    SELECT ${parties}, start, ${money} FROM booked_hours
    UNION ALL SELECT ${parties}, hour, ${less} FROM rollups
  ) AS parts GROUP BY start, ${parties} ${differs}
  ${series.map((each) => `UNION ALL ${buildSeriesGapsSql(each)}`).join(' ')}
  LIMIT $1`;

/** A row that sums up nothing would still be counted as a series. */
function buildDeleteEmptySql(table: string, place: readonly string[]): string {
  const conditions = [
    ...place.map((column, at) => `${column} = $${at + 1}`),
    ...figures.map((figure) => `${figure} = 0`),
  ];
  return `DELETE FROM ${table} WHERE ${conditions.join(' AND ')}`;
}

const sql = nameStatements('repair', {
  repairs: "SELECT coalesce(max(version), 0) AS repairs FROM documents WHERE name = 'rollup-repairs'",
  gaps,
  // Folds lock it too, and write the same sums in another order.
  lock: 'SELECT last FROM folds ORDER BY log FOR UPDATE',
  rollups: buildAddSql('rollups', rollupKey, booked),
  series: buildAddSql('series', seriesKey, booked),
  emptyRollups: buildDeleteEmptySql('rollups', rollupKey),
  emptySeries: buildDeleteEmptySql('series', seriesKey),
});

function readGap(row: Row): RollupGap {
  const [start, name, target] = [readCount(row, 'start'), readText(row, 'name'), readText(row, 'target')];
  const found = booked.map((each) => readInteger(row, each));
  return target === 'rollups'
    ? {
        table: target,
        place: [name, readText(row, 'key'), start, readText(row, 'model'), readText(row, 'provider')],
        money: found,
      }
    : { table: 'series', place: [target, readCount(row, 'unit'), start, name], money: found };
}

export const repair = {
  /** A repair that commits between the two statements makes `closeGaps` refuse what is found. */
  *findGaps({ limit }) {
    const [row] = yield* askRows(sql.repairs);
    return {
      repairs: row ? readCount(row, 'repairs') : 0,
      gaps: (yield* askRows(sql.gaps, limit)).map(readGap),
    };
  },
  *closeGaps({ repairs, gaps: found, at }) {
    yield* askRows(sql.lock);
    const body = JSON.stringify({ at: new Date(at).toISOString(), sums: found.length });
    if (!(yield* kept.writeDocument({ name: 'rollup-repairs', text: body, replaces: repairs }))) return false;
    for (const { table, place, money: added } of found) {
      const values = [...place, ...added];
      const names = [...(table === 'rollups' ? rollupKey : seriesKey), ...booked];
      const record = Object.fromEntries(names.map((name, index) => [name, values[index]]));
      yield* askAll([askRecords(sql[table], [record])]);
      if (added.some((amount) => amount < 0n))
        yield* askRows(table === 'rollups' ? sql.emptyRollups : sql.emptySeries, ...place);
    }
    return true;
  },
} satisfies Partial<Operations>;
