/** Adds stored calls and roll-ups, on one SQLite connection. */
import { tagText } from '../../../shared/calls/tag-text.ts';
import { figures } from '../calls/figures.ts';
import { callColumns, type Folded, type FoldRequest } from '../calls/records.ts';
import { logs, type Log } from '../calls/rollup-sql.ts';
import { addingSql, rollupKey, seriesKey, sliceSql, SliceSums } from '../calls/slice-sums.ts';
import { count, integer } from '../rows.ts';
import { statements, type Statement, type Value } from '../sql/steps.ts';
import type { Statements } from './statements.ts';

function adding(table: string, key: readonly string[]): string {
  return addingSql(table, key, `VALUES (${[...key, ...figures].map(() => '?').join(', ')})`);
}

const sql = statements('roll-ups', {
  addCall: `
    INSERT INTO calls (${callColumns.join(', ')}, body) VALUES (${callColumns.map(() => '?').join(', ')}, ?)
    ON CONFLICT (call) DO NOTHING RETURNING number`,
  addTag: 'INSERT INTO call_tags (tag, ended, number) VALUES ($1, $2, $3)',
  addRollup: adding('rollups', rollupKey),
  addSeries: adding('series', seriesKey),
  folded: 'SELECT last AS number FROM folds WHERE log = $1',
  fold: 'UPDATE folds SET last = $2 WHERE log = $1',
});

const newest = statements('newest', {
  entries: 'SELECT coalesce(max(number), 0) AS number FROM entries',
  calls: 'SELECT coalesce(max(number), 0) AS number FROM calls',
});
const slices: Readonly<Record<Log, Statement>> = statements('slices', sliceSql);

/** A call as the recorder wrote it: its columns, its tags and its record. */
type WrittenCall = Readonly<Record<(typeof callColumns)[number], string | number | null>> & {
  readonly tags: Readonly<Record<string, string>>;
  readonly body: unknown;
};

export class StoredCalls {
  readonly #all: Statements['all'];

  constructor({ all }: Statements) {
    this.#all = all;
  }

  readonly addCalls = ({ text }: { readonly text: string }): void => {
    const calls: readonly WrittenCall[] = JSON.parse(text);
    for (const { body, ...columns } of calls) {
      const tags = Object.entries(columns.tags);
      const values = callColumns.map((column) =>
        column === 'tags' ? JSON.stringify(columns.tags) : columns[column],
      );
      const [added] = this.#all(sql.addCall, [...values, JSON.stringify(body)]);
      if (!added) continue;
      for (const [name, value] of tags)
        this.#all(sql.addTag, [tagText(name, value), columns.ended, integer(added, 'number')]);
    }
  };

  readonly fold = ({ limit }: FoldRequest): Folded => {
    const ranges = logs.map((log) => {
      const last = this.#number(sql.folded, [log]);
      const end = this.#number(newest[log]);
      return { log, last, to: Math.max(last, Math.min(last + limit, end)), end };
    });
    if (ranges.every(({ last, to }) => to === last)) return { isDone: true };
    const sums = new SliceSums();
    for (const { log, last, to } of ranges)
      for (const row of this.#all(slices[log], [last, to]))
        if (log === 'entries') sums.addEntry(row);
        else sums.addCall(row);
    for (const values of sums.rollups()) this.#all(sql.addRollup, values);
    for (const values of sums.series()) this.#all(sql.addSeries, values);
    for (const { log, to } of ranges) this.#all(sql.fold, [log, to]);
    return { isDone: ranges.every(({ to, end }) => to >= end) };
  };

  #number(statement: Statement, values: readonly Value[] = []): number {
    const [row] = this.#all(statement, values);
    return row ? count(row, 'number') : 0;
  }
}
