/** What operators and the delivery of warnings do with budgets. */
import {
  allowedAt,
  reached,
  warningsKept,
  type Budget,
  type BudgetRecord,
  type Warning,
} from '../budgets/budget.ts';
import { budgetOf, periodOf, raisesText, recordOf, startAt, warningOf } from '../budgets/rows.ts';
import { movedLines } from '../budgets/teams.ts';
import { count, maybe, text, texts } from '../rows.ts';
import type {
  BudgetChange,
  BudgetQuery,
  BudgetRaise,
  CreatedBudget,
  EndedWarning,
  Move,
  Moved,
  NewBudget,
  WarningClaim,
  WarningQuery,
} from '../store.ts';
import { findPeriods } from './budgets.ts';
import { statements, type Query } from './connection.ts';
import { recordset } from './values.ts';

const warningRows = `
  SELECT budget_warnings.*, budgets.scope, budgets.subject, budgets.per, budgets.zone
  FROM budget_warnings JOIN budgets ON budgets.id = budget_warnings.budget`;

const sql = statements('budget operations', {
  account: 'SELECT name AS subject FROM accounts WHERE name = $1',
  root: "SELECT root AS subject FROM keys WHERE id = $1 AND kind = 'user'",
  add: `
    INSERT INTO budgets (scope, subject, per, zone, allowed, hard, thresholds, created)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (scope, subject, per) WHERE deleted IS NULL DO NOTHING RETURNING id`,
  same: 'SELECT id FROM budgets WHERE scope = $1 AND subject = $2 AND per = $3 AND deleted IS NULL',
  lock: 'SELECT * FROM budgets WHERE id = $1 AND deleted IS NULL FOR NO KEY UPDATE',
  change: 'UPDATE budgets SET allowed = $2, hard = $3, thresholds = $4, raises = $5 WHERE id = $1',
  mark: 'UPDATE budget_periods SET warned = $3, exhausted = false WHERE budget = $1 AND start = $2',
  remove: 'UPDATE budgets SET deleted = $2 WHERE id = $1 AND deleted IS NULL RETURNING id',
  period: 'SELECT * FROM budget_periods WHERE budget = $1 AND start = $2',
  list: `
    SELECT * FROM budgets WHERE id > $1 AND deleted IS NULL AND ($2::text IS NULL OR scope = $2)
      AND ($3::text IS NULL OR subject = $3)
    ORDER BY id LIMIT $4`,
  one: 'SELECT * FROM budgets WHERE id = $1',
  // Only one account moves at a time, or two moves could make a cycle together.
  moving: 'SELECT pg_advisory_xact_lock(7461188902)',
  lines: `
    SELECT name, line FROM accounts WHERE name = $1 OR name = $2 OR strpos(line, $3) > 0 ORDER BY id
    FOR NO KEY UPDATE`,
  move: `
    UPDATE accounts SET line = change.line FROM json_populate_recordset(NULL::accounts, $1) change
    WHERE accounts.name = change.name`,
  isDue: 'SELECT id FROM budget_warnings WHERE due <= $1 LIMIT 1',
  take: `
    WITH taken AS (
      UPDATE budget_warnings SET due = $2, attempts = attempts + 1
      WHERE id IN (
        SELECT id FROM budget_warnings WHERE due <= $1 ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED)
      RETURNING *)
    SELECT taken.*, budgets.scope, budgets.subject, budgets.per, budgets.zone FROM taken
    JOIN budgets ON budgets.id = taken.budget ORDER BY taken.id`,
  // Looks at the oldest only, however many there are.
  forget: `
    DELETE FROM budget_warnings WHERE id IN (
      SELECT id FROM (SELECT id, at, due FROM budget_warnings ORDER BY id LIMIT 100) oldest
      WHERE due IS NULL AND at < $1)`,
  ended: 'UPDATE budget_warnings SET due = $2 WHERE id = $1',
  warnings: `
    ${warningRows} WHERE budget_warnings.id > $1 AND ($2::bigint IS NULL OR budget_warnings.budget = $2)
    ORDER BY budget_warnings.id LIMIT $3`,
});

