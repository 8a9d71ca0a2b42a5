/** Reads the books: row by row for exports, summed up for usage reports, and as a whole for metrics. */
import { dayLength, entryOf, ownerOf, pendingOf, totalsOf, usageOf } from '../records.ts';
import { count, integer, text as textIn } from '../rows.ts';
import type {
  Entry,
  EntryQuery,
  MinuteQuery,
  MinuteRow,
  OwnerRecord,
  Page,
  PendingRecord,
  Totals,
  UsageGroup,
  UsageQuery,
  UsageRow,
} from '../store.ts';
import { entryRows } from './selects.ts';
import { ask, Conditions, statements, type Steps } from './steps.ts';

const minute = 60_000;

const sql = statements('reports', {
  totals: `
    SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM keys) AS keys,
      count(*) AS calls, CAST(coalesce(sum(amount), 0) AS bigint) AS amount, min(created) AS oldest
    FROM pending`,
  owners: `
    SELECT owner, max(beat) AS beat, max(lease) AS lease, CAST(sum(calls) AS bigint) AS pending
    FROM (
      SELECT owner, beat, lease, 0 AS calls FROM owners
      UNION ALL SELECT owner, 0, 0, count(*) FROM pending GROUP BY owner) AS halves
    GROUP BY owner ORDER BY owner`,
});

/** The entries of one call, each found by an index of its own. */
const ofCall = (call: string): string => `entries.number IN (
  WITH made AS MATERIALIZED (SELECT number FROM entries WHERE kind = 'reserve' AND call = ${call})
  SELECT number FROM made
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND (kind = 'post' OR kind = 'void' OR kind = 'expire')
  UNION ALL SELECT entries.number FROM made JOIN entries ON reservation = made.number AND kind = 'overage'
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND kind = 'adjustment')`;

export function* entries(query: EntryQuery): Steps<readonly Entry[]> {
  const { account, key, call, reference, kinds, from, to, after, limit } = query;
  const conditions = new Conditions();
  conditions.add('accounts.name =', account);
  conditions.add('entries.key =', key);
  if (call !== undefined) conditions.texts.push(ofCall(conditions.place(call)));
  conditions.add('entries.reference =', reference);
  conditions.add('entries.at >=', from);
  conditions.add('entries.at <', to);
  conditions.add('entries.number >', after);
  if (kinds) {
    const places = kinds.map((kind) => conditions.place(kind));
    conditions.texts.push(`entries.kind IN (${places.join(', ')})`);
  }
  const page = `${entryRows} ${conditions.where} ORDER BY entries.number LIMIT ${conditions.place(limit)}`;
  return (yield* ask({ text: page }, ...conditions.values)).map(entryOf);
}

const groupColumns: Readonly<Record<UsageGroup, string>> = {
  account: 'accounts.name',
  key: "coalesce(entries.key, '')",
  model: "coalesce(entries.model, '')",
  provider: "coalesce(entries.provider, '')",
  day: `entries.at / ${dayLength}`,
};

export function* usage({ account, key, model, from, to, by }: UsageQuery): Steps<readonly UsageRow[]> {
  const conditions = new Conditions();
  conditions.texts.push("entries.kind <> 'reserve'", "entries.kind IN ('post', 'overage', 'adjustment')");
  conditions.add('accounts.name =', account);
  conditions.add('entries.key =', key);
  conditions.add('entries.model =', model);
  conditions.add('entries.at >=', from);
  conditions.add('entries.at <', to);
  const groups = by.map((group) => groupColumns[group] + (group === 'day' ? '' : ' COLLATE "C"'));
  const text = `
    SELECT ${by.map((group, index) => `${groups[index]} AS group_${group}, `).join('')}
      count(*) FILTER (WHERE entries.kind = 'post') AS calls,
      CAST(coalesce(sum(input) FILTER (WHERE entries.kind = 'post'), 0) AS bigint) AS input,
      CAST(coalesce(sum(output) FILTER (WHERE entries.kind = 'post'), 0) AS bigint) AS output,
      CAST(coalesce(sum(revenue), 0) AS bigint) AS cost,
      CAST(coalesce(sum(coalesce(vendor, revenue)), 0) AS bigint) AS vendor
    FROM entries JOIN accounts ON accounts.id = entries.account ${conditions.where}
    ${groups.length > 0 ? `GROUP BY ${groups.join(', ')} ORDER BY ${groups.join(', ')}` : ''}`;
  return (yield* ask({ text }, ...conditions.values)).map((row) => usageOf(row, by));
}

/** Sums of some hours, minute by minute and model by model. */
export function* chargedByMinute({ account, hours }: MinuteQuery): Steps<readonly MinuteRow[]> {
  if (hours.length === 0) return [];
  const conditions = new Conditions();
  conditions.texts.push("entries.kind IN ('post', 'overage', 'adjustment')");
  conditions.add('accounts.name =', account);
  conditions.add('entries.at >=', Math.min(...hours));
  conditions.add('entries.at <', Math.max(...hours) + 60 * minute);
  const places = hours.map((each) => conditions.place(each));
  conditions.texts.push(`entries.at / ${60 * minute} * ${60 * minute} IN (${places.join(', ')})`);
  const text = `
    SELECT coalesce(entries.model, '') AS model, entries.at / ${minute} * ${minute} AS start,
      CAST(sum(revenue) AS bigint) AS cost, count(*) FILTER (WHERE entries.kind = 'post') AS posts
    FROM entries JOIN accounts ON accounts.id = entries.account ${conditions.where} GROUP BY 1, 2`;
  return (yield* ask({ text }, ...conditions.values)).map((row) => ({
    name: textIn(row, 'model'),
    start: count(row, 'start'),
    cost: integer(row, 'cost'),
    posts: count(row, 'posts'),
  }));
}

export function* listPending({
  after = '',
  limit,
  account,
}: Page & { readonly account?: string | undefined }): Steps<readonly PendingRecord[]> {
  const conditions = new Conditions();
  conditions.add('call >', after);
  conditions.add('accounts.name =', account);
  const text = `
    SELECT pending.*, accounts.name AS account_name FROM pending
    JOIN accounts ON accounts.id = pending.account
    ${conditions.where} ORDER BY call LIMIT ${conditions.place(limit)}`;
  return (yield* ask({ text }, ...conditions.values)).map(pendingOf);
}

export function* totals(): Steps<Totals> {
  const [row] = yield* ask(sql.totals);
  if (!row) throw new Error('sums always have a row');
  return totalsOf(row);
}

export function* owners(): Steps<readonly OwnerRecord[]> {
  return (yield* ask(sql.owners)).map(ownerOf);
}
