/** Exports from a SQLite ledger, in its thread for reports. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { linesOf, sliceSql, type ExportSlice } from '../export/lines.ts';
import { count } from '../rows.ts';
import { bound } from './statements.ts';

const spelling = {
  call: 'coalesce(entries.call, made.call)',
  join: 'LEFT JOIN entries made ON made.number = entries.reservation',
};

export class Exports {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  readonly exportEntries = (slice: ExportSlice): string => {
    const { text, values } = sliceSql(slice, spelling);
    // There are as many texts as sets of filters.
    const statement = this.#prepared.get(text) ?? this.#database.prepare(text.replaceAll('$', '?'));
    this.#prepared.set(text, statement);
    return linesOf(statement.iterate(...values.map(bound)), slice.format);
  };

  /** One transaction writes at a time, so entries appear in the order of their numbers. */
  readonly lastEntry = (): number => {
    const row = this.#database.prepare('SELECT coalesce(max(number), 0) AS number FROM entries').get();
    return row ? count(row, 'number') : 0;
  };
}
