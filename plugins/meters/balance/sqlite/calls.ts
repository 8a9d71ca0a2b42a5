/** How SQLite stores calls: one transaction writes at a time. */
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { callColumns } from '../calls/records.ts';
import { addNoted } from '../calls/sums.ts';
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
  type Steps,
} from '../sql/steps.ts';

const stored = [...callColumns, 'body'].join(', ');

const sql = nameStatements('stored calls of SQLite', {
  add: `INSERT INTO calls (${stored}) ${selectRecords('calls', stored)} ON CONFLICT (call) DO NOTHING`,
  addTag: `
    INSERT INTO call_tags (tag, ended, number) SELECT $1, ended, number FROM calls WHERE call = $2
    ON CONFLICT DO NOTHING`,
  newest: 'SELECT coalesce(max(number), 0) AS number FROM entries',
});

/** What a record has of its call; its other fields have the names of their columns. */
interface Columns {
  readonly call: string;
  readonly tags: Readonly<Record<string, string>>;
}

export function* addCalls({ calls }: Argument<'addCalls'>): Steps<Answer<'addCalls'>> {
  const rows: Row[] = [];
  const tags: Asked[] = [];
  for (const body of calls) {
    const call: Columns = JSON.parse(body);
    rows.push({ ...call, tags: JSON.stringify(call.tags), body });
    for (const [name, value] of Object.entries(call.tags))
      tags.push(ask(sql.addTag, formatTag(name, value), call.call));
  }
  yield* sendAll([askRecords(sql.add, rows), ...tags]);
  return { isDone: yield* addNoted() };
}

/** Entries appear in the order of their numbers. */
export function* findLastEntry(): Steps<number> {
  const [row] = yield* askRows(sql.newest);
  return row ? readCount(row, 'number') : 0;
}
