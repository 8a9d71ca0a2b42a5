/**
 * The queries behind an overview: the largest series, step by step, and the sum of the others. Series are
 * ranked by few columns of few rows, in the longest steps; of the leading ones alone all is read. The others
 * are the sum of all, less these.
 */
import { readCount, readOptional, readText, readTexts, type Row } from '../rows.ts';
import { askRows, type Steps, type Value } from '../sql/steps.ts';
import {
  addSums,
  createSums,
  joinNames,
  namePair,
  pairs,
  units,
  type Dimension,
  type Sums,
  type Unit,
} from './figures.ts';

/** In the order of the primary key. */
const parties = ['provider', 'model', 'account', 'key'] as const;
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
  /** Only these series, of a tag: the others are not read, of which there may be a hundred thousand. */
  readonly isTopOnly?: boolean;
}

/** The sums of one series and step. */
export interface OverviewRow extends Readonly<Sums> {
  /** Undefined: the sum of all other series. */
  readonly name: string | undefined;
  readonly start: number;
  /** The rank of the series, the largest first. */
  readonly place: number;
  /** How many series there are, with those that are summed up in one. */
  readonly names: number;
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

/** Rows of sums that conditions select. */
interface Source {
  readonly table: 'series_sums' | 'party_sums';
  /** Whether an index of keys or accounts finds the rows. The primary key begins with steps. */
  readonly isByParty?: boolean;
  /** What leads to the rows of a step, the conditions on them, and the values of both. */
  readonly before?: string;
  readonly where: readonly string[];
  readonly values: readonly Value[];
}

/** Rows of many series; `name` is SQL for the name of theirs. */
interface Named extends Source {
  readonly name: string;
}

/** Rows of the largest series alone: an index finds them by columns, so that no row of others is read. */
interface Found extends Source {
  /** The columns, and SQL for their values in the rows that are ranked. */
  readonly by: Readonly<Record<string, string>>;
}

/** How a query is answered. */
interface Plan {
  readonly all: Named;
  /** Rows of the largest series, and those of the sum of all. Undefined: all rows are read. */
  readonly found?: Found;
  readonly total?: Named;
}

/** Series of a dimension; the one stored under a name, if it is given. */
function selectSeries(dimension: string, stored?: string): Named {
  const where = [`dimension = '${dimension}'`, ...(stored === undefined ? [] : ['name = $1'])];
  return { table: 'series_sums', name: 'name', where, values: stored === undefined ? [] : [stored] };
}

/** Those whose names begin with a text and a separator. */
function selectSeriesWithin(dimension: string, text: string, separator: string): Named {
  const next = String.fromCodePoint((separator.codePointAt(0) ?? 0) + 1);
  const { where, ...series } = selectSeries(dimension);
  return {
    ...series,
    where: [...where, 'name >= $1', 'name < $2'],
    values: [text + separator, text + next],
  };
}

/** How series are stored that are about one party, or about one within another. */
interface Series {
  readonly dimension: string;
  readonly nameRow: (names: OverviewFilter) => string;
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

/** Parties that filters select. */
function selectParties(query: OverviewQuery, stated: readonly Party[]): Named {
  const values: Value[] = [];
  const found = (['key', 'account', 'provider', 'model'] as const).find((name) => stated.includes(name));
  const where = stated.map((name) => {
    const isFound = name === found || (name === 'model' && found === 'provider');
    // In the other form no index is chosen for it.
    return `${isFound ? name : `coalesce(${name}, '')`} = $${values.push(query[name] ?? '')}`;
  });
  const isByParty = found === 'key' || found === 'account';
  const common = { table: 'party_sums', name: query.by, isByParty, values } as const;
  if (found !== 'model') return { ...common, where };
  // The primary key begins with the provider: of all that served any model in the step.
  const before = `(SELECT step AS served_step, start AS served_start, name AS served FROM series_sums
    WHERE dimension = 'provider') AS served`;
  const ofServed = ['served_step = party_sums.step', 'served_start = starts.at', 'provider = served'];
  return { ...common, before, where: [...ofServed, ...where] };
}

/** How rows of parties are found by what was ranked; undefined: all that filters select are read. */
function findParties(query: OverviewQuery, stated: readonly Party[]): Found | undefined {
  const { by, account, key } = query;
  if ((by !== 'key' && by !== 'account') || query[by] !== undefined || key !== undefined) return undefined;
  const table = 'party_sums';
  if (account === undefined) {
    // The beginning of the primary key, up to the account or the key.
    const columns = parties.slice(0, by === 'key' ? 4 : 3);
    return { table, by: Object.fromEntries(columns.map((name) => [name, name])), where: [], values: [] };
  }
  return {
    table,
    isByParty: true,
    by: { key: 'key' },
    where: stated.map((name, index) => `coalesce(${name}, '') = $${index + 2}`),
    values: stated.map((name) => query[name] ?? ''),
  };
}

function planQuery(query: OverviewQuery): Plan {
  const { by, tag, isTopOnly } = query;
  if (by === 'tag') {
    const all = tag === undefined ? selectSeries('tag') : selectSeriesWithin('tag', tag, ':');
    return { all, ...(isTopOnly && { found: { ...selectSeries('tag'), by: { name: 'name' } } }) };
  }
  const stated = parties.filter((name) => query[name] !== undefined);
  const others = stated.filter((name) => name !== by);
  const [of] = others;
  const own = query[by];
  const series = findSeries([by, ...others]);
  if (series && own !== undefined) {
    const stored = series.nameRow(query);
    const all = selectSeries(series.dimension, stored);
    return { all: { ...all, name: 'CAST($2 AS text)', values: [stored, own] } };
  }
  const whole = findSeries(stated);
  // Every call has one provider, and there are few.
  const total =
    of === undefined
      ? selectSeries('provider')
      : whole && selectSeries(whole.dimension, whole.nameRow(query));
  const found = findParties(query, stated);
  if (!series || !total)
    return { all: selectParties(query, stated), ...(total && found && { total, found }) };
  const findBySeries = (name: string): Found => ({ ...selectSeries(series.dimension), by: { name } });
  if (of === undefined) return { all: selectSeries(by), found: findBySeries('name'), total };
  if (series.dimension !== namePair(of, by)) {
    // Its names begin with what is ranked, so the rows of a filter are not together. SQL joins each name from
    // the columns of the two parties.
    const stored = series.nameRow({ [by]: `' || ${by} || '`, [of]: `' || ${of} || '` });
    return { all: selectParties(query, stated), found: findBySeries(`'${stored}'`), total };
  }
  const within = selectSeriesWithin(series.dimension, query[of] ?? '', joinNames('', ''));
  const { length } = [...joinNames(query[of] ?? '', '')];
  return {
    all: { ...within, name: `substr(series_sums.name, ${length + 1})` },
    found: findBySeries('series_sums.name'),
    total,
  };
}

/** The first milliseconds of the steps of a span. */
function buildTimes({ step, from, to }: Span): string {
  return `times (at) AS (
    SELECT CAST(${from} AS bigint) UNION ALL SELECT at + ${step} FROM times WHERE at + ${step} < ${to})`;
}

/** The conditions on the rows of a step. */
function buildWhere({ table, isByParty, where }: Source, { step }: Span, start: string): string {
  const ofStep = isByParty ? `coalesce(${table}.step, 0)` : `${table}.step`;
  return `WHERE ${[`${ofStep} = ${step}`, `${table}.start = ${start}`, ...where].join(' AND ')}`;
}

/** Selects columns of the rows of spans, step by step, since an index finds each of them so. */
function selectRows(source: Named, columns: string, spans: readonly Span[]): string {
  const { table, name, before } = source;
  return spans
    .map((span) => {
      const starts = `(WITH RECURSIVE ${buildTimes(span)} SELECT at FROM times) AS starts`;
      const joined = [starts, before, table].filter(Boolean).join(' CROSS JOIN ');
      return `
        SELECT ${name} AS name, ${columns} FROM ${joined}
        ${buildWhere(source, span, 'starts.at')}`;
    })
    .join(' UNION ALL ');
}

/** One of the largest series: its name, and the values of the columns that find its rows. */
interface Leading {
  readonly name: string;
  readonly places: readonly (readonly string[])[];
}

/** The largest series, and how many there are. No places are listed if names alone find the rows. */
function* rankNames(
  query: OverviewQuery,
  { all, found }: Plan,
): Steps<{ leading: Leading[]; count: number }> {
  const isNamed = query.isTopOnly === true;
  const place = `CAST(json_build_array(${Object.values(found?.by ?? {}).join(', ')}) AS text) AS place`;
  const spans = splitRange(query);
  const narrow = isNamed
    ? `SELECT name, '' AS place, cost, calls FROM (${selectRows(all, 'cost, calls', spans)}) AS narrow`
    : `SELECT name, place, CAST(sum(cost) AS bigint) AS cost, CAST(sum(calls) AS bigint) AS calls
      FROM (${selectRows(all, `cost, calls, ${place}`, spans)}) AS narrow
      GROUP BY name, place`;
  const places = isNamed ? "'[]'" : 'CAST(json_agg(place) AS text)';
  const text = `
    SELECT name, CAST(count(*) OVER () AS bigint) AS names, ${places} AS places FROM (${narrow}) AS parts
    GROUP BY name ORDER BY sum(cost) DESC, sum(calls) DESC, name LIMIT ${query.top}`;
  const rows = yield* askRows({ text }, ...all.values);
  const [first] = rows;
  return {
    leading: rows.map((row) => {
      const name = readText(row, 'name');
      const listed = readTexts(row, 'places').map((each) => JSON.parse(each));
      return { name, places: isNamed ? [[name]] : listed };
    }),
    count: first ? readCount(first, 'names') : 0,
  };
}

/** The sums of one row as a line, and the lines of many rows: one row takes as long to send as ten lines. */
const line = ['start', 'cost', 'margin', 'posts', 'calls', 'counts'].join(" || ' ' || ");
const lines = `string_agg(${line}, '\n')`;

/** The sums of a series by its steps. */
type StepSums = Map<number, Sums>;

function addLines(sums: StepSums, row: Row): void {
  for (const text of readOptional(row, 'lines', readText)?.split('\n') ?? []) {
    const [start, cost = 0, margin = 0, posts, calls, counts = ''] = text.split(' ');
    const more = {
      cost: BigInt(cost),
      margin: BigInt(margin),
      posts: Number(posts),
      calls: Number(calls),
      counts: JSON.parse(counts),
    };
    const known = sums.get(Number(start));
    if (known) addSums(known, more);
    else sums.set(Number(start), more);
  }
}

function readAll(source: Named, span: Span): Steps<readonly Row[]> {
  const text = `
    SELECT name, string_agg(line, '\n') AS lines
    FROM (${selectRows(source, `${line} AS line`, [span])}) AS found GROUP BY name`;
  return askRows({ text }, ...source.values);
}

/**
 * The rows of the largest series, by their places. PostgreSQL does not know how many rows a step has, so a
 * join would read all of them; a subquery reads what the index finds.
 */
function readFound(source: Found, leading: readonly Leading[], span: Span): Steps<readonly Row[]> {
  const { table, by, values } = source;
  const named = Object.keys(by).map((column, index) => ({
    column,
    value: `value_${index}`,
    place: index + 1,
  }));
  const where = [
    ...named.map(({ column, value }) => `${table}.${column} = wanted.${value}`),
    ...source.where,
  ];
  const text = `
    WITH RECURSIVE ${buildTimes(span)}, wanted AS MATERIALIZED (
      SELECT CAST(value ->> 0 AS bigint) AS place,
        ${named.map(({ value, place }) => `value ->> ${place} AS ${value}`).join(', ')}
      FROM json_array_elements($1::json))
    SELECT place, string_agg(
      (SELECT ${lines} FROM ${table} ${buildWhere({ ...source, where }, span, 'times.at')}), '\n') AS lines
    FROM times CROSS JOIN wanted GROUP BY place`;
  const lists = leading.flatMap(({ places }, index) => places.map((place) => [index, ...place]));
  return askRows({ text }, JSON.stringify(lists), ...values);
}

/** The sums of the largest series and of the others, in the order of their places and steps. */
export function* sumSeries(query: OverviewQuery): Steps<OverviewRow[]> {
  const plan = planQuery(query);
  const { all, found, total } = plan;
  const { leading, count } = yield* rankNames(query, plan);
  const span = { step: units[query.unit], from: query.from, to: query.to };
  const series = leading.map((): StepSums => new Map());
  const rest: StepSums = new Map();
  if (found) {
    for (const row of yield* readFound(found, leading, span))
      addLines(series[readCount(row, 'place')] ?? rest, row);
  } else {
    const places = new Map(leading.map(({ name }, index) => [name, index]));
    for (const row of yield* readAll(all, span))
      addLines(series[places.get(readText(row, 'name')) ?? -1] ?? rest, row);
  }
  if (total && count > leading.length) {
    // The others have what all have, less what the leading ones have.
    for (const row of yield* readAll(total, span)) addLines(rest, row);
    for (const sums of series)
      for (const [start, less] of sums) addSums(rest.get(start) ?? createSums(), less, -1);
  }
  for (const [start, { calls, posts, cost }] of rest)
    if (calls === 0 && posts === 0 && cost === 0n) rest.delete(start);
  return [...series, rest].flatMap((sums, index) =>
    [...sums]
      .toSorted(([one], [other]) => one - other)
      .map(([start, own]) => ({
        name: leading[index]?.name,
        start,
        place: index + 1,
        names: count,
        ...own,
      })),
  );
}
