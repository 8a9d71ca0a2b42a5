/**
 * Sums up entries and calls: their money and their counts, by party and by dimension. A trigger notes each
 * entry and call in `unsummed`, also those of another version of the gateway. The batch that stores calls
 * adds all that is noted to the sums, in its transaction. Money always comes from entries, also that of tags,
 * which only calls have. The sums are computed here and not by the database, which would sort every row once
 * for each dimension and step.
 */
import { listUses, nameKind } from '../../../../core/for-threads.ts';
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { readCount, readInteger, readNamedTexts, readOptional, readText, type Row } from '../rows.ts';
import {
  ask,
  askAll,
  askRecords,
  askRows,
  nameStatements,
  selectRecords,
  sendAll,
  type Steps,
} from '../sql/steps.ts';
import {
  addSums,
  amountParts,
  bucketBounds,
  buckets,
  createSums,
  errorOutcomes,
  formerKinds,
  joinNames,
  longSteps,
  namePair,
  pairs,
  readSums,
  shortestKept,
  units,
  type Sums,
} from './figures.ts';
import { usageColumn } from './records.ts';

/** The columns of each table of sums that name a row. */
const keys = {
  party_sums: ['step', 'start', 'provider', 'model', 'account', 'key'],
  series_sums: ['dimension', 'step', 'start', 'name'],
} as const;
type Table = keyof typeof keys;

const sumColumns = ['cost', 'margin', 'posts', 'calls', 'counts'] as const;

function buildFindSql(table: Table): string {
  const matches = keys[table].map((column) => `${table}.${column} = wanted.${column}`);
  return `
    SELECT ${table}.* FROM ${table}, (${selectRecords(table, keys[table].join(', '))}) wanted
    WHERE ${matches.join(' AND ')}`;
}

function buildWriteSql(table: Table): string {
  const columns = [...keys[table], ...sumColumns].join(', ');
  return `
    INSERT INTO ${table} (${columns}) ${selectRecords(table, columns)}
    ON CONFLICT (${keys[table].join(', ')}) DO UPDATE
    SET ${sumColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`;
}

function buildDropSql(table: Table): string {
  const columns = keys[table].join(', ');
  return `DELETE FROM ${table} WHERE (${columns}) IN (${selectRecords(table, columns)})`;
}

const entryMoney = 'revenue AS cost, coalesce(revenue - vendor, 0) AS margin';
/** What entries add to the sums. */
function buildEntriesSql(columns: string, joined: string): string {
  return `SELECT accounts.name AS account, coalesce(entries.key, '') AS key,
      coalesce(entries.model, '') AS model, coalesce(entries.provider, '') AS provider, entries.at AS at,
      ${entryMoney}, CASE WHEN entries.kind = 'post' THEN 1 ELSE 0 END AS posts${columns}
    FROM entries JOIN accounts ON accounts.id = entries.account ${joined}`;
}

/** Entries that no sum has yet, for the audit. */
export const unsummedEntries = buildEntriesSql(
  '',
  "JOIN unsummed ON unsummed.log = 'entries' AND unsummed.number = entries.number",
);

/** Takes the notes of a log, the oldest first. */
function buildTakeSql(log: 'entries' | 'calls'): string {
  return `DELETE FROM unsummed WHERE log = '${log}' AND number IN (
    SELECT number FROM unsummed WHERE log = '${log}' ORDER BY number LIMIT $1) RETURNING number`;
}

const isNoted = (log: string, number: string): string =>
  `EXISTS (SELECT 1 FROM unsummed WHERE log = '${log}' AND unsummed.number = ${number})`;

/** The entries of tagged calls that were summed up before these calls: each is found by an index. */
const earlierEntries = [
  "kind = 'post' OR kind = 'void' OR kind = 'expire'",
  "kind = 'overage'",
  "kind = 'adjustment'",
]
  .map(
    (kinds) => `
    SELECT ends.at AS at, tagged.tags AS tags, ends.revenue AS cost,
      coalesce(ends.revenue - ends.vendor, 0) AS margin
    FROM (SELECT call, tags FROM calls WHERE number = ANY($1::bigint[])) AS tagged
    JOIN (SELECT number AS made_number, call AS made_call FROM entries WHERE kind = 'reserve') AS made
      ON made_call = tagged.call
    JOIN (SELECT number, reservation, at, revenue, vendor FROM entries WHERE ${kinds}) AS ends
      ON ends.reservation = made_number
    WHERE NOT ${isNoted('entries', 'ends.number')}`,
  )
  .join(' UNION ALL ');