export async function createBudget(query: Query, budget: NewBudget): Promise<CreatedBudget> {
  const { scope, subject: named, per, zone, limit, hard, thresholds, at } = budget;
  const [found] =
    scope === 'tag' ? [{ subject: named }] : await query(scope === 'key' ? sql.root : sql.account, [named]);
  if (!found) return { status: 'not_found' };
  const subject = text(found, 'subject');
  const [made] = await query(sql.add, [
    scope,
    subject,
    per,
    zone,
    limit,
    hard,
    JSON.stringify(thresholds),
    at,
  ]);
  if (made) return { status: 'created', id: count(made, 'id') };
  const [same] = await query(sql.same, [scope, subject, per]);
  return same ? { status: 'exists', id: count(same, 'id') } : { status: 'not_found' };
}

/** Changes a budget, and marks in its current period which warnings the new limit still has to give. */
async function change(
  query: Query,
  id: number,
  at: number,
  changing: (budget: Budget) => Budget,
): Promise<boolean> {
  const [row] = await query(sql.lock, [id]);
  if (!row) return false;
  const changed = changing(budgetOf(row));
  const { limit, hard, thresholds, raises } = changed;
  await query(sql.change, [id, limit, hard, JSON.stringify(thresholds), raisesText(raises)]);
  const start = startAt(changed, at);
  const [period] = await query(sql.period, [id, start]);
  if (period)
    await query(sql.mark, [id, start, reached(thresholds, periodOf(period).used, allowedAt(changed, at))]);
  return true;
}

export function changeBudget(query: Query, { id, changes, at }: BudgetChange): Promise<boolean> {
  return change(query, id, at, (budget) => ({ ...budget, ...changes }));
}

export function raiseBudget(query: Query, { id, amount, until, at }: BudgetRaise): Promise<boolean> {
  return change(query, id, at, (budget) => ({
    ...budget,
    raises: [...budget.raises.filter((raise) => raise.until > at), { amount, until }],
  }));
}

export async function deleteBudget(
  query: Query,
  { id, at }: { readonly id: number; readonly at: number },
): Promise<boolean> {
  return (await query(sql.remove, [id, at])).length > 0;
}

export async function moveAccount(query: Query, { account, parent }: Move): Promise<Moved> {
  await query(sql.moving);
  const rows = await query(sql.lines, [account, parent ?? account, JSON.stringify(account)]);
  const lines = new Map(rows.map((row) => [text(row, 'name'), maybe(row, 'line', texts) ?? []]));
  const moved = movedLines(lines, { account, parent });
  if (typeof moved === 'string') return moved;
  const changes = [...moved].map(([name, line]) => ({
    name,
    line: line.length > 0 ? JSON.stringify(line) : null,
  }));
  await query(sql.move, [recordset(changes)]);
  return 'moved';
}

export async function takeWarnings(
  query: Query,
  { at, until, limit }: WarningClaim,
): Promise<readonly Warning[]> {
  await query(sql.forget, [at - warningsKept]);
  return (await query(sql.take, [at, until, limit])).map(warningOf);
}

export async function endWarning(query: Query, { id, due }: EndedWarning): Promise<void> {
  await query(sql.ended, [id, due ?? null]);
}

export async function hasDueWarnings(query: Query, { at }: { readonly at: number }): Promise<boolean> {
  return (await query(sql.isDue, [at])).length > 0;
}

export async function listBudgets(
  query: Query,
  { scope, subject, id, after = 0, limit, at }: BudgetQuery,
): Promise<readonly BudgetRecord[]> {
  const rows =
    id === undefined
      ? await query(sql.list, [after, scope ?? null, subject ?? null, limit])
      : await query(sql.one, [id]);
  const budgets = rows.map(budgetOf);
  const periods = await findPeriods(
    query,
    budgets.map((budget) => [budget.id, startAt(budget, at)]),
  );
  const byBudget = new Map(periods.map((period) => [period.budget, period]));
  return budgets.map((budget) => recordOf(budget, byBudget.get(budget.id), at));
}

export async function listWarnings(
  query: Query,
  { budget, after = 0, limit }: WarningQuery,
): Promise<readonly Warning[]> {
  return (await query(sql.warnings, [after, budget ?? null, limit])).map(warningOf);
}
