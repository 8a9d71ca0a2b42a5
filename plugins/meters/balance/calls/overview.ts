/** The queries behind an overview: sums by one dimension and step, of the largest series and the rest. */
import { findKind } from '../../../../core/for-threads.ts';
import type { Use } from '../../../../core/index.ts';
import {
  readCount,
  readInteger,
  allowNull,
  createReader,
  readText,
  type RecordOf,
  type Row,
} from '../rows.ts';
import { amountParts, buckets, counted, figures, units, type Dimension, type Unit } from './figures.ts';
import type { CallSelect } from './records.ts';

/** Which calls an overview is about. */
const filters = ['account', 'key', 'model', 'provider'] as const;
type OverviewFilter = Readonly<Partial<Record<(typeof filters)[number], string | undefined>>>;

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
type SumsRow = RecordOf<typeof rowFields>;
const readSumsRow = createReader(rowFields);
/** The sums of one series and step. */
export interface OverviewRow extends SumsRow {
  readonly uses: readonly Use[];
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
function buildSeriesSql(query: OverviewQuery): CallSelect {
  const { from, to, by, unit, top } = query;
  const values = [from, to, top];
  const place = (value: number): string => `$${values.push(value)}`;
  const length = units[unit];
  const narrow = splitRange(query).map(
    ([step, start, end]) => `
      SELECT name, cost, calls FROM summed
      WHERE dimension = '${by}' AND step = ${step} AND start >= ${place(start)} AND start < ${place(end)}`,
  );
  const text = `
    WITH RECURSIVE ranked AS MATERIALIZED (
      SELECT name AS ranked_name, row_number() OVER (ORDER BY sum(cost) DESC, sum(calls) DESC, name) AS place
      FROM (${narrow.join(' UNION ALL ')}) AS narrow GROUP BY name),
    leading_names AS MATERIALIZED (SELECT ranked_name, place FROM ranked WHERE place <= $3),
    ${buildStarts(length)}
    SELECT name, start, CAST(min(place) AS bigint) AS place, (SELECT count(*) FROM ranked) AS names, ${sums}
    FROM (
      SELECT name, start, place, ${all} FROM starts CROSS JOIN leading_names
        JOIN summed ON dimension = '${by}' AND step = ${length} AND start = step_start AND name = ranked_name
      UNION ALL SELECT NULL, start, CAST($3 AS bigint) + 1, ${all} FROM summed
        WHERE ${buildAllSeries(length)} AND (SELECT count(*) FROM ranked) > $3) AS parts
    GROUP BY name, start ORDER BY 3, 2`;
  return { text, values };
}

/** The steps of a range, for a recursive query. */
function buildStarts(length: number): string {
  return `starts (step_start) AS (
    SELECT CAST($1 AS bigint) UNION ALL SELECT step_start + ${length} FROM starts
    WHERE step_start + ${length} < $2)`;
}

function buildAllSeries(length: number): string {
  return `dimension = 'provider' AND step = ${length} AND start >= $1 AND start < $2`;
}

/** Whether series have the sums that a query adds up: of tags, or of one name. */
function hasSeries(query: OverviewQuery): boolean {
  return filters.every((name) => query[name] === undefined || name === query.by);
}

/** Reads `columns` of some series, or of what filters select among the hours, step by step. */
function buildKeptSql(query: OverviewQuery, table: 'uses' | 'sums', values: (string | number)[]): string {
  const place = (value: string | number): string => `$${values.push(value)}`;
  const { by, tag } = query;
  const length = units[query.unit];
  const [suffix, columns] = table === 'uses' ? ['_uses', 'kind, amount'] : ['', all];
  if (hasSeries(query)) {
    const named = by !== 'tag' && query[by] !== undefined ? [`name = ${place(query[by])}`] : [];
    const prefix = tag === undefined ? [] : [`name >= ${place(`${tag}:`)}`, `name < ${place(`${tag};`)}`];
    const where = [`dimension = '${by}'`, `step = ${length}`, 'start = step_start', ...named, ...prefix];
    return `SELECT name, start, ${columns} FROM starts CROSS JOIN summed${suffix}
      WHERE ${where.join(' AND ')}`;
  }
  const narrowed = filters.flatMap((name) => {
    const value = query[name];
    return value === undefined ? [] : [`${name} = ${place(value)}`];
  });
  // The primary key of the hours begins with the account.
  if (query.key !== undefined && query.account === undefined)
    narrowed.push('account IN (SELECT name FROM accounts)');
  const added = table === 'uses' ? 'kind, CAST(sum(amount) AS bigint) AS amount' : sums;
  return `SELECT ${by} AS name, hour / ${length} * ${length} AS start, ${added} FROM hourly${suffix}
    WHERE ${['hour >= $1', 'hour < $2', ...narrowed].join(' AND ')}
    GROUP BY 1, 2${table === 'uses' ? ', 3' : ''}`;
}

/** Hours are summed up before they are ranked, since there are a thousand times as many. */
function buildWholeSql(query: OverviewQuery): CallSelect {
  const values: (string | number)[] = [query.from, query.to, query.top];
  const text = `
    WITH RECURSIVE ${buildStarts(units[query.unit])},
    parts AS MATERIALIZED (${buildKeptSql(query, 'sums', values)}),
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

export function buildSumsSql(query: OverviewQuery): CallSelect {
  return isSeries(query) ? buildSeriesSql(query) : buildWholeSql(query);
}

/** What the series of these rows used; one without a name has all of it. */
export function buildUsesSql(query: OverviewQuery, rows: readonly SumsRow[]): CallSelect {
  const { from, to, by, unit } = query;
  const length = units[unit];
  const sum = 'CAST(sum(amount) AS bigint) AS amount';
  if (!isSeries(query)) {
    const values: (string | number)[] = [from, to];
    const kept = buildKeptSql(query, 'uses', values);
    const text = `
      WITH RECURSIVE ${buildStarts(length)}
      SELECT name, start, kind, ${sum} FROM (${kept}) AS parts GROUP BY 1, 2, 3`;
    return { text, values };
  }
  const names = new Set(rows.flatMap(({ name }) => name ?? []));
  const rest = rows.some(({ name }) => name === undefined)
    ? `UNION ALL SELECT NULL, start, kind, ${sum} FROM summed_uses WHERE ${buildAllSeries(length)}
       GROUP BY start, kind`
    : '';
  const text = `
    WITH RECURSIVE ${buildStarts(length)}
    SELECT name, start, kind, amount FROM starts CROSS JOIN json_array_elements_text($3::json) AS wanted
      JOIN summed_uses ON dimension = '${by}' AND step = ${length} AND start = step_start
        AND name = wanted.value
    ${rest}`;
  return { text, values: [from, to, JSON.stringify([...names])] };
}

/**
 * Rows of the first query; of series that have no name it gives the sum of all, from which the named are
 * taken.
 */
export function readSumRows(query: OverviewQuery, rows: readonly Row[]): SumsRow[] {
  const read = rows.map(readSumsRow);
  if (!isSeries(query)) return read;
  const named = Map.groupBy(
    read.filter(({ name }) => name !== undefined),
    ({ start }) => start,
  );
  return read
    .map((row) => (row.name === undefined ? (named.get(row.start) ?? []).reduce(subtractRow, row) : row))
    .filter(({ counts, posts, cost }) => counts.calls !== 0 || posts !== 0 || cost !== 0n);
}

function subtractRow(all: SumsRow, one: SumsRow): SumsRow {
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

const useFields = { name: allowNull(readText), start: readCount, kind: readText, amount: readCount };
const readUse = createReader(useFields);

/** Adds rows of the second query. */
export function addUses(query: OverviewQuery, rows: readonly SumsRow[], used: readonly Row[]): OverviewRow[] {
  const names = new Set(rows.map(({ name }) => name));
  const amounts = new Map<string | undefined, Map<number, Map<string, number>>>();
  const add = (name: string | undefined, start: number, kind: string, amount: number): void => {
    let steps = amounts.get(name);
    if (!steps) amounts.set(name, (steps = new Map()));
    let found = steps.get(start);
    if (!found) steps.set(start, (found = new Map()));
    found.set(kind, (found.get(kind) ?? 0) + amount);
  };
  for (const { name, start, kind, amount } of used.map(readUse)) {
    add(names.has(name) ? name : undefined, start, kind, amount);
    if (isSeries(query) && name !== undefined) add(undefined, start, kind, -amount);
  }
  return rows.map((row) => {
    const own = amounts.get(row.name)?.get(row.start) ?? [];
    return { ...row, uses: [...own].flatMap(([kind, amount]) => buildUse(kind, amount)) };
  });
}

function buildUse(name: string, amount: number): Use[] {
  const kind = findKind(name);
  if (!kind || amount === 0) return [];
  const { unit, modality } = kind;
  return [{ unit, ...(modality && { modality }), count: amount / amountParts }];
}
