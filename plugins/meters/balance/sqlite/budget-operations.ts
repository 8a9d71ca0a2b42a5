/** What operators and the delivery of warnings do with budgets. */
import type { DatabaseSync } from 'node:sqlite';
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
import type { TransactionBalances } from './transaction-balances.ts';

const warningRows = `
  SELECT budget_warnings.*, budgets.scope, budgets.subject, budgets.per, budgets.zone
  FROM budget_warnings JOIN budgets ON budgets.id = budget_warnings.budget`;

function prepare(database: DatabaseSync) {
  return {
    account: database.prepare('SELECT name FROM accounts WHERE name = ?'),
    root: database.prepare("SELECT root FROM keys WHERE id = ? AND kind = 'user'"),
    same: database.prepare(
      'SELECT id FROM budgets WHERE scope = ? AND subject = ? AND per = ? AND deleted IS NULL',
    ),
    add: database.prepare(`
      INSERT INTO budgets (scope, subject, per, zone, allowed, hard, thresholds, created)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
    budget: database.prepare('SELECT * FROM budgets WHERE id = ? AND deleted IS NULL'),
    change: database.prepare(
      'UPDATE budgets SET allowed = ?, hard = ?, thresholds = ?, raises = ? WHERE id = ?',
    ),
    mark: database.prepare(
      'UPDATE budget_periods SET warned = ?, exhausted = 0 WHERE budget = ? AND start = ?',
    ),
    remove: database.prepare('UPDATE budgets SET deleted = ? WHERE id = ? AND deleted IS NULL'),
    period: database.prepare('SELECT * FROM budget_periods WHERE budget = ? AND start = ?'),
    list: database.prepare(`
      SELECT * FROM budgets WHERE id > ?1 AND deleted IS NULL AND (?2 IS NULL OR scope = ?2)
        AND (?3 IS NULL OR subject = ?3)
      ORDER BY id LIMIT ?4`),
    one: database.prepare('SELECT * FROM budgets WHERE id = ?'),
    lines: database.prepare(
      'SELECT name, line FROM accounts WHERE name = ?1 OR name = ?2 OR instr(line, ?3) > 0',
    ),
    move: database.prepare('UPDATE accounts SET line = ? WHERE name = ?'),
    isDue: database.prepare('SELECT 1 FROM budget_warnings WHERE due <= ? LIMIT 1'),
    due: database.prepare(
      `${warningRows} WHERE budget_warnings.due <= ? ORDER BY budget_warnings.due LIMIT ?`,
    ),
    // Looks at the oldest only, however many there are.
    forget: database.prepare(`
      DELETE FROM budget_warnings WHERE id IN (
        SELECT id FROM (SELECT id, at, due FROM budget_warnings ORDER BY id LIMIT 100)
        WHERE due IS NULL AND at < ?)`),
    claim: database.prepare('UPDATE budget_warnings SET due = ?, attempts = attempts + 1 WHERE id = ?'),
    ended: database.prepare('UPDATE budget_warnings SET due = ? WHERE id = ?'),
    warnings: database.prepare(`
      ${warningRows} WHERE budget_warnings.id > ?1 AND (?2 IS NULL OR budget_warnings.budget = ?2)
      ORDER BY budget_warnings.id LIMIT ?3`),
  };
}

export class BudgetOperations {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #balances: TransactionBalances;

  constructor(database: DatabaseSync, balances: TransactionBalances) {
    this.#sql = prepare(database);
    this.#balances = balances;
  }

  readonly createBudget = (budget: NewBudget): CreatedBudget => {
    const { scope, subject: named, per, zone, limit, hard, thresholds, at } = budget;
    const subject = this.#subject(scope, named);
    if (subject === undefined) return { status: 'not_found' };
    const same = this.#sql.same.get(scope, subject, per);
    if (same) return { status: 'exists', id: count(same, 'id') };
    this.#balances.write();
    const { lastInsertRowid } = this.#sql.add.run(
      scope,
      subject,
      per,
      zone,
      limit,
      hard ? 1 : 0,
      JSON.stringify(thresholds),
      at,
    );
    return { status: 'created', id: Number(lastInsertRowid) };
  };

  readonly changeBudget = ({ id, changes, at }: BudgetChange): boolean =>
    this.#change(id, at, (budget) => ({ ...budget, ...changes }));

  readonly raiseBudget = ({ id, amount, until, at }: BudgetRaise): boolean =>
    this.#change(id, at, (budget) => ({
      ...budget,
      raises: [...budget.raises.filter((raise) => raise.until > at), { amount, until }],
    }));

  readonly deleteBudget = ({ id, at }: { readonly id: number; readonly at: number }): boolean => {
    this.#balances.write();
    return this.#sql.remove.run(at, id).changes === 1n;
  };

  readonly moveAccount = ({ account, parent }: Move): Moved => {
    const rows = this.#sql.lines.all(account, parent ?? account, JSON.stringify(account));
    const moved = movedLines(
      new Map(rows.map((row) => [text(row, 'name'), maybe(row, 'line', texts) ?? []])),
      { account, parent },
    );
    if (typeof moved === 'string') return moved;
    this.#balances.write();
    for (const [name, line] of moved) this.#sql.move.run(line.length > 0 ? JSON.stringify(line) : null, name);
    return 'moved';
  };

  readonly takeWarnings = ({ at, until, limit }: WarningClaim): readonly Warning[] => {
    this.#sql.forget.run(at - warningsKept);
    const due = this.#sql.due.all(at, limit).map(warningOf);
    for (const { id } of due) this.#sql.claim.run(until, id);
    return due.map((warning) => ({ ...warning, attempts: warning.attempts + 1, due: until }));
  };

  readonly endWarning = ({ id, due }: EndedWarning): void => {
    this.#sql.ended.run(due ?? null, id);
  };

  readonly hasDueWarnings = ({ at }: { readonly at: number }): boolean => {
    return this.#sql.isDue.get(at) !== undefined;
  };

  readonly listBudgets = ({
    scope,
    subject,
    id,
    after = 0,
    limit,
    at,
  }: BudgetQuery): readonly BudgetRecord[] => {
    const rows =
      id === undefined
        ? this.#sql.list.all(after, scope ?? null, subject ?? null, limit)
        : this.#sql.one.all(id);
    return rows.map(budgetOf).map((budget) => {
      const period = this.#sql.period.get(budget.id, startAt(budget, at));
      return recordOf(budget, period && periodOf(period), at);
    });
  };

  readonly listWarnings = ({ budget, after = 0, limit }: WarningQuery): readonly Warning[] => {
    return this.#sql.warnings.all(after, budget ?? null, limit).map(warningOf);
  };

  /** The subject as budgets know it; undefined where there is no such key or account. */
  #subject(scope: NewBudget['scope'], named: string): string | undefined {
    if (scope === 'tag') return named;
    const row = scope === 'key' ? this.#sql.root.get(named) : this.#sql.account.get(named);
    return row && text(row, scope === 'key' ? 'root' : 'name');
  }

  /** Changes a budget, and marks in its current period which warnings the new limit still has to give. */
  #change(id: number, at: number, change: (budget: Budget) => Budget): boolean {
    this.#balances.write();
    const row = this.#sql.budget.get(id);
    if (!row) return false;
    const changed = change(budgetOf(row));
    const { limit, hard, thresholds, raises } = changed;
    this.#sql.change.run(limit, hard ? 1 : 0, JSON.stringify(thresholds), raisesText(raises), id);
    const start = startAt(changed, at);
    const period = this.#sql.period.get(id, start);
    if (period)
      this.#sql.mark.run(reached(thresholds, periodOf(period).used, allowedAt(changed, at)), id, start);
    return true;
  }
}
