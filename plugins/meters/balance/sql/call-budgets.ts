/**
 * The budgets that the calls of a batch count in. Each is locked after the accounts, in the order of the ids,
 * so that two batches never wait for each other; its periods are read after its lock.
 */
import { readBudget, readPeriod, readShares, findStart } from '../budgets/budget.ts';
import { Sheet } from '../budgets/sheet.ts';
import type { Row } from '../rows.ts';
import { ask, askAll, askRecords, nameStatements, selectRecords, type Asked, type Steps } from './steps.ts';

const added = 'budget, event, threshold, used, allowed, start, at';
const changed = 'budget, start, ends, used, pending, warned, exhausted';

const sql = nameStatements('budgets', {
  any: 'SELECT id FROM budgets LIMIT 1',
  // Those of accounts, of their teams, of keys and tags, and those in which the ending calls count.
  lock: `
    SELECT * FROM budgets WHERE id IN (
      SELECT id FROM budgets
        WHERE deleted IS NULL AND scope IN ('account', 'team') AND subject = ANY($1::text[])
      UNION ALL SELECT budgets.id FROM accounts, json_array_elements_text(accounts.line::json) above
        JOIN budgets ON scope = 'team' AND subject = above.value AND budgets.deleted IS NULL
        WHERE accounts.name = ANY($1::text[])
      UNION ALL SELECT budgets.id FROM keys
        JOIN budgets ON scope = 'key' AND subject = keys.root AND budgets.deleted IS NULL
        WHERE keys.id = ANY($2::text[])
      UNION ALL SELECT id FROM budgets WHERE deleted IS NULL AND scope = 'tag' AND subject = ANY($3::text[])
      UNION ALL SELECT (share.value->>0)::bigint
        FROM entries, json_array_elements(entries.budgets::json) share
        WHERE kind = 'reserve' AND call = ANY($4::text[]))
    ORDER BY id FOR NO KEY UPDATE`,
  periods: `
    SELECT budget_periods.* FROM budget_periods, (${selectRecords('budget_periods', 'budget, start')}) wanted
    WHERE budget_periods.budget = wanted.budget AND budget_periods.start = wanted.start`,
  change: `
    INSERT INTO budget_periods (${changed}) ${selectRecords('budget_periods', changed)}
    ON CONFLICT (budget, start) DO UPDATE SET used = budget_periods.used + excluded.used,
      pending = budget_periods.pending + excluded.pending,
      warned = excluded.warned, exhausted = excluded.exhausted`,
  warn: `
    INSERT INTO budget_warnings (${added}, due) ${selectRecords('budget_warnings', `${added}, due`)}`,
});

/** What budgets are found by: accounts and keys by name and id, and the ids of calls that end. */
export interface Spenders {
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly tags: readonly string[];
  readonly calls: readonly string[];
}

export const findAnyBudget = ask(sql.any);

export function lockBudgets({ accounts, keys, tags, calls }: Spenders): Asked {
  return ask(sql.lock, accounts, keys, tags, calls);
}

type Place = readonly [budget: number, start: number];

/** Finds periods by their budgets and starts. */
export function* findPeriods(wanted: readonly Place[]): Steps<readonly Row[]> {
  const places = wanted.map(([budget, start]) => ({ budget, start }));
  const [rows = []] = yield* askAll([askRecords(sql.periods, places)]);
  return rows;
}

export function listBudgetWrites(sheet: Sheet): Asked[] {
  const warnings = sheet.warnings.map((warning) => ({ ...warning, due: warning.at }));
  return [askRecords(sql.change, sheet.listChanges()), askRecords(sql.warn, warnings)];
}

/** Reads the periods in which calls at these moments and with these shares count. */
export function* readSheet(
  rows: readonly Row[],
  moments: readonly number[],
  shares: readonly (string | undefined)[],
): Steps<Sheet> {
  const budgets = rows.map(readBudget);
  const wanted = new Map<string, Place>();
  const addWanted = (budget: number, start: number): unknown =>
    wanted.set(`${budget} ${start}`, [budget, start]);
  for (const budget of budgets) for (const at of moments) addWanted(budget.id, findStart(budget, at));
  for (const { budget, start } of shares.flatMap(readShares)) addWanted(budget, start);
  const periods = yield* findPeriods([...wanted.values()]);
  return new Sheet(budgets, periods.map(readPeriod));
}
