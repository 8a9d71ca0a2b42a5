/**
 * Sums of a slice of both logs, ready to be added to the roll-ups. They are made here and not by the
 * database, which would sort every row once for each dimension and step, with all its figures.
 */
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { readCount, readInteger, readOptional, readNamedTexts, readText, type Row } from '../rows.ts';
import {
  askAll,
  askRecords,
  askRows,
  nameStatements,
  selectRecords,
  type Statement,
  type Steps,
} from '../sql/steps.ts';
import { bucketBounds, errorOutcomes, figures, units } from './figures.ts';
import { buildEntriesSql, type Log } from './rollup-sql.ts';

type Columns = readonly string[];
export const rollupKey: Columns = ['account', 'key', 'hour', 'model', 'provider'];
export const seriesKey: Columns = ['dimension', 'unit', 'start', 'name'];

/** Adds records to a table of sums. */
export function buildAddSql(table: string, key: Columns, added = figures): string {
  const columns = [...key, ...added].join(', ');
  const sums = added.map((figure) => `${figure} = ${table}.${figure} + excluded.${figure}`);
  return `
    INSERT INTO ${table} (${columns}) ${selectRecords(table, columns)}
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sums.join(', ')}`;
}

const sql = nameStatements('folds', {
  addRollups: buildAddSql('rollups', rollupKey),
  addSeries: buildAddSql('series', seriesKey),
  folded: 'UPDATE folds SET last = $2 WHERE log = $1',
});

/** What a fold reads of either log, above $1 and up to $2. */
const slices: Readonly<Record<Log, Statement>> = nameStatements('slices', {
  entries: buildEntriesSql('entries.number > $1 AND entries.number <= $2'),
  calls: `
    SELECT account, key, model, provider, ended AS at, outcome, input, output, cached, reasoning, cost,
      margin, first_event, tags
    FROM calls WHERE number > $1 AND number <= $2`,
});

/** The numbers of a log above `last` and up to `to`. */
export interface Slice {
  readonly log: Log;
  readonly last: number;
  readonly to: number;
}

/** Adds slices to the roll-ups, and notes how far each log is summed up. */
export function* addSlices(wanted: readonly Slice[]): Steps<void> {
  const sums = new SliceSums();
  for (const { log, last, to } of wanted)
    for (const row of yield* askRows(slices[log], last, to))
      if (log === 'entries') sums.addEntry(row);
      else sums.addCall(row);
  const { rollups, series } = sums.list();
  yield* askAll([askRecords(sql.addRollups, rollups)]);
  yield* askAll([askRecords(sql.addSeries, series)]);
  for (const { log, to } of wanted) yield* askRows(sql.folded, log, to);
}

interface Money {
  readonly cost: bigint;
  readonly margin: bigint;
}

type Key = readonly (string | number)[];

/** The figures of a group, in the order of `figures`: money, and then counts. */
interface Sums<Of extends Key = Key> {
  readonly key: Of;
  cost: bigint;
  margin: bigint;
  readonly counts: number[];
}

const counts = figures.slice(2);
const places = new Map(counts.map((figure, index) => [figure, index]));
const getPlace = (figure: string): number => places.get(figure) ?? 0;
const [posts, calls, errors, hits, firstBucket] = ['posts', 'calls', 'errors', 'cache_hits', 'bucket_0'].map(
  getPlace,
);
const tokens = ['input', 'output', 'cached', 'reasoning'].map((name) => [name, getPlace(name)] as const);
const steps = Object.values(units);
const isError = new Set<string>(errorOutcomes);

/** What a row adds to the counts: places and amounts. */
type Additions = readonly (readonly [place: number | undefined, amount: number])[];

function findBucket(milliseconds: number): number {
  const found = bucketBounds.findIndex((bound) => milliseconds < bound);
  return found < 0 ? bucketBounds.length : found;
}

const none: Money = { cost: 0n, margin: 0n };

function readMoney(row: Row): Money {
  return { cost: readInteger(row, 'cost'), margin: readInteger(row, 'margin') };
}

class SliceSums {
  /** By the shortest step, of which all longer ones are made: most rows of a slice are in a few groups. */
  readonly #groups = new Map<
    string,
    Sums<readonly [account: string, key: string, model: string, provider: string, at: number]>
  >();
  readonly #series = new Map<string, Sums>();

  addEntry(row: Row): void {
    this.#addRow(row, readMoney(row), [[posts, readCount(row, 'posts')]]);
  }

  addCall(row: Row): void {
    const first = readOptional(row, 'first_event', readCount);
    const counts: Additions = [
      [calls, 1],
      ...(isError.has(readText(row, 'outcome')) ? [[errors, 1] as const] : []),
      ...tokens.map(([name, at]) => [at, readCount(row, name)] as const),
      ...(readCount(row, 'cached') > 0 ? [[hits, 1] as const] : []),
      ...(first === undefined ? [] : [[(firstBucket ?? 0) + findBucket(first), 1] as const]),
    ];
    // The money of a call is in its entries, which have no tags.
    this.#addRow(row, none, counts);
    if (row.tags === '{}') return;
    for (const [name, value] of Object.entries(readNamedTexts(row, 'tags')))
      this.#addSeries(['tag', formatTag(name, value), readCount(row, 'at')], readMoney(row), counts);
  }

  list(): { readonly rollups: Row[]; readonly series: Row[] } {
    const rollups = new Map<string, Sums>();
    for (const sums of this.#groups.values()) {
      const [account, key, model, provider, at] = sums.key;
      const counts = [...sums.counts.entries()];
      addToGroup(rollups, [account, key, toStart(at, units['1h']), model, provider], sums, counts);
      for (const [dimension, name] of Object.entries({ account, key, model, provider }))
        this.#addSeries([dimension, name, at], sums, counts);
    }
    return { rollups: listRecords(rollups, rollupKey), series: listRecords(this.#series, seriesKey) };
  }

  #addRow(row: Row, money: Money, counts: Additions): void {
    const at = toStart(readCount(row, 'at'), units['5m']);
    const [account, key] = [readText(row, 'account'), readText(row, 'key')];
    const [model, provider] = [readText(row, 'model'), readText(row, 'provider')];
    addToGroup(this.#groups, [account, key, model, provider, at], money, counts);
  }

  #addSeries(
    [dimension, name, at]: readonly [dimension: string, name: string, at: number],
    money: Money,
    counts: Additions,
  ): void {
    for (const unit of steps)
      addToGroup(this.#series, [dimension, unit, toStart(at, unit), name], money, counts);
  }
}

function toStart(at: number, unit: number): number {
  return Math.floor(at / unit) * unit;
}

function addToGroup<Of extends Key>(
  groups: Map<string, Sums<Of>>,
  key: Of,
  { cost, margin }: Money,
  additions: Additions,
): void {
  const id = key.join('\n');
  let sums = groups.get(id);
  if (!sums) groups.set(id, (sums = { key, ...none, counts: counts.map(() => 0) }));
  sums.cost += cost;
  sums.margin += margin;
  for (const [at, amount] of additions)
    if (at !== undefined) sums.counts[at] = (sums.counts[at] ?? 0) + amount;
}

/** In the order of their keys, so that two processes that write the same rows lock them in the same order. */
function listRecords(groups: Map<string, Sums>, columns: Columns): Row[] {
  const names = [...columns, ...figures];
  return [...groups]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { key, cost, margin, counts: summed }]) => {
      const values = [...key, cost, margin, ...summed];
      return Object.fromEntries(names.map((name, index) => [name, values[index]]));
    });
}
