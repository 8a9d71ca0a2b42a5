/** Reads the books: row by row for exports, summed up for usage reports, and as a whole for metrics. */
import { entryOf, pendingOf, totalsOf, usageOf } from '../records.ts';
import type {
  Entry,
  EntryQuery,
  PendingRecord,
  Store,
  Totals,
  UsageGroup,
  UsageQuery,
  UsageRow,
} from '../store.ts';
import { statements, type Query } from './connection.ts';

const sql = statements('reports', {
  listPending: `
    SELECT pending.*, accounts.name AS account_name FROM pending
    JOIN accounts ON accounts.id = pending.account
    WHERE call > $1 AND ($3::text IS NULL OR accounts.name = $3) ORDER BY call LIMIT $2`,
  totals: `
    SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM keys) AS keys,
      count(*) AS calls, coalesce(sum(amount), 0)::bigint AS amount, min(created) AS oldest FROM pending`,
});

/** The conditions that are stated, each with the number of its parameter. */
function conditions(stated: readonly (readonly [sql: (place: string) => string, value: unknown])[]): {
  where: string;
  values: unknown[];
} {
  const present = stated.filter(([, value]) => value !== undefined);
  return {
    where: present.map(([sql], index) => ` AND ${sql(`$${index + 1}`)}`).join(''),
    values: present.map(([, value]) => value),
  };
}

/** The entries of one call, each found by an index of its own. */
const ofCall = (call: string): string => `entries.number IN (
  WITH made AS MATERIALIZED (SELECT number FROM entries WHERE kind = 'reserve' AND call = ${call})
  SELECT number FROM made
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND kind IN ('post', 'void', 'expire')
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND kind = 'overage'
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND kind = 'adjustment')`;

export async function entries(
  query: Query,
  { account, key, call, reference, kinds, from, to, after, limit }: EntryQuery,
): Promise<readonly Entry[]> {
  const { where, values } = conditions([
    [(place) => `accounts.name = ${place}`, account],
    [(place) => `entries.key = ${place}`, key],
    [ofCall, call],
    [(place) => `entries.reference = ${place}`, reference],
    [(place) => `entries.kind = ANY(${place}::text[])`, kinds],
    [(place) => `entries.at >= ${place}`, from],
    [(place) => `entries.at < ${place}`, to],
    [(place) => `entries.number > ${place}`, after],
  ]);
  const text = `
    SELECT entries.*, entries.call AS call_id, accounts.name AS account_name
    FROM entries JOIN accounts ON accounts.id = entries.account
    WHERE TRUE${where} ORDER BY entries.number LIMIT $${values.length + 1}`;
  const rows = await query({ text }, [...values, limit]);
  return rows.map(entryOf);
}

const groupColumns: Readonly<Record<UsageGroup, string>> = {
  account: 'accounts.name',
  key: 'entries.key',
  model: 'entries.model',
  provider: 'entries.provider',
  day: "to_char(to_timestamp(entries.at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
};

export async function usage(
  query: Query,
  { account, key, model, from, to, by }: UsageQuery,
): Promise<readonly UsageRow[]> {
  const { where, values } = conditions([
    [(place) => `accounts.name = ${place}`, account],
    [(place) => `entries.key = ${place}`, key],
    [(place) => `entries.model = ${place}`, model],
    [(place) => `entries.at >= ${place}`, from],
    [(place) => `entries.at < ${place}`, to],
  ]);
  const groups = by.map((group) => `coalesce(${groupColumns[group]}, '') COLLATE "C"`);
  const text = `
    SELECT ${by.map((group, index) => `${groups[index]} AS group_${group}, `).join('')}
      count(*) FILTER (WHERE entries.kind = 'post') AS calls,
      coalesce(sum(input) FILTER (WHERE entries.kind = 'post'), 0)::bigint AS input,
      coalesce(sum(output) FILTER (WHERE entries.kind = 'post'), 0)::bigint AS output,
      coalesce(sum(revenue), 0)::bigint AS cost,
      coalesce(sum(coalesce(vendor, revenue)), 0)::bigint AS vendor
    FROM entries JOIN accounts ON accounts.id = entries.account
    WHERE entries.kind <> 'reserve' AND entries.kind IN ('post', 'overage', 'adjustment')${where}
    ${groups.length > 0 ? `GROUP BY ${groups.join(', ')} ORDER BY ${groups.join(', ')}` : ''}`;
  const rows = await query({ text }, values);
  return rows.map((row) => usageOf(row, by));
}

export async function listPending(
  query: Query,
  { after = '', limit, account }: Parameters<Store['listPending']>[0],
): Promise<readonly PendingRecord[]> {
  const rows = await query(sql.listPending, [after, limit, account ?? null]);
  return rows.map(pendingOf);
}

export async function totals(query: Query): Promise<Totals> {
  const [row] = await query(sql.totals);
  if (!row) throw new Error('sums always have a row');
  return totalsOf(row);
}
