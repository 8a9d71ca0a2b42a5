/** The log of operators' actions in SQLite. */
import type { DatabaseSync } from 'node:sqlite';
import { actionOf, type Action, type ActionRecord } from '../corrections.ts';

export class Actions {
  readonly #sql;

  constructor(database: DatabaseSync) {
    this.#sql = {
      add: database.prepare(
        'INSERT INTO operator_actions (at, author, action, subject, detail) VALUES (?, ?, ?, ?, ?)',
      ),
      list: database.prepare('SELECT * FROM operator_actions WHERE number < ? ORDER BY number DESC LIMIT ?'),
    };
  }

  readonly recordAction = ({ at, author, action, subject, detail }: Action): void => {
    this.#sql.add.run(at, author, action, subject, detail);
  };

  readonly listActions = ({
    before = Number.MAX_SAFE_INTEGER,
    limit,
  }: {
    readonly before?: number | undefined;
    readonly limit: number;
  }): readonly ActionRecord[] => this.#sql.list.all(before, limit).map(actionOf);
}
