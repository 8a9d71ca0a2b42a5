/** How SQLite stores calls, and finds what is new of both logs: one transaction writes at a time. */
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { callColumns } from '../calls/records.ts';
import { logs, type Log } from '../calls/rollup-sql.ts';
import { addSlices } from '../calls/slice-sums.ts';
import type { Answer, Argument } from '../operations.ts';
import { readCount, type Row } from '../rows.ts';
import {
  ask,
  askRecords,
  askRows,
  nameStatements,
  selectRecords,
  sendAll,
  type Asked,
  type Statement,
  type Steps,
} from '../sql/steps.ts';

const stored = [...callColumns, 'body'].join(', ');

const sql = nameStatements('stored calls of SQLite', {
  add: `INSERT INTO calls (${stored}) ${selectRecords('calls', stored)} ON CONFLICT (call) DO NOTHING`,
  addTag: `
    INSERT INTO call_tags (tag, ended, number) SELECT $1, ended, number FROM calls WHERE call = $2
    ON CONFLICT DO NOTHING`,
  folded: 'SELECT last AS number FROM folds WHERE log = $1',
});

const newest: Readonly<Record<Log, Statement>> = nameStatements('newest', {
  entries: 'SELECT coalesce(max(number), 0) AS number FROM entries',
  calls: 'SELECT coalesce(max(number), 0) AS number FROM calls',
});

/** What a record has of its call; its other fields have the names of their columns. */
interface Columns {
  readonly call: string;
  readonly tags: Readonly<Record<string, string>>;
}

export function* addCalls({ calls }: Argument<'addCalls'>): Steps<void> {
  const rows: Row[] = [];
  const tags: Asked[] = [];
  for (const body of calls) {
    const call: Columns = JSON.parse(body);
    rows.push({ ...call, tags: JSON.stringify(call.tags), body });
    for (const [name, value] of Object.entries(call.tags))
      tags.push(ask(sql.addTag, formatTag(name, value), call.call));
  }
  yield* sendAll([askRecords(sql.add, rows), ...tags]);
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
