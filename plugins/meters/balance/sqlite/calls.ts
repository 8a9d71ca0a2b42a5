/** Adds stored calls and roll-ups, on one SQLite connection. */
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { callColumns } from '../calls/records.ts';
import { logs, type Log } from '../calls/rollup-sql.ts';
import { buildAddRowSql, rollupKey, seriesKey, sliceSql, SliceSums } from '../calls/slice-sums.ts';
import type { Answer, Argument } from '../operations.ts';
import { readCount } from '../rows.ts';
import { nameStatements, type Statement, type Value } from '../sql/steps.ts';
import type { Statements } from './statements.ts';

const sql = nameStatements('roll-ups', {
  addCall: `
    INSERT INTO calls (${callColumns.join(', ')}, body) VALUES (${callColumns.map(() => '?').join(', ')}, ?)
    ON CONFLICT (call) DO NOTHING`,
  addTag: 'INSERT INTO call_tags (tag, ended, number) VALUES ($1, $2, $3)',
  addRollup: buildAddRowSql('rollups', rollupKey),
  addSeries: buildAddRowSql('series', seriesKey),
  folded: 'SELECT last AS number FROM folds WHERE log = $1',
  fold: 'UPDATE folds SET last = $2 WHERE log = $1',
});

const newest = nameStatements('newest', {
  entries: 'SELECT coalesce(max(number), 0) AS number FROM entries',
  calls: 'SELECT coalesce(max(number), 0) AS number FROM calls',
});
const slices: Readonly<Record<Log, Statement>> = nameStatements('slices', sliceSql);

/** The columns of a call as its record has them. */
type Columns = Readonly<Record<(typeof callColumns)[number], string | number | null>> & {
  readonly tags: Readonly<Record<string, string>>;
};

export class StoredCalls {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  readonly addCalls = ({ calls }: Argument<'addCalls'>): void => {
    for (const record of calls) {
      const call: Columns = JSON.parse(record);
      const values = callColumns.map((column) =>
        column === 'tags' ? JSON.stringify(call.tags) : call[column],
      );
      const number = this.#statements.write(sql.addCall, [...values, record]);
      if (number === undefined) continue;
      for (const [name, value] of Object.entries(call.tags))
        this.#statements.write(sql.addTag, [formatTag(name, value), call.ended, number]);
    }
  };

  readonly fold = ({ limit }: Argument<'fold'>): Answer<'fold'> => {
    const ranges = logs.map((log) => {
      const last = this.#readNumber(sql.folded, [log]);
      const end = this.#readNumber(newest[log]);
      return { log, last, to: Math.max(last, Math.min(last + limit, end)), end };
    });
    if (ranges.every(({ last, to }) => to === last)) return { isDone: true };
    const sums = new SliceSums();
    for (const { log, last, to } of ranges)
      for (const row of this.#statements.readRows(slices[log], [last, to]))
        if (log === 'entries') sums.addEntry(row);
        else sums.addCall(row);
    for (const values of sums.listRollups()) this.#statements.write(sql.addRollup, values);
    for (const values of sums.listSeries()) this.#statements.write(sql.addSeries, values);
    for (const { log, to } of ranges) this.#statements.write(sql.fold, [log, to]);
    return { isDone: ranges.every(({ to, end }) => to >= end) };
  };

  #readNumber(statement: Statement, values: readonly Value[] = []): number {
    const [row] = this.#statements.readRows(statement, values);
    return row ? readCount(row, 'number') : 0;
  }
}
