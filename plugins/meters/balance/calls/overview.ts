/** The query behind an overview: sums by one dimension and step, of the largest series and the rest. */
import { count, integer, maybe, text, type Row } from '../rows.ts';
import { buckets, counted, figures, units, type Dimension, type Unit } from './figures.ts';
import { tagTail, tails } from './rollup-sql.ts';

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

/** The sums of one series and step. */
export interface OverviewRow {
  /** Undefined: the sum of all other series. */
  readonly name: string | undefined;
  readonly start: number;
  /** The place of the series, the largest first. */
  readonly place: number;
  /** How many series there are, with those that are summed up in one. */
  readonly names: number;
  readonly cost: bigint;
  /** What was charged above the vendors' bills. */
  readonly margin: bigint;
  readonly posts: number;
  readonly counts: Readonly<Record<(typeof counted)[number], number>>;
  /** How many first events came within each bucket. */
  readonly buckets: readonly number[];
}

export interface Asked {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

const filters = ['account', 'key', 'model', 'provider'] as const;

export function overviewSql(query: OverviewQuery): Asked {
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
  const inSeries = [`dimension = '${by}'`, `unit = ${length}`, 'start >= $1', 'start < $2', ...prefix];
  const kept =
    narrowed.length > 0
      ? `SELECT ${by} AS name, hour / ${length} * ${length} AS start, ${figures.join(', ')} FROM rollups
         WHERE ${['hour >= $1', 'hour < $2', ...narrowed].join(' AND ')}`
      : `SELECT name, start, ${figures.join(', ')} FROM series
         WHERE ${inSeries.join(' AND ')}`;
  const fresh = by === 'tag' ? tagTail({ unit: length, where }) : tails({ name: by, unit: length, where });
  const rest = prefix.length > 0 ? `SELECT * FROM (${fresh}) AS fresh WHERE ${prefix.join(' AND ')}` : fresh;
  const sums = figures.map((figure) => `CAST(sum(${figure}) AS bigint) AS ${figure}`).join(', ');
  const text = `
    WITH parts AS MATERIALIZED (${kept} UNION ALL ${rest}),
    ranked AS (
      SELECT name AS ranked_name, row_number() OVER (ORDER BY sum(cost) DESC, sum(calls) DESC, name) AS place
      FROM parts GROUP BY name)
    SELECT CASE WHEN place <= $3 THEN name END AS name, start, CAST(min(place) AS bigint) AS place,
      (SELECT count(*) FROM ranked) AS names, ${sums}
    FROM parts JOIN ranked ON ranked_name = name GROUP BY 1, 2 ORDER BY 3, 2`;
  return { text, values };
}

export function overviewRowOf(row: Row): OverviewRow {
  const [calls, errors, input, output, cached, reasoning, hits] = counted.map((name) => count(row, name));
  return {
    name: maybe(row, 'name', text),
    start: count(row, 'start'),
    place: count(row, 'place'),
    names: count(row, 'names'),
    cost: integer(row, 'cost'),
    margin: integer(row, 'margin'),
    posts: count(row, 'posts'),
    counts: {
      calls: calls ?? 0,
      errors: errors ?? 0,
      input: input ?? 0,
      output: output ?? 0,
      cached: cached ?? 0,
      reasoning: reasoning ?? 0,
      cache_hits: hits ?? 0,
    },
    buckets: buckets.map((name) => count(row, name)),
  };
}
