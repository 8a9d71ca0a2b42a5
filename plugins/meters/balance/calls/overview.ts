/** The query behind an overview: sums by one dimension and step, of the largest series and the rest. */
import {
  readCount,
  readInteger,
  allowNull,
  createReader,
  readText,
  type RecordOf,
  type Row,
} from '../rows.ts';
import { buckets, counted, figures, units, type Dimension, type Unit } from './figures.ts';
import { buildTagTailSql, buildTailsSql } from './rollup-sql.ts';

/** Which calls an overview is about. */
export interface OverviewFilter {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
}

export interface OverviewQuery extends OverviewFilter {
  readonly from: number;
  readonly to: number;
  readonly by: Dimension;
  /** Only tags of this name. */
  readonly tag?: string | undefined;
  readonly unit: Unit;
  /** How many series there are; the others are summed up in one without a name. */
  readonly top: number;
}

type Counts = Readonly<Record<(typeof counted)[number], number>>;
const readCounts: (row: Row) => Counts = createReader(
  Object.fromEntries(counted.map((name) => [name, readCount])) as Record<keyof Counts, typeof readCount>,
);

const rowFields = {
  /** Undefined: the sum of all other series. */
  name: allowNull(readText),
  start: readCount,
  /** The rank of the series, the largest first. */
  place: readCount,
  /** How many series there are, with those that are summed up in one. */
  names: readCount,
  cost: readInteger,
  /** What was charged above the vendors' bills. */
  margin: readInteger,
  posts: readCount,
  counts: readCounts,
  /** How many first events came within each bucket. */
  buckets: (row: Row) => buckets.map((name) => readCount(row, name)),
};
/** The sums of one series and step. */
export type OverviewRow = RecordOf<typeof rowFields>;
const readOverviewRow = createReader(rowFields);

