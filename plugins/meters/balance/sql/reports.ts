/** Reads the books: row by row for exports, summed up for usage reports, and as a whole for metrics. */
import { listUses } from '../../../../core/for-threads.ts';
import {
  readEntry,
  readPending,
  readSums,
  readTotals,
  type Entry,
  type EntryQuery,
  type UsageGroup,
} from '../books.ts';
import { amountParts, units } from '../calls/figures.ts';
import { formatEntries } from '../export/lines.ts';
import { readOwner } from '../reservations.ts';
import { readCount, readText as textIn, type Row } from '../rows.ts';
import { entryRows } from './selects.ts';
import { askRows, Conditions, nameStatements, type Operations, type Steps } from './steps.ts';

const minute = 60_000;
const { '1h': hour, '1d': day } = units;

const sql = nameStatements('reports', {
  totals: `
    SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM keys) AS keys,
      count(*) AS pending_calls, CAST(coalesce(sum(amount), 0) AS bigint) AS pending_amount,
      min(created) AS oldest_pending
    FROM pending`,
  owners: `
    SELECT owner, max(beat) AS beat, max(lease) AS lease, CAST(sum(calls) AS bigint) AS pending
    FROM (
      SELECT owner, beat, lease, 0 AS calls FROM owners
      UNION ALL SELECT owner, 0, 0, count(*) FROM pending GROUP BY owner) AS halves
    GROUP BY owner ORDER BY owner`,
});

/** The entries of one call, each found by an index of its own. */
const buildCallCondition = (call: string): string => `entries.number IN (
  WITH made AS MATERIALIZED (SELECT number FROM entries WHERE kind = 'reserve' AND call = ${call})
  SELECT number FROM made
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND (kind = 'post' OR kind = 'void' OR kind = 'expire')
  UNION ALL SELECT entries.number FROM made JOIN entries ON reservation = made.number AND kind = 'overage'
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND kind = 'adjustment')`;

const groupColumns: Readonly<Record<UsageGroup, string>> = {
  account: `accounts.name COLLATE "C"`,
  key: `coalesce(entries.key, '') COLLATE "C"`,
  model: `coalesce(entries.model, '') COLLATE "C"`,
  provider: `coalesce(entries.provider, '') COLLATE "C"`,
  day: `entries.at / ${day}`,
  minute: `entries.at / ${minute} * ${minute}`,
};

/** The value of a column that a report is grouped by. */
function readGroup(row: Row, group: UsageGroup): string {
  const column = `group_${group}`;
  if (group === 'minute') return String(readCount(row, column));
  return group === 'day'
    ? new Date(readCount(row, column) * day).toISOString().slice(0, 10)
    : textIn(row, column);
}

/**
 * What entries charged and what calls used, by groups: SQL by the names of columns. A call that a plugin
 * stopped is voided, though its vendor bills it.
 */
function* sumEntries(conditions: Conditions, groups: Readonly<Record<string, string>>) {
  conditions.texts.push(
    "entries.kind <> 'reserve'",
    "(entries.kind IN ('post', 'overage', 'adjustment') OR vendor <> 0)",
  );
  const columns = Object.entries(groups).map(([name, sql]) => `${sql} AS ${name}, `);
  const places = columns.map((_, index) => index + 1);
  const text = `
    SELECT ${columns.join('')}
      count(*) FILTER (WHERE entries.kind = 'post') AS calls,
      CAST(coalesce(sum(revenue), 0) AS bigint) AS cost,
      CAST(coalesce(sum(coalesce(vendor, revenue)), 0) AS bigint) AS vendor
    FROM entries JOIN accounts ON accounts.id = entries.account ${conditions.where}
    ${places.length > 0 ? `GROUP BY ${places.join(', ')} ORDER BY ${places.join(', ')}` : ''}`;
  const usesText = `
    SELECT ${columns.join('')} used.key AS unit,
      CAST(sum(CAST(used.value AS numeric) * ${amountParts}) AS bigint) AS amount
    FROM entries JOIN accounts ON accounts.id = entries.account
      CROSS JOIN json_each_text(entries.usage::json) AS used
    ${conditions.where} AND entries.kind = 'post' AND used.key NOT IN ('mode', 'rule')
    GROUP BY ${[...places, places.length + 1].join(', ')}`;
  const nameGroup = (row: Row): string =>
    Object.keys(groups)
      .map((name) => String(row[name]))
      .join('\n');
  const rows = yield* askRows({ text }, ...conditions.values);
  const uses = Map.groupBy(yield* askRows({ text: usesText }, ...conditions.values), nameGroup);
  return rows.map((row) => {
    const counts = uses.get(nameGroup(row)) ?? [];
    const named = counts.map((use) => [textIn(use, 'unit'), readCount(use, 'amount') / amountParts]);
    return { row, ...readSums(row), uses: listUses(Object.fromEntries(named)) };
  });
}

function* listEntries(query: EntryQuery): Steps<Entry[]> {
  const { account, key, call, reference, kinds, from, to, after, order, last, limit } = query;
  const isNewest = order === 'newest';
  const conditions = new Conditions({
    'accounts.name =': account,
    'entries.key =': key,
    'entries.reference =': reference,
    'entries.at >=': from,
    'entries.at <': to,
    [`entries.number ${isNewest ? '<' : '>'}`]: after,
    'entries.number <=': last,
  });
  if (call !== undefined) conditions.texts.push(buildCallCondition(conditions.addValue(call)));
  if (kinds) {
    const places = kinds.map((kind) => conditions.addValue(kind));
    conditions.texts.push(`entries.kind IN (${places.join(', ')})`);
  }
  const most = conditions.addValue(limit);
  const direction = isNewest ? 'DESC' : 'ASC';
  const page = `${entryRows} ${conditions.where} ORDER BY entries.number ${direction} LIMIT ${most}`;
  return (yield* askRows({ text: page }, ...conditions.values)).map(readEntry);
}

export const reports = {
  listEntries,
  *exportEntries({ format, kind, ...slice }) {
    const limit = slice.last - slice.after;
    return formatEntries(yield* listEntries({ ...slice, kinds: kind && [kind], limit }), format);
  },
  *sumUsage({ account, key, model, from, to, hours, by }) {
    const conditions = new Conditions({
      'accounts.name =': account,
      'entries.key =': key,
      'entries.model =': model,
      'entries.at >=': from,
      'entries.at <': to,
    });
    if (hours) {
      const places = hours.map((each) => conditions.addValue(each));
      conditions.texts.push(`entries.at / ${hour} * ${hour} IN (${places.join(', ')})`);
    }
    const groups = by.map((group) => [`group_${group}`, groupColumns[group]]);
    return (yield* sumEntries(conditions, Object.fromEntries(groups))).map(({ row, ...sums }) => ({
      ...Object.fromEntries(by.map((group) => [group, readGroup(row, group)])),
      ...sums,
    }));
  },
  *listPending({ after = '', limit, account }) {
    const conditions = new Conditions({ 'call >': after, 'accounts.name =': account });
    const text = `
      SELECT pending.*, accounts.name AS account_name FROM pending
      JOIN accounts ON accounts.id = pending.account
      ${conditions.where} ORDER BY call LIMIT ${conditions.addValue(limit)}`;
    return (yield* askRows({ text }, ...conditions.values)).map(readPending);
  },
  *sumTotals() {
    const [row] = yield* askRows(sql.totals);
    if (!row) throw new Error('sums always have a row');
    return readTotals(row);
  },
  *listOwners() {
    return (yield* askRows(sql.owners)).map(readOwner);
  },
} satisfies Partial<Operations>;
