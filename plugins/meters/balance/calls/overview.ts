/**
 * The queries behind an overview: the largest series, step by step, and the sum of the others. Series are
 * ranked by few columns of few rows, in the longest steps; of the leading ones alone all is read. The others
 * are the sum of all, less these.
 */
import { findKind } from '../../../../core/for-threads.ts';
import type { Use } from '../../../../core/index.ts';
import { readCount, readText, type Row } from '../rows.ts';
import { askRows, type Steps, type Value } from '../sql/steps.ts';
import {
  amountParts,
  buckets,
  joinNames,
  namePair,
  pairs,
  units,
  type counted,
  type Dimension,
  type Unit,
} from './figures.ts';
import { addToGroup, readSums, type Groups } from './sums.ts';

const parties = ['account', 'key', 'model', 'provider'] as const;
type Party = (typeof parties)[number];
/** Which calls an overview is about. */
type OverviewFilter = Readonly<Partial<Record<Party, string | undefined>>>;

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
  /** The rank of the series, the largest first. */
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
  readonly uses: readonly Use[];
}

/** Hours in UTC, by their first milliseconds. */
export interface MinuteQuery {
  readonly account: string;
  readonly hours: readonly number[];
}

/** What a model cost in one minute, and what was used of it. */
export interface MinuteRow {
  readonly name: string;
  readonly start: number;
  readonly cost: bigint;
  readonly posts: number;
  readonly uses: readonly Use[];
}

/** A part of a range, in steps of one length. */
interface Span {
  readonly step: number;
  readonly from: number;
  readonly to: number;
}

/** Parts of a range, each in the longest steps that fit into it completely. */
function splitRange({ from, to, unit }: OverviewQuery): Span[] {
  const step = units[unit];
  const longer = unit === '5m' ? units['1h'] : units['1d'];
  const [first, last] = [Math.ceil(from / longer) * longer, Math.floor(to / longer) * longer];
  if (first >= last) return [{ step, from, to }];
  const spans = [
    { step, from, to: first },
    { step: longer, from: first, to: last },
    { step, from: last, to },
  ];
  return spans.filter((span) => span.from < span.to);
}

/** Rows of sums: where they are, and how they say the name of their series. */
interface Source {
  readonly table: 'series_sums' | 'party_sums';
  /** The column of the name, and what turns what is stored there into the name. */
  readonly column: string;
  readonly toName?: (stored: string) => string;
  /** Whether an index of keys or accounts finds the rows. The primary key begins with steps. */
  readonly isByParty?: boolean;
  /** What leads to the rows of a step, the conditions on them, and the values of both. */
  readonly before?: readonly string[];
  readonly where: readonly string[];
  readonly values: readonly Value[];
}

const wanted = 'json_array_elements_text($1::json) AS wanted';

/** All series of a dimension. */
function readSeries(dimension: string): Source {
  return { table: 'series_sums', column: 'name', where: [`dimension = '${dimension}'`], values: [] };
}

/** Those whose names begin with a text and a separator. */
function readSeriesWithin(dimension: string, text: string, separator: string): Source {
  const next = String.fromCodePoint((separator.codePointAt(0) ?? 0) + 1);
  return {
    ...readSeries(dimension),
    where: [`dimension = '${dimension}'`, 'name >= $1', 'name < $2'],
    values: [text + separator, text + next],
  };
}

/** How series are stored that are about one party, or about one within another. */
interface Series {
  readonly dimension: string;
  readonly nameRow: (names: Readonly<Partial<Record<string, string>>>) => string;
}

function findSeries(about: readonly Party[]): Series | undefined {
  const [first, second] = about;
  if (first !== undefined && second === undefined)
    return { dimension: first, nameRow: (names) => names[first] ?? '' };
  const pair = pairs.find((each) => each.every((name) => about.includes(name)));
  if (about.length !== 2 || !pair) return undefined;
  const [of, by] = pair;
  return {
    dimension: namePair(of, by),
    nameRow: (names) => joinNames(names[of] ?? '', names[by] ?? ''),
  };
}

