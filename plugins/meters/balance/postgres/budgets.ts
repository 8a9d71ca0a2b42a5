/**
 * The budgets that the calls of a batch count in. Each is locked after the accounts, in the order of the ids,
 * so that two batches never wait for each other; its periods are read after its lock.
 */
import {
  readBudget,
  readPeriod,
  readShares,
  findStart,
  type Budget,
  type PeriodRecord,
} from '../budgets/budget.ts';
import { Sheet, type Line, type Spender } from '../budgets/sheet.ts';
import type { Row } from '../rows.ts';
import { nameStatements } from '../sql/steps.ts';
import type { Query } from './connection.ts';
import { encodeRecords } from './values.ts';

const sql = nameStatements('budgets', {
  // Those of accounts, of their teams, of keys and tags, and those in which the ending calls count.
  lock: `
    SELECT * FROM budgets WHERE id IN (
      SELECT id FROM budgets
        WHERE deleted IS NULL AND scope IN ('account', 'team') AND subject = ANY($1::text[])
      UNION ALL SELECT budgets.id FROM accounts, json_array_elements_text(accounts.line::json) above
        JOIN budgets ON scope = 'team' AND subject = above AND budgets.deleted IS NULL
        WHERE accounts.name = ANY($1::text[])
      UNION ALL SELECT budgets.id FROM keys
        JOIN budgets ON scope = 'key' AND subject = keys.root AND budgets.deleted IS NULL
        WHERE keys.id = ANY($2::text[])
      UNION ALL SELECT id FROM budgets WHERE deleted IS NULL AND scope = 'tag' AND subject = ANY($3::text[])
      UNION ALL SELECT (share->>0)::bigint FROM entries, json_array_elements(entries.budgets::json) share
        WHERE kind = 'reserve' AND call = ANY($4::text[]))
    ORDER BY id FOR NO KEY UPDATE`,
  periods: `
    SELECT budget_periods.* FROM unnest($1::bigint[], $2::bigint[]) wanted (budget, start)
    JOIN budget_periods ON budget_periods.budget = wanted.budget AND budget_periods.start = wanted.start`,
  change: `
    INSERT INTO budget_periods SELECT * FROM json_populate_recordset(NULL::budget_periods, $1)
    ON CONFLICT (budget, start) DO UPDATE SET used = budget_periods.used + excluded.used,
      pending = budget_periods.pending + excluded.pending,
      warned = excluded.warned, exhausted = excluded.exhausted`,
  warn: `
    INSERT INTO budget_warnings (budget, event, threshold, used, allowed, start, at, due)
    SELECT budget, event, threshold, used, allowed, start, at, at
    FROM json_populate_recordset(NULL::budget_warnings, $1)`,
});

/** What budgets are found by: accounts and keys by name and id, and the ids of calls that end. */
export interface Spenders {
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly tags: readonly string[];
  readonly calls: readonly string[];
}

export function lockBudgets(
  query: Query,
  { accounts, keys, tags, calls }: Spenders,
): Promise<readonly Row[]> {
  return query(sql.lock, [accounts, keys, tags, calls]);
}

/** Finds periods by their budgets and starts. */
export async function findPeriods(
  query: Query,
  wanted: readonly (readonly [budget: number, start: number])[],
): Promise<readonly Row[]> {
  if (wanted.length === 0) return [];
  const [budgets, starts] = [wanted.map(([budget]) => budget), wanted.map(([, start]) => start)];
  return query(sql.periods, [budgets, starts]);
}

export class Budgets {
  readonly sheet: Sheet;
  readonly #current: readonly Budget[];

  constructor(budgets: readonly Budget[], periods: readonly PeriodRecord[]) {
    const byId = new Map(budgets.map((budget) => [budget.id, budget]));
    const byStart = new Map(periods.map((period) => [`${period.budget} ${period.start}`, period]));
    this.#current = budgets.filter(({ deleted }) => deleted === undefined);
    this.sheet = new Sheet({
      findBudget: (id) => byId.get(id),
      findPeriod: (budget, start) => byStart.get(`${budget} ${start}`),
    });
  }

  /** Reads the periods in which calls at these moments and with these shares count. */
  static async readBudgets(
    query: Query,
    rows: readonly Row[],
    moments: readonly number[],
    shares: readonly (string | undefined)[],
  ): Promise<Budgets> {
    const budgets = rows.map(readBudget);
    const wanted = new Map<string, readonly [budget: number, start: number]>();
    const addWanted = (budget: number, start: number): unknown =>
      wanted.set(`${budget} ${start}`, [budget, start]);
    for (const budget of budgets) for (const at of moments) addWanted(budget.id, findStart(budget, at));
    for (const { budget, start } of shares.flatMap(readShares)) addWanted(budget, start);
    const periods = await findPeriods(query, [...wanted.values()]);
    return new Budgets(budgets, periods.map(readPeriod));
  }

  /** The periods that a call counts in. */
  getLines({ account, line, root, tags }: Spender, at: number): Line[] {
    if (this.#current.length === 0) return [];
    const isOfSpender = ({ scope, subject }: Budget): boolean => {
      if (scope === 'key') return subject === root;
      if (scope === 'tag') return tags.includes(subject);
      return subject === account || (scope === 'team' && line.includes(subject));
    };
    return this.sheet.getLines(this.#current.filter(isOfSpender), at);
  }

  /** Sends the changes. */
  sendChanges(query: Query): (Promise<unknown> | false)[] {
    const [changes, { warnings }] = [this.sheet.listChanges(), this.sheet];
    return [
      changes.length > 0 && query(sql.change, [encodeRecords(changes)]),
      warnings.length > 0 && query(sql.warn, [encodeRecords(warnings)]),
    ];
  }
}