export interface Asked {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** Hours in UTC, by their first milliseconds. */
export interface MinuteQuery {
  readonly account: string;
  readonly hours: readonly number[];
}

const minuteFields = { name: readText, start: readCount, cost: readInteger, posts: readCount };
/** What a model cost in one minute. */
export type MinuteRow = RecordOf<typeof minuteFields>;
export const readMinuteRow = createReader(minuteFields);

const filters = ['account', 'key', 'model', 'provider'] as const;
const sums = figures.map((figure) => `CAST(sum(${figure}) AS bigint) AS ${figure}`).join(', ');
const all = figures.join(', ');

/** Parts of a range, each in the longest steps that fit into it completely. */
function splitRange({ from, to, unit }: OverviewQuery): [length: number, from: number, to: number][] {
  const length = units[unit];
  const longer = unit === '5m' ? units['1h'] : units['1d'];
  const [first, last] = [Math.ceil(from / longer) * longer, Math.floor(to / longer) * longer];
  if (first >= last) return [[length, from, to]];
  return [
    [length, from, first],
    [longer, first, last],
    [length, last, to],
  ];
}

/**
 * Finds the largest series from few and narrow rows, then reads only those, step by step. The rest is the
 * sum of all less these. Every call has one provider and there are few providers, so their sums add up to
 * all.
 */
function buildSeriesSql(query: OverviewQuery): Asked {
  const { from, to, by, unit, top } = query;
  const values = [from, to, top];
  const place = (value: number): string => `$${values.push(value)}`;
  const length = units[unit];
  const series = `dimension = '${by}' AND unit = ${length}`;
  const narrow = splitRange(query).map(
    ([step, start, end]) => `
      SELECT name, cost, calls FROM series
      WHERE dimension = '${by}' AND unit = ${step} AND start >= ${place(start)} AND start < ${place(end)}`,
  );
  const fresh = buildTailsSql({ name: by, unit: String(length), where: 'at >= $1 AND at < $2' });
  const isMore = `(SELECT count(*) FROM ranked) > $3`;
  const text = `
    WITH RECURSIVE fresh AS MATERIALIZED
      (SELECT name, start, ${sums} FROM (${fresh}) AS tail GROUP BY name, start),
    ranked AS MATERIALIZED (
      SELECT name AS ranked_name, row_number() OVER (ORDER BY sum(cost) DESC, sum(calls) DESC, name) AS place
      FROM (${narrow.join(' UNION ALL ')} UNION ALL SELECT name, cost, calls FROM fresh) AS narrow
      GROUP BY name),
    leading_names AS MATERIALIZED (SELECT ranked_name, place FROM ranked WHERE place <= $3),
    starts (step_start) AS (
      SELECT CAST($1 AS bigint) UNION ALL SELECT step_start + ${length} FROM starts
      WHERE step_start + ${length} < $2)
    SELECT name, start, CAST(min(place) AS bigint) AS place, (SELECT count(*) FROM ranked) AS names, ${sums}
    FROM (
      SELECT name, start, place, ${all} FROM starts CROSS JOIN leading_names
        JOIN series ON ${series} AND start = step_start AND name = ranked_name
      UNION ALL SELECT name, start, place, ${all} FROM fresh JOIN leading_names ON ranked_name = name
      UNION ALL SELECT NULL, start, CAST($3 AS bigint) + 1, ${all} FROM series
        WHERE dimension = 'provider' AND unit = ${length} AND start >= $1 AND start < $2 AND ${isMore}
      UNION ALL SELECT NULL, start, CAST($3 AS bigint) + 1, ${all} FROM fresh WHERE ${isMore}) AS parts
    GROUP BY name, start ORDER BY 3, 2`;
  return { text, values };
}

/** Whether series have the sums that a query adds up: of tags, or of one name. */
function hasSeries(query: OverviewQuery): boolean {
  return filters.every((name) => query[name] === undefined || name === query.by);
}

/**
 * Adds up the rows of some series, or of what filters select among the finest roll-ups. These are summed up
 * before they are ranked, since there are a thousand times as many.
 */
function buildWholeSql(query: OverviewQuery): Asked {
  const { from, to, by, tag, unit, top } = query;
  const values: (string | number)[] = [from, to, top];
  const place = (value: string | number): string => `$${values.push(value)}`;
  const length = String(units[unit]);
  const narrowed = filters.flatMap((name) => {
    const value = query[name];
    return value === undefined ? [] : [`${name} = ${place(value)}`];
  });
  const prefix = tag === undefined ? [] : [`name >= ${place(`${tag}:`)}`, `name < ${place(`${tag};`)}`];
  const where = ['at >= $1', 'at < $2', ...narrowed].join(' AND ');
  const inSeries = `dimension = '${by}' AND unit = ${length}`;
  const named = by === 'tag' || query[by] === undefined ? prefix : [`name = $4`];
  // The primary key of the roll-ups begins with the account.
  const inRollups =
    query.key !== undefined && query.account === undefined
      ? ['account IN (SELECT name FROM accounts)', ...narrowed]
      : narrowed;
  const kept = hasSeries(query)
    ? `SELECT name, start, ${all} FROM starts CROSS JOIN series
       WHERE ${[inSeries, 'start = step_start', ...named].join(' AND ')}`
    : `SELECT ${by} AS name, hour / ${length} * ${length} AS start, ${sums} FROM rollups
       WHERE ${['hour >= $1', 'hour < $2', ...inRollups].join(' AND ')} GROUP BY 1, 2`;
  const fresh =
    by === 'tag'
      ? buildTagTailSql({ unit: length, where })
      : buildTailsSql({ name: by, unit: length, where });
  const rest = prefix.length > 0 ? `SELECT * FROM (${fresh}) AS fresh WHERE ${prefix.join(' AND ')}` : fresh;
  const text = `
    WITH RECURSIVE starts (step_start) AS (
      SELECT min(start) FROM series WHERE ${inSeries} AND start >= $1 AND start < $2
      UNION ALL SELECT step_start + ${length} FROM starts WHERE step_start + ${length} < $2),
    parts AS MATERIALIZED (${kept} UNION ALL ${rest}),
    ranked AS (
      SELECT name AS ranked_name, row_number() OVER (ORDER BY sum(cost) DESC, sum(calls) DESC, name) AS place
      FROM parts GROUP BY name)
    SELECT CASE WHEN place <= $3 THEN name END AS name, start, CAST(min(place) AS bigint) AS place,
      (SELECT count(*) FROM ranked) AS names, ${sums}
    FROM parts JOIN ranked ON ranked_name = name GROUP BY 1, 2 ORDER BY 3, 2`;
  return { text, values };
}

function isSeries(query: OverviewQuery): boolean {
  return query.by !== 'tag' && filters.every((name) => query[name] === undefined);
}

export function buildOverviewSql(query: OverviewQuery): Asked {
  return isSeries(query) ? buildSeriesSql(query) : buildWholeSql(query);
}

/**
 * Rows of the query above; of series that have no name it gives the sum of all, from which the named are
 * taken.
 */
export function readOverviewRows(query: OverviewQuery, rows: readonly Row[]): OverviewRow[] {
  const read = rows.map(readOverviewRow);
  if (!isSeries(query)) return read;
  const named = Map.groupBy(
    read.filter(({ name }) => name !== undefined),
    ({ start }) => start,
  );
  return read
    .map((row) => (row.name === undefined ? (named.get(row.start) ?? []).reduce(subtractRow, row) : row))
    .filter(({ counts, posts, cost }) => counts.calls !== 0 || posts !== 0 || cost !== 0n);
}

function subtractRow(all: OverviewRow, one: OverviewRow): OverviewRow {
  const counts: Record<keyof Counts, number> = { ...all.counts };
  for (const name of counted) counts[name] -= one.counts[name];
  return {
    ...all,
    cost: all.cost - one.cost,
    margin: all.margin - one.margin,
    posts: all.posts - one.posts,
    counts,
    buckets: all.buckets.map((count, index) => count - (one.buckets[index] ?? 0)),
  };
}
