/** Reads the books: row by row for exports, summed up for usage reports, and as a whole for metrics. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { entryOf, pendingOf, totalsOf, usageOf } from '../records.ts';
import type {
  Entry,
  EntryQuery,
  Page,
  PendingRecord,
  Totals,
  UsageGroup,
  UsageQuery,
  UsageRow,
} from '../store.ts';

export const entryColumns = `
  entries.*, accounts.name AS account_name, coalesce(entries.call, made.call) AS call_id
  FROM entries JOIN accounts ON accounts.id = entries.account
  LEFT JOIN entries made ON made.number = entries.reservation`;

/** The conditions that are stated, each with its value. */
function conditions(stated: readonly (readonly [sql: string, value: SQLInputValue | undefined])[]): {
  where: string;
  values: SQLInputValue[];
} {
  const present = stated.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    where: present.map(({ sql }) => ` AND ${sql}`).join(''),
    values: present.map(({ value }) => value),
  };
}

/** The entries of one call, each found by an index of its own. */
const ofCall = `
  WITH made AS (SELECT number FROM entries WHERE kind = 'reserve' AND call = ?)
  SELECT number FROM made
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND (kind = 'post' OR kind = 'void' OR kind = 'expire')
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND kind = 'overage'
  UNION ALL SELECT entries.number FROM made
    JOIN entries ON reservation = made.number AND kind = 'adjustment'`;

const groupColumns: Readonly<Record<UsageGroup, string>> = {
  account: 'accounts.name',
  key: 'entries.key',
  model: 'entries.model',
  provider: 'entries.provider',
  day: "date(entries.at / 1000, 'unixepoch')",
};

export class Reports {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  readonly entries = ({
    account,
    key,
    call,
    reference,
    kinds,
    from,
    to,
    after,
    limit,
  }: EntryQuery): readonly Entry[] => {
    const { where, values } = conditions([
      ['accounts.name = ?', account],
      ['entries.key = ?', key],
      [`entries.number IN (${ofCall})`, call],
      ['entries.reference = ?', reference],
      ['entries.at >= ?', from],
      ['entries.at < ?', to],
      ['entries.number > ?', after],
    ]);
    const ofKinds = kinds ? ` AND entries.kind IN (${kinds.map(() => '?').join(', ')})` : '';
    const sql = `SELECT ${entryColumns} WHERE TRUE${where}${ofKinds} ORDER BY entries.number LIMIT ?`;
    return this.#database
      .prepare(sql)
      .all(...values, ...(kinds ?? []), limit)
      .map(entryOf);
  };

  readonly usage = ({ account, key, model, from, to, by }: UsageQuery): readonly UsageRow[] => {
    const { where, values } = conditions([
      ['accounts.name = ?', account],
      ['entries.key = ?', key],
      ['entries.model = ?', model],
      ['entries.at >= ?', from],
      ['entries.at < ?', to],
    ]);
    const groups = by.map((group) => groupColumns[group]);
    const sql = `
      SELECT ${by.map((group) => `coalesce(${groupColumns[group]}, '') AS group_${group}, `).join('')}
        coalesce(sum(entries.kind = 'post'), 0) AS calls,
        coalesce(sum(iif(entries.kind = 'post', input, 0)), 0) AS input,
        coalesce(sum(iif(entries.kind = 'post', output, 0)), 0) AS output,
        coalesce(sum(revenue), 0) AS cost, coalesce(sum(coalesce(vendor, revenue)), 0) AS vendor
      FROM entries JOIN accounts ON accounts.id = entries.account
      WHERE entries.kind IN ('post', 'overage', 'adjustment')${where}
      ${groups.length > 0 ? `GROUP BY ${groups.join(', ')} ORDER BY ${groups.join(', ')}` : ''}`;
    return this.#database
      .prepare(sql)
      .all(...values)
      .map((row) => usageOf(row, by));
  };

  readonly listPending = ({
    after = '',
    limit,
    account,
  }: Page & { readonly account?: string | undefined }): readonly PendingRecord[] => {
    const { where, values } = conditions([['accounts.name = ?', account]]);
    return this.#database
      .prepare(`
        SELECT pending.*, accounts.name AS account_name FROM pending
        JOIN accounts ON accounts.id = pending.account
        WHERE call > ?${where} ORDER BY call LIMIT ?`)
      .all(after, ...values, limit)
      .map(pendingOf);
  };

  readonly totals = (): Totals => {
    const row = this.#database
      .prepare(`
        SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM keys) AS keys,
          count(*) AS calls, coalesce(sum(amount), 0) AS amount, min(created) AS oldest FROM pending`)
      .get();
    if (!row) throw new Error('sums always have a row');
    return totalsOf(row);
  };
}
