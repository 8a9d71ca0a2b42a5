/** Statements on one SQLite connection, and the operations that both databases share. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Row } from '../rows.ts';
import type { Statement, Steps, Value } from '../sql/steps.ts';

/**
 * Words that SQLite does not know and does not need: it locks the whole file and not rows, it compares
 * texts by their bytes by default, and it numbers entries by itself.
 */
const needless = /\sFOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?| COLLATE "C"/g;
const nextNumber = /nextval\('\w+'\)/g;

function toSqlite(text: string): string {
  return text
    .replaceAll(needless, '')
    .replaceAll(nextNumber, 'NULL')
    .replaceAll(/\$(\d+)/g, '?$1');
}

export function toBound(value: Value): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}

export class Statements {
  readonly #database: DatabaseSync;
  /** By the names of the statements. */
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  readonly readRows = (statement: Statement, values: readonly Value[] = []): Row[] =>
    this.#prepareStatement(statement).all(...values.map(toBound));

  /** Runs a statement that returns no rows, which is cheaper. Returns the number of the row that it added. */
  write(statement: Statement, values: readonly SQLInputValue[]): bigint | number | undefined {
    const { changes, lastInsertRowid } = this.#prepareStatement(statement).run(...values);
    return Number(changes) === 0 ? undefined : lastInsertRowid;
  }

  run<Answer>(steps: Steps<Answer>): Answer {
    let step = steps.next();
    while (!step.done) step = steps.next(this.readRows(step.value.statement, step.value.values));
    return step.value;
  }

  #prepareStatement({ name, text }: Statement): StatementSync {
    const known = name === undefined ? undefined : this.#prepared.get(name);
    if (known) return known;
    const made = this.#database.prepare(toSqlite(text));
    if (name !== undefined) this.#prepared.set(name, made);
    return made;
  }
}
