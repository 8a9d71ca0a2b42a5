/** Exports from a SQLite ledger, in its thread for reports. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { formatLines, buildSliceSql, type ExportSlice } from '../export/lines.ts';
import { readCount } from '../rows.ts';
import { toBound } from './statements.ts';

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
    const { text, values } = buildSliceSql(slice, spelling);
    // There are as many texts as sets of filters.
    const statement = this.#prepared.get(text) ?? this.#database.prepare(text.replaceAll('$', '?'));
    this.#prepared.set(text, statement);
    return formatLines(statement.iterate(...values.map(toBound)), slice.format);
  };

  /** One transaction writes at a time, so entries appear in the order of their numbers. */
  readonly findLastEntry = (): number => {
    const row = this.#database.prepare('SELECT coalesce(max(number), 0) AS number FROM entries').get();
    return row ? readCount(row, 'number') : 0;
  };
}