/** The series of what filters select, with each of some names of the party `by`. */
function readNamed(
  { dimension, nameRow }: Series,
  filter: OverviewFilter,
  by: string,
  names: readonly (string | undefined)[],
): Source {
  const byRow = new Map(names.map((name) => [nameRow({ ...filter, [by]: name }), name]));
  return {
    ...readSeries(dimension),
    toName: (stored) => byRow.get(stored) ?? '',
    before: [wanted],
    where: [`dimension = '${dimension}'`, 'series_sums.name = wanted.value'],
    values: [JSON.stringify([...byRow.keys()])],
  };
}

/** Parties that filters select; of keys or accounts with these names alone, if they are given. */
function readParties(query: OverviewQuery, stated: readonly Party[], names?: readonly string[]): Source {
  const { by } = query;
  const values: Value[] = names ? [names] : [];
  const found = names
    ? undefined
    : (['key', 'account', 'provider', 'model'] as const).find((name) => stated.includes(name));
  const conditions = stated.map((name) => {
    const isFound = name === found || (name === 'model' && found === 'provider');
    // In the other form no index is chosen for it.
    return `${isFound ? name : `coalesce(party_sums.${name}, '')`} = $${values.push(query[name] ?? '')}`;
  });
  const isByParty = names !== undefined || found === 'key' || found === 'account';
  const common = { table: 'party_sums', column: by, isByParty, values } as const;
  if (names) return { ...common, where: [`party_sums.${by} = ANY($1::text[])`, ...conditions] };
  if (found !== 'model') return { ...common, where: conditions };
  // The primary key begins with the provider: of all that served any model in the step.
  const served = `(SELECT step AS served_step, start AS served_start, name AS served FROM series_sums
    WHERE dimension = 'provider') AS served`;
  const where = [
    'served_step = party_sums.step',
    'served_start = starts.at',
    'provider = served',
    ...conditions,
  ];
  return { ...common, before: [served], where };
}

/** Selects columns of the rows of spans, step by step, since an index finds each of them so. */
function selectRows(
  { table, column, isByParty, before = [], where }: Source,
  columns: string,
  spans: readonly Span[],
): string {
  return spans
    .map(({ step, from, to }) => {
      const starts = `(WITH RECURSIVE times (at) AS (
        SELECT CAST(${from} AS bigint) UNION ALL SELECT at + ${step} FROM times WHERE at + ${step} < ${to})
        SELECT at FROM times) AS starts`;
      const ofStep = isByParty ? `coalesce(${table}.step, 0)` : `${table}.step`;
      const conditions = [`${ofStep} = ${step}`, `${table}.start = starts.at`, ...where];
      return `
        SELECT ${table}.${column} AS name, ${columns} FROM ${[starts, ...before, table].join(' CROSS JOIN ')}
        WHERE ${conditions.join(' AND ')}`;
    })
    .join(' UNION ALL ');
}

/** How a query is answered. */
interface Plan {
  /** What is ranked. */
  readonly all: Source;
  /** The rows of some names alone, and series whose sum is that of `all`. Undefined: all rows are read. */
  readonly selectLeading?: ((names: readonly string[]) => Source) | undefined;
  readonly total?: Source | undefined;
}

function planQuery(query: OverviewQuery): Plan {
  const { by, tag } = query;
  if (by === 'tag') return { all: tag === undefined ? readSeries('tag') : readSeriesWithin('tag', tag, ':') };
  const stated = parties.filter((name) => query[name] !== undefined);
  const others = stated.filter((name) => name !== by);
  const own = query[by];
  const series = findSeries([by, ...others]);
  if (series && own !== undefined) return { all: readNamed(series, query, by, [own]) };
  const whole = findSeries(stated);
  // Every call has one provider, and there are few.
  const total = stated.length === 0 ? readSeries('provider') : whole && readNamed(whole, query, '', ['']);
  const all = findRanked(query, others) ?? readParties(query, stated);
  if (series) return { all, selectLeading: (names) => readNamed(series, query, by, names), total };
  const isFound = (by === 'key' || by === 'account') && own === undefined && total !== undefined;
  return { all, selectLeading: isFound ? (names) => readParties(query, stated, names) : undefined, total };
}