const sql = nameStatements('sums', {
  // One process at a time adds to the sums, so that none waits for rows of another in another order.
  lock: 'SELECT pg_advisory_xact_lock(7461188902)',
  takeCalls: buildTakeSql('calls'),
  takeEntries: buildTakeSql('entries'),
  calls: `
    SELECT number, account, key, model, provider, ended AS at, outcome, first_event, tags, ${usageColumn},
      ${Object.keys(formerKinds).join(', ')}
    FROM calls WHERE number = ANY($1::bigint[])`,
  entries: buildEntriesSql(
    ", coalesce(calls.tags, '{}') AS tags",
    `LEFT JOIN calls ON calls.call = entries.call AND NOT ${isNoted('calls', 'calls.number')}
    WHERE entries.number = ANY($1::bigint[])`,
  ),
  earlier: earlierEntries,
  find_party_sums: buildFindSql('party_sums'),
  find_series_sums: buildFindSql('series_sums'),
  partiesOf: 'SELECT * FROM party_sums WHERE account = $1 LIMIT $2',
  drop_party_sums: buildDropSql('party_sums'),
  drop_series_sums: buildDropSql('series_sums'),
  write_party_sums: buildWriteSql('party_sums'),
  write_series_sums: buildWriteSql('series_sums'),
});

/** Gives sums of an account another name, with what that has already. Only after `addNoted`, which locks. */
export function* renameSums(
  former: string,
  { name, limit, at }: Readonly<{ name: string; limit: number; at: number }>,
): Steps<boolean> {
  const parties = yield* askRows(sql.partiesOf, former, limit);
  const shortest = units['5m'];
  const series = new Map<string, Row>();
  const addSeries = (step: number, start: number): unknown =>
    series.set(`${step} ${start}`, { dimension: 'account', step, start, name: former });
  for (const row of parties) addSeries(readCount(row, 'step'), readCount(row, 'start'));
  for (let start = toStart(at, shortest); start >= at - shortestKept - shortest; start -= shortest)
    addSeries(shortest, start);
  const [found = []] = yield* askAll([askRecords(sql.find_series_sums, [...series.values()])]);
  const moves = [
    ['party_sums', parties, { account: name }],
    ['series_sums', found, { name }],
  ] as const;
  for (const [table, rows, changed] of moves) {
    const groups: Groups = new Map();
    for (const row of rows) addToGroup(groups, readKey(table, { ...row, ...changed }), readSums(row));
    yield* sendAll([askRecords(sql[`drop_${table}`], rows)]);
    yield* writeGroups(table, groups);
  }
  return parties.length < limit;
}

/** Entries, and calls, that one transaction adds at most: calls wait for it in SQLite. */
const mostAtOnce = 1000;

/** Adds what is noted to the sums; returns whether there is no more. */
export function* addNoted(): Steps<boolean> {
  yield* askAll([ask(sql.lock)]);
  const calls = (yield* askRows(sql.takeCalls, mostAtOnce)).map((row) => String(readCount(row, 'number')));
  const batch = new Batch();
  if (calls.length > 0) {
    const rows = yield* askRows(sql.calls, calls);
    for (const row of rows) batch.addCall(row);
    const tagged = rows.filter(({ tags }) => tags !== '{}').map((row) => String(readCount(row, 'number')));
    // Before notes of entries are taken: theirs are those that the calls came after.
    for (const row of yield* askRows(sql.earlier, tagged)) batch.addTags(row, readMoney(row));
  }
  const entries = (yield* askRows(sql.takeEntries, mostAtOnce)).map((row) =>
    String(readCount(row, 'number')),
  );
  if (entries.length > 0) for (const row of yield* askRows(sql.entries, entries)) batch.addEntry(row);
  yield* batch.write();
  return calls.length < mostAtOnce && entries.length < mostAtOnce;
}

type Key = readonly (string | number)[];

/** The sums of a row by its key. */
type Groups<Of extends Key = Key> = Map<string, Sums & { readonly key: Of }>;

const steps = Object.values(units);
const isError = new Set<string>(errorOutcomes);

function nameBucket(milliseconds: number): string {
  const found = bucketBounds.findIndex((bound) => milliseconds < bound);
  return buckets.at(found) ?? '';
}

function readMoney(row: Row): Sums {
  return { ...createSums(), cost: readInteger(row, 'cost'), margin: readInteger(row, 'margin') };
}

