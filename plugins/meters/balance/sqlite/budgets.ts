/**
 * The budgets that calls count in, while one transaction is written. They are looked up by index in the
 * transaction itself, so a budget holds for all processes from the moment it is stored.
 */
import type { DatabaseSync } from 'node:sqlite';
import { readBudget, readPeriod, type Budget, type Scope } from '../budgets/budget.ts';
import { Sheet, type Line, type Spender } from '../budgets/sheet.ts';

function prepareBudgets(database: DatabaseSync) {
  return {
    any: database.prepare('SELECT 1 FROM budgets INDEXED BY one_budget WHERE deleted IS NULL LIMIT 1'),
    of: database.prepare('SELECT * FROM budgets WHERE scope = ? AND subject = ? AND deleted IS NULL'),
    budget: database.prepare('SELECT * FROM budgets WHERE id = ?'),
    period: database.prepare('SELECT * FROM budget_periods WHERE budget = ? AND start = ?'),
    change: database.prepare(`
      INSERT INTO budget_periods (budget, start, ends, used, pending, warned, exhausted)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET used = used + excluded.used, pending = pending + excluded.pending,
        warned = excluded.warned, exhausted = excluded.exhausted`),
    warn: database.prepare(`
      INSERT INTO budget_warnings (budget, event, threshold, used, allowed, start, at, due)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)`),
  };
}

export class Budgets {
  readonly sheet: Sheet;
  readonly #sql: ReturnType<typeof prepareBudgets>;
  readonly #byId = new Map<number, Budget | undefined>();
  readonly #bySubject = new Map<string, readonly Budget[]>();
  /** Whether there is any budget; undefined until this transaction has looked. */
  #any: boolean | undefined;

  constructor(database: DatabaseSync) {
    this.#sql = prepareBudgets(database);
    this.sheet = new Sheet({
      findBudget: (id) => this.#getBudget(id),
      findPeriod: (budget, start) => {
        const row = this.#sql.period.get(budget, start);
        return row && readPeriod(row);
      },
    });
  }

  /** The periods that a call counts in; none if there are no budgets. */
  getLines({ account, line, root, tags }: Spender, at: number): readonly Line[] {
    this.#any ??= this.#sql.any.get() !== undefined;
    if (!this.#any) return [];
    const found = [
      root === undefined ? [] : this.#findBudgets('key', root),
      this.#findBudgets('account', account),
      ...[account, ...line].map((team) => this.#findBudgets('team', team)),
      ...tags.map((tag) => this.#findBudgets('tag', tag)),
    ];
    return this.sheet.getLines(found.flat(), at);
  }

  /** Writes the changes, before the transaction is committed. */
  writeChanges(): void {
    for (const { budget, start, ends, used, pending, warned, exhausted } of this.sheet.listChanges())
      this.#sql.change.run(budget, start, ends, used, pending, warned, exhausted ? 1 : 0);
    for (const { budget, event, threshold, used, allowed, start, at } of this.sheet.warnings)
      this.#sql.warn.run(budget, event, threshold, used, allowed, start, at);
    this.forget();
  }

  /** Forgets what was read, because the transaction has ended, was rolled back, or changes budgets. */
  forget(): void {
    this.#any = undefined;
    this.#byId.clear();
    this.#bySubject.clear();
    this.sheet.forget();
  }

  #getBudget(id: number): Budget | undefined {
    if (this.#byId.has(id)) return this.#byId.get(id);
    const row = this.#sql.budget.get(id);
    const budget = row && readBudget(row);
    this.#byId.set(id, budget);
    return budget;
  }

  #findBudgets(scope: Scope, subject: string): readonly Budget[] {
    const name = `${scope} ${subject}`;
    const known = this.#bySubject.get(name);
    if (known) return known;
    const found = this.#sql.of.all(scope, subject).map(readBudget);
    this.#bySubject.set(name, found);
    return found;
  }
}