/** Series whose rows are together, of all that filters on `others` select. */
function findRanked(query: OverviewQuery, others: readonly Party[]): Source | undefined {
  const [of, more] = others;
  if (of === undefined) return readSeries(query.by);
  if (more !== undefined || !pairs.some((pair) => pair[0] === of && pair[1] === query.by)) return undefined;
  const within = readSeriesWithin(namePair(of, query.by), query[of] ?? '', joinNames('', ''));
  const { length } = joinNames(query[of] ?? '', '');
  return { ...within, toName: (stored) => stored.slice(length) };
}

function readName({ toName }: Source, row: Row): string {
  const stored = readText(row, 'name');
  return toName ? toName(stored) : stored;
}

/** The leading names, the largest first, and how many there are. */
function* rankNames(query: OverviewQuery, source: Source): Steps<{ names: string[]; count: number }> {
  const text = `
    SELECT name, CAST(count(*) OVER () AS bigint) AS names
    FROM (${selectRows(source, 'cost, calls', splitRange(query))}) AS narrow
    GROUP BY name ORDER BY sum(cost) DESC, sum(calls) DESC, name LIMIT ${query.top}`;
  const rows = yield* askRows({ text }, ...source.values);
  const [first] = rows;
  return {
    names: rows.map((row) => readName(source, row)),
    count: first ? readCount(first, 'names') : 0,
  };
}

function readRows({ from, to, unit }: OverviewQuery, source: Source): Steps<readonly Row[]> {
  const columns = `${source.table}.start AS start, cost, margin, posts, calls, counts`;
  const text = selectRows(source, columns, [{ step: units[unit], from, to }]);
  return askRows({ text }, ...source.values);
}

/** Adds to `groups` what the others have: all, less what the leading ones have. */
function addRest(groups: Groups, place: number, totals: readonly Row[]): void {
  const leading = [...groups.values()];
  for (const row of totals) addToGroup(groups, [place, readCount(row, 'start')], readSums(row));
  for (const { key, cost, margin, posts, calls, counts } of leading)
    addToGroup(groups, [place, key[1] ?? 0], {
      cost: -cost,
      margin: -margin,
      posts: -posts,
      calls: -calls,
      counts: [...counts].map(([name, count]) => [name, -count]),
    });
}

function buildUses(counts: ReadonlyMap<string, number>): Use[] {
  return [...counts].flatMap(([name, amount]) => {
    const kind = findKind(name);
    if (!kind || amount === 0) return [];
    const { unit, modality } = kind;
    return [{ unit, ...(modality && { modality }), count: amount / amountParts }];
  });
}

/** The sums of the largest series and of the others, in the order of their places and steps. */
export function* sumSeries(query: OverviewQuery): Steps<OverviewRow[]> {
  const { all, selectLeading, total } = planQuery(query);
  const { names, count } = yield* rankNames(query, all);
  const places = new Map(names.map((name, index) => [name, index + 1]));
  const rest = query.top + 1;
  const source = selectLeading?.(names) ?? all;
  const groups: Groups = new Map();
  for (const row of yield* readRows(query, source)) {
    const name = readName(source, row);
    addToGroup(groups, [places.get(name) ?? rest, readCount(row, 'start')], readSums(row));
  }
  if (total && selectLeading && count > names.length) addRest(groups, rest, yield* readRows(query, total));
  return [...groups.values()]
    .filter(
      ({ key: [place], calls, posts, cost }) => place !== rest || calls !== 0 || posts !== 0 || cost !== 0n,
    )
    .map(({ key: [place = 0, start = 0], cost, margin, posts, calls, counts }) => ({
      name: names[Number(place) - 1],
      start: Number(start),
      place: Number(place),
      names: count,
      cost,
      margin,
      posts,
      counts: { calls, errors: counts.get('errors') ?? 0, cache_hits: counts.get('cache_hits') ?? 0 },
      buckets: buckets.map((name) => counts.get(name) ?? 0),
      uses: buildUses(counts),
    }))
    .toSorted((one, other) => one.place - other.place || one.start - other.start);
}
