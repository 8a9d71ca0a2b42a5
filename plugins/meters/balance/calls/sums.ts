/**
 * Sums up entries and calls: their money, their counts and their uses, by hour and by dimension. A trigger
 * notes each entry and call in `unsummed`, also those of another version of the gateway. The batch that
 * stores calls adds all that is noted to the sums, in its transaction. Money always comes from entries, also
 * that of tags, which only calls have. The sums are computed here and not by the database, which would sort
 * every row once for each dimension and step, with all its figures.
 */
import { listUses, nameKind } from '../../../../core/for-threads.ts';
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { readCount, readInteger, readNamedTexts, readOptional, readText, type Row } from '../rows.ts';
import { ask, askAll, askRecords, askRows, nameStatements, selectRecords, type Steps } from '../sql/steps.ts';
import { amountParts, bucketBounds, errorOutcomes, figures, formerKinds, units } from './figures.ts';

type Columns = readonly string[];
const hourlyKey: Columns = ['account', 'key', 'hour', 'model', 'provider'];
const summedKey: Columns = ['dimension', 'step', 'start', 'name'];

/** Adds records to a table of sums. */
function buildAddSql(table: string, key: Columns, added: Columns): string {
  const columns = [...key, ...added].join(', ');
  const sums = added.map((figure) => `${figure} = ${table}.${figure} + excluded.${figure}`);
  return `
    INSERT INTO ${table} (${columns}) ${selectRecords(table, columns)}
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sums.join(', ')}`;
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
    FROM (SELECT call, tags FROM calls WHERE number = ANY($1::bigint[]) AND tags <> '{}') AS tagged
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
    SELECT account, key, model, provider, ended AS at, outcome, first_event, tags, body,
      ${Object.keys(formerKinds).join(', ')}
    FROM calls WHERE number = ANY($1::bigint[])`,
  entries: buildEntriesSql(
    ", coalesce(calls.tags, '{}') AS tags",
    `LEFT JOIN calls ON calls.call = entries.call AND NOT ${isNoted('calls', 'calls.number')}
    WHERE entries.number = ANY($1::bigint[])`,
  ),
  earlier: earlierEntries,
  addHourly: buildAddSql('hourly', hourlyKey, figures),
  addHourlyUses: buildAddSql('hourly_uses', [...hourlyKey, 'kind'], ['amount']),
  addSummed: buildAddSql('summed', summedKey, figures),
  addSummedUses: buildAddSql('summed_uses', [...summedKey, 'kind'], ['amount']),
});

/** Entries, and calls, that one transaction adds at most: calls wait for it in SQLite. */
const mostAtOnce = 1000;

/** Adds what is noted to the sums; returns whether there is no more. */
export function* addNoted(): Steps<boolean> {
  yield* askAll([ask(sql.lock)]);
  const calls = (yield* askRows(sql.takeCalls, mostAtOnce)).map((row) => String(readCount(row, 'number')));
  const sums = new Sums();
  if (calls.length > 0) {
    for (const row of yield* askRows(sql.calls, calls)) sums.addCall(row);
    // Before notes of entries are taken: theirs are those that the calls came after.
    for (const row of yield* askRows(sql.earlier, calls)) sums.addTags(row, readMoney(row));
  }
  const entries = (yield* askRows(sql.takeEntries, mostAtOnce)).map((row) =>
    String(readCount(row, 'number')),
  );
  if (entries.length > 0) for (const row of yield* askRows(sql.entries, entries)) sums.addEntry(row);
  const { hourly, hourlyUses, summed, summedUses } = sums.list();
  yield* askAll([askRecords(sql.addHourly, hourly), askRecords(sql.addHourlyUses, hourlyUses)]);
  yield* askAll([askRecords(sql.addSummed, summed), askRecords(sql.addSummedUses, summedUses)]);
  return calls.length < mostAtOnce && entries.length < mostAtOnce;
}

interface Money {
  readonly cost: bigint;
  readonly margin: bigint;
}

type Key = readonly (string | number)[];

/** What a row adds to a group: counts by their figures, and uses by kind. */
interface Added extends Money {
  readonly counts?: Readonly<Record<string, number>>;
  readonly uses?: Iterable<readonly [kind: string, amount: number]>;
}

interface Group<Of extends Key = Key> extends Required<Added> {
  readonly key: Of;
  cost: bigint;
  margin: bigint;
  readonly counts: Record<string, number>;
  readonly uses: Map<string, number>;
}

const steps = Object.values(units);
const isError = new Set<string>(errorOutcomes);
const zeros = Object.fromEntries(figures.map((figure) => [figure, 0]));

function nameBucket(milliseconds: number): string {
  const found = bucketBounds.findIndex((bound) => milliseconds < bound);
  return `bucket_${found < 0 ? bucketBounds.length : found}`;
}

const none: Money = { cost: 0n, margin: 0n };

function readMoney(row: Row): Money {
  return { cost: readInteger(row, 'cost'), margin: readInteger(row, 'margin') };
}

/** What a call used: from its record, or from its columns if the record is older than the list of units. */
function readUses(row: Row): [kind: string, amount: number][] {
  const { usage }: { readonly usage?: Readonly<Record<string, unknown>> } = JSON.parse(readText(row, 'body'));
  const former = Object.entries(formerKinds).map(([column, kind]) => [kind, readCount(row, column)]);
  return listUses(usage ?? Object.fromEntries(former)).map((use) => [
    nameKind(use),
    Math.round(use.count * amountParts),
  ]);
}

class Sums {
  /** By the shortest step, of which all longer ones are made: most rows of a batch are in a few groups. */
  readonly #groups = new Map<
    string,
    Group<readonly [account: string, key: string, model: string, provider: string, at: number]>
  >();
  readonly #summed = new Map<string, Group>();

  addEntry(row: Row): void {
    const money = readMoney(row);
    this.#addRow(row, { ...money, counts: { posts: readCount(row, 'posts') } });
    this.addTags(row, money);
  }

  addCall(row: Row): void {
    const first = readOptional(row, 'first_event', readCount);
    const counts = {
      calls: 1,
      errors: isError.has(readText(row, 'outcome')) ? 1 : 0,
      cache_hits: readCount(row, 'cached') > 0 ? 1 : 0,
      ...(first === undefined ? {} : { [nameBucket(first)]: 1 }),
    };
    const added = { ...none, counts, uses: readUses(row) };
    this.#addRow(row, added);
    this.addTags(row, added);
  }

  addTags(row: Row, added: Added): void {
    if (row.tags === '{}') return;
    for (const [name, value] of Object.entries(readNamedTexts(row, 'tags')))
      this.#addSummed(['tag', formatTag(name, value), readCount(row, 'at')], added);
  }

  list() {
    const hourly = new Map<string, Group>();
    for (const group of this.#groups.values()) {
      const [account, key, model, provider, at] = group.key;
      addToGroup(hourly, [account, key, toStart(at, units['1h']), model, provider], group);
      for (const [dimension, name] of Object.entries({ account, key, model, provider }))
        this.#addSummed([dimension, name, at], group);
    }
    return {
      hourly: listRecords(hourly, hourlyKey),
      hourlyUses: listUseRecords(hourly, hourlyKey),
      summed: listRecords(this.#summed, summedKey),
      summedUses: listUseRecords(this.#summed, summedKey),
    };
  }

  #addRow(row: Row, added: Added): void {
    const at = toStart(readCount(row, 'at'), units['5m']);
    const [account, key] = [readText(row, 'account'), readText(row, 'key')];
    const [model, provider] = [readText(row, 'model'), readText(row, 'provider')];
    addToGroup(this.#groups, [account, key, model, provider, at], added);
  }

  #addSummed(
    [dimension, name, at]: readonly [dimension: string, name: string, at: number],
    added: Added,
  ): void {
    for (const step of steps) addToGroup(this.#summed, [dimension, step, toStart(at, step), name], added);
  }
}

function toStart(at: number, step: number): number {
  return Math.floor(at / step) * step;
}

function addToGroup<Of extends Key>(
  groups: Map<string, Group<Of>>,
  key: Of,
  { cost, margin, counts = {}, uses = [] }: Added,
): void {
  const id = key.join('\n');
  let group = groups.get(id);
  if (!group) groups.set(id, (group = { key, ...none, counts: {}, uses: new Map() }));
  group.cost += cost;
  group.margin += margin;
  for (const [figure, count] of Object.entries(counts))
    group.counts[figure] = (group.counts[figure] ?? 0) + count;
  for (const [kind, amount] of uses) group.uses.set(kind, (group.uses.get(kind) ?? 0) + amount);
}

function nameKey(names: Columns, key: Key): Row {
  return Object.fromEntries(names.map((name, index) => [name, key[index]]));
}

function listRecords(groups: Map<string, Group>, names: Columns): Row[] {
  return [...groups.values()].map(({ key, cost, margin, counts }) => ({
    ...zeros,
    ...nameKey(names, key),
    ...counts,
    cost,
    margin,
  }));
}

function listUseRecords(groups: Map<string, Group>, names: Columns): Row[] {
  return [...groups.values()].flatMap(({ key, uses }) =>
    [...uses].map(([kind, amount]) => ({ ...nameKey(names, key), kind, amount })),
  );
}
