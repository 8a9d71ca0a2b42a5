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

/** Rows of many series, and how they say the name of theirs. */
interface Ranked extends Source {
  readonly column: string;
  readonly toName?: (stored: string) => string;
  /** What is collected of each name, as SQL: texts that tell where its rows are. */
  readonly places?: string;
}

/** One of the largest series. */
interface Leading {
  readonly name: string;
  readonly places: readonly string[];
}

/** Rows of the largest series alone: an index finds each by some columns, and no row of others is read. */
interface Found extends Source {
  readonly columns: readonly string[];
  /** The values of the columns, for each place where rows of a series are. */
  readonly listValues: (leading: Leading) => readonly (readonly string[])[];
}

/** How a query is answered. */
interface Plan {
  readonly all: Ranked;
  /** Rows of the largest series, and those of the sum of all. Undefined: all rows are read. */
  readonly found?: Found;
  readonly total?: Ranked;
}

/** Series of a dimension; those with this name alone, if it is given. */
function selectSeries(dimension: string, name?: string): Ranked {
  const where = [`dimension = '${dimension}'`];
  const common = { table: 'series_sums', column: 'name' } as const;
  if (name === undefined) return { ...common, where, values: [] };
  return { ...common, where: [...where, 'name = $1'], values: [name] };
}