/** What a call used: from its record, or from its columns if the record is older than the list of units. */
function readUses(row: Row): [kind: string, amount: number][] {
  const usage: Readonly<Record<string, unknown>> =
    row.usage === null
      ? Object.fromEntries(
          Object.entries(formerKinds).map(([column, kind]) => [kind, readCount(row, column)]),
        )
      : JSON.parse(readText(row, 'usage'));
  return listUses(usage).map((use) => [nameKind(use), Math.round(use.count * amountParts)]);
}

function readCounts(row: Row): Sums['counts'] {
  const counts: Sums['counts'] = Object.fromEntries(readUses(row));
  const first = readOptional(row, 'first_event', readCount);
  if (isError.has(readText(row, 'outcome'))) counts.errors = 1;
  if (readCount(row, 'cached') > 0) counts.cache_hits = 1;
  if (first !== undefined) counts[nameBucket(first)] = 1;
  return counts;
}

/** Adds to the group of a key, which it makes if there is none. */
function addToGroup<Of extends Key>(groups: Groups<Of>, key: Of, added: Sums): void {
  const id = key.join('\n');
  let group = groups.get(id);
  if (!group) groups.set(id, (group = { key, ...createSums() }));
  addSums(group, added);
}

function nameKey(table: Table, key: Key): Row {
  return Object.fromEntries(keys[table].map((column, index) => [column, key[index]]));
}

function listRecords(table: Table, groups: Groups): Row[] {
  return [...groups.values()].map(({ key, counts, ...sums }) => ({
    ...nameKey(table, key),
    ...sums,
    counts: JSON.stringify(counts),
  }));
}

function readKey(table: Table, row: Row): Key {
  return keys[table].map((column) => {
    const value = row[column];
    return typeof value === 'string' ? value : readCount(row, column);
  });
}

/** Writes the rows of groups, with what the rows hold already. */
function* writeGroups(table: Table, groups: Groups): Steps<void> {
  const sought = [...groups.values()].map(({ key }) => nameKey(table, key));
  const [found = []] = yield* askAll([askRecords(sql[`find_${table}`], sought)]);
  for (const row of found) {
    addToGroup(groups, readKey(table, row), readSums(row));
  }
  yield* sendAll([askRecords(sql[`write_${table}`], listRecords(table, groups))]);
}

class Batch {
  /** By the shortest step, of which all longer ones are made: most rows of a batch are in a few groups. */
  readonly #rows: Groups<
    readonly [at: number, provider: string, model: string, account: string, key: string]
  > = new Map();
  readonly #series: Groups = new Map();

  addEntry(row: Row): void {
    const added = readMoney(row);
    this.#addRow(row, { ...added, posts: readCount(row, 'posts') });
    this.addTags(row, added);
  }

  addCall(row: Row): void {
    const added = { ...createSums(), calls: 1, counts: readCounts(row) };
    this.#addRow(row, added);
    this.addTags(row, added);
  }

  addTags(row: Row, added: Sums): void {
    if (row.tags === '{}') return;
    for (const [name, value] of Object.entries(readNamedTexts(row, 'tags')))
      this.#addSeries(['tag', formatTag(name, value), readCount(row, 'at')], steps, added);
  }

  *write(): Steps<void> {
    const parties: Groups = new Map();
    for (const group of this.#rows.values()) {
      const [at, ...rest] = group.key;
      const [provider, model, account, key] = rest;
      const names = { provider, model, account, key };
      for (const step of longSteps) addToGroup(parties, [step, toStart(at, step), ...rest], group);
      for (const [dimension, name] of Object.entries(names))
        this.#addSeries([dimension, name, at], steps, group);
      for (const [of, by] of pairs)
        this.#addSeries([namePair(of, by), joinNames(names[of], names[by]), at], longSteps, group);
    }
    yield* writeGroups('party_sums', parties);
    yield* writeGroups('series_sums', this.#series);
  }

  #addRow(row: Row, added: Sums): void {
    const at = toStart(readCount(row, 'at'), units['5m']);
    const [provider, model] = [readText(row, 'provider'), readText(row, 'model')];
    addToGroup(this.#rows, [at, provider, model, readText(row, 'account'), readText(row, 'key')], added);
  }

  #addSeries(
    [dimension, name, at]: readonly [dimension: string, name: string, at: number],
    lengths: readonly number[],
    added: Sums,
  ): void {
    for (const step of lengths) addToGroup(this.#series, [dimension, step, toStart(at, step), name], added);
  }
}

function toStart(at: number, step: number): number {
  return Math.floor(at / step) * step;
}
