/** How SQLite stores calls, and finds what is new of both logs: one transaction writes at a time. */
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { callColumns } from '../calls/records.ts';
import { logs, type Log } from '../calls/rollup-sql.ts';
import { addSlices } from '../calls/slice-sums.ts';
import type { Answer, Argument } from '../operations.ts';
import { readCount } from '../rows.ts';
import {
  askRows,
  nameStatements,
  selectRecords,
  sendAll,
  askRecords,
  type Statement,
  type Steps,
} from '../sql/steps.ts';

const sql = nameStatements('stored calls of SQLite', {
  add: `
    INSERT INTO calls (${callColumns.join(', ')}, body)
    VALUES (${[...callColumns, 'body'].map((_, index) => `$${index + 1}`).join(', ')})
    ON CONFLICT (call) DO NOTHING RETURNING number`,
  addTag: `INSERT INTO call_tags (tag, ended, number) ${selectRecords('call_tags', 'tag, ended, number')}`,
  folded: 'SELECT last AS number FROM folds WHERE log = $1',
});

const newest: Readonly<Record<Log, Statement>> = nameStatements('newest', {
  entries: 'SELECT coalesce(max(number), 0) AS number FROM entries',
  calls: 'SELECT coalesce(max(number), 0) AS number FROM calls',
});

/** The columns of a call as its record has them. */
type Columns = Readonly<Record<(typeof callColumns)[number], string | number | null>> & {
  readonly tags: Readonly<Record<string, string>>;
};

export function* addCalls({ calls }: Argument<'addCalls'>): Steps<void> {
  for (const body of calls) {
    const call: Columns = JSON.parse(body);
    const { ended, tags } = call;
    const values = callColumns.map((column) => (column === 'tags' ? JSON.stringify(tags) : call[column]));
    const [added] = yield* askRows(sql.add, ...values, body);
    if (!added) continue;
    const number = readCount(added, 'number');
    const rows = Object.entries(tags).map(([name, value]) => ({
      tag: formatTag(name, value),
      ended,
      number,
    }));
    yield* sendAll([askRecords(sql.addTag, rows)]);
  }
}

function* readNumber(statement: Statement, ...values: readonly string[]): Steps<number> {
  const [row] = yield* askRows(statement, ...values);
  return row ? readCount(row, 'number') : 0;
}

export function* fold({ limit }: Argument<'fold'>): Steps<Answer<'fold'>> {
  let isDone = true;
  const slices = [];
  for (const log of logs) {
    const last = yield* readNumber(sql.folded, log);
    const end = yield* readNumber(newest[log]);
    const to = Math.max(last, Math.min(last + limit, end));
    if (to > last) slices.push({ log, last, to });
    isDone &&= to >= end;
  }
  yield* addSlices(slices);
  return { isDone };
}

/** Entries appear in the order of their numbers. */
export function findLastEntry(): Steps<number> {
  return readNumber(newest.entries);
}