/** Those whose names begin with a text and a separator. */
function selectSeriesWithin(dimension: string, text: string, separator: string): Ranked {
  const next = String.fromCodePoint((separator.codePointAt(0) ?? 0) + 1);
  const series = selectSeries(dimension);
  return {
    ...series,
    where: [...series.where, 'name >= $1', 'name < $2'],
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
function selectParties(query: OverviewQuery, stated: readonly Party[]): Ranked {
  const values: Value[] = [];
  const found = (['key', 'account', 'provider', 'model'] as const).find((name) => stated.includes(name));
  const where = stated.map((name) => {
    const isFound = name === found || (name === 'model' && found === 'provider');
    // In the other form no index is chosen for it.
    return `${isFound ? name : `coalesce(${name}, '')`} = $${values.push(query[name] ?? '')}`;
  });
  const isByParty = found === 'key' || found === 'account';
  const common = { table: 'party_sums', column: query.by, isByParty, values } as const;
  if (found !== 'model') return { ...common, where };
  // The primary key begins with the provider: of all that served any model in the step.
  const before = `(SELECT step AS served_step, start AS served_start, name AS served FROM series_sums
    WHERE dimension = 'provider') AS served`;
  const ofServed = ['served_step = party_sums.step', 'served_start = starts.at', 'provider = served'];
  return { ...common, before, where: [...ofServed, ...where] };
}

/** How rows of parties are found by ranked names. If `found` is undefined, all that filters select are read. */
function planParties(query: OverviewQuery, stated: readonly Party[]): Pick<Plan, 'all' | 'found'> {
  const { by, account } = query;
  const all = selectParties(query, stated);
  if ((by !== 'key' && by !== 'account') || query[by] !== undefined || query.key !== undefined)
    return { all };
  if (account === undefined) {
    // The beginning of the primary key, up to the account or the key.
    const columns = parties.slice(0, by === 'key' ? 4 : 3);
    const places = columns.join(joinNames(" || '", "' || "));
    const listValues = (leading: Leading): string[][] =>
      leading.places.map((place) => place.split(joinNames('', '')));
    return {
      all: { ...all, places },
      found: { table: 'party_sums', columns, where: [], values: [], listValues },
    };
  }
  const found = {
    table: 'party_sums',
    isByParty: true,
    columns: ['key'],
    where: stated.map((name, index) => `coalesce(${name}, '') = $${index + 2}`),
    values: stated.map((name) => query[name] ?? ''),
    listValues: ({ name }: Leading) => [[name]],
  } as const;
  return { all, found };
}

function planQuery(query: OverviewQuery): Plan {
  const { by, tag } = query;
  if (by === 'tag')
    return { all: tag === undefined ? selectSeries('tag') : selectSeriesWithin('tag', tag, ':') };
  const stated = parties.filter((name) => query[name] !== undefined);
  const others = stated.filter((name) => name !== by);
  const own = query[by];
  const series = findSeries([by, ...others]);
  if (series && own !== undefined)
    return { all: { ...selectSeries(series.dimension, series.nameRow(query)), toName: () => own } };
  const whole = findSeries(stated);
  // Every call has one provider, and there are few.
  const total =
    stated.length === 0
      ? selectSeries('provider')
      : whole && selectSeries(whole.dimension, whole.nameRow(query));
  const { all, found } = planParties(query, stated);
  if (!total) return { all };
  if (!series) return { all, ...(found && { found, total }) };
  const ofSeries = {
    ...selectSeries(series.dimension),
    columns: ['name'],
    listValues: ({ name }: Leading) => [[series.nameRow({ ...query, [by]: name })]],
  };
  return { all: findRanked(query, others) ?? all, found: ofSeries, total };
}

/** Series whose rows are together, of all that filters on `others` select. */
function findRanked(query: OverviewQuery, others: readonly Party[]): Ranked | undefined {
  const [of, more] = others;
  if (of === undefined) return selectSeries(query.by);
  if (more !== undefined || !pairs.some((pair) => pair[0] === of && pair[1] === query.by)) return undefined;
  const within = selectSeriesWithin(namePair(of, query.by), query[of] ?? '', joinNames('', ''));
  const { length } = joinNames(query[of] ?? '', '');
  return { ...within, toName: (stored) => stored.slice(length) };
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
function selectRows(source: Ranked, columns: string, spans: readonly Span[]): string {
  const { table, column, before } = source;
  return spans
    .map((span) => {
      const starts = `(WITH RECURSIVE ${buildTimes(span)} SELECT at FROM times) AS starts`;
      const joined = [starts, before, table].filter(Boolean).join(' CROSS JOIN ');
      return `
        SELECT ${table}.${column} AS name, ${columns} FROM ${joined}
        ${buildWhere(source, span, 'starts.at')}`;
    })
    .join(' UNION ALL ');
}

/** The largest series, and how many there are. */
function* rankNames(query: OverviewQuery, all: Ranked): Steps<{ leading: Leading[]; count: number }> {
  const { toName = (stored) => stored, places = "''" } = all;
  const text = `
    SELECT name, CAST(count(*) OVER () AS bigint) AS names, CAST(json_agg(place) AS text) AS places
    FROM (
      SELECT name, place, CAST(sum(cost) AS bigint) AS cost, CAST(sum(calls) AS bigint) AS calls
      FROM (${selectRows(all, `cost, calls, ${places} AS place`, splitRange(query))}) AS narrow
      GROUP BY name, place) AS parts
    GROUP BY name ORDER BY sum(cost) DESC, sum(calls) DESC, name LIMIT ${query.top}`;
  const rows = yield* askRows({ text }, ...all.values);
  const [first] = rows;
  return {
    leading: rows.map((row) => ({ name: toName(readText(row, 'name')), places: readTexts(row, 'places') })),
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

function readAll(source: Ranked, span: Span): Steps<readonly Row[]> {
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
  const { table, columns, listValues, values } = source;
  const named = columns.map((column, index) => ({ column, value: `value_${index}`, place: index + 1 }));
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
  const lists = leading.flatMap((each, index) => listValues(each).map((list) => [index, ...list]));
  return askRows({ text }, JSON.stringify(lists), ...values);
}

/** The sums of the largest series and of the others, in the order of their places and steps. */
export function* sumSeries(query: OverviewQuery): Steps<OverviewRow[]> {
  const { all, found, total } = planQuery(query);
  const { leading, count } = yield* rankNames(query, all);
  const span = { step: units[query.unit], from: query.from, to: query.to };
  const series = leading.map((): StepSums => new Map());
  const rest: StepSums = new Map();
  if (found) {
    for (const row of yield* readFound(found, leading, span))
      addLines(series[readCount(row, 'place')] ?? rest, row);
  } else {
    const places = new Map(leading.map(({ name }, index) => [name, index]));
    for (const row of yield* readAll(all, span)) {
      const stored = readText(row, 'name');
      addLines(series[places.get(all.toName?.(stored) ?? stored) ?? -1] ?? rest, row);
    }
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
