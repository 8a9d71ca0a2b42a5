/** Adds stored calls and roll-ups in PostgreSQL, each time in a transaction of its own. */
import { callColumns } from '../calls/records.ts';
import { logs, type Log } from '../calls/rollup-sql.ts';
import { addSlices, type Slice } from '../calls/slice-sums.ts';
import type { Answer, Argument } from '../operations.ts';
import { readCount, readInteger } from '../rows.ts';
import { askRows, nameStatements, type Steps } from '../sql/steps.ts';
import { buildNoneOpenSql } from './open-numbers.ts';

const columns = callColumns.join(', ');

/** The sequence that a row of `folds` follows. */
const sequenceOf = "CASE log WHEN 'entries' THEN 'entry_numbers' ELSE 'calls_number_seq' END";

const sql = nameStatements('stored calls of PostgreSQL', {
  // Takes the transaction's id before any number, so that a horizon covers the numbers it takes.
  identify: 'SELECT pg_current_xact_id()::text::bigint AS id',
  add: `
    WITH added AS (
      INSERT INTO calls (${columns}, body) SELECT ${columns}, record::text
      FROM json_array_elements($1) AS record, json_populate_record(NULL::calls, record)
      ON CONFLICT (call) DO NOTHING RETURNING number, ended, tags)
    INSERT INTO call_tags (tag, ended, number)
    SELECT tag.key || CASE tag.value WHEN '' THEN '' ELSE ':' || tag.value END, ended, number FROM added
    CROSS JOIN LATERAL json_each_text(tags::json) AS tag WHERE tags <> '{}'`,
  // A process that finds another one folding leaves the work to it.
  fold: 'SELECT log, last, safe FROM folds ORDER BY log FOR UPDATE SKIP LOCKED',
  confirm: `
    UPDATE folds SET safe = next, horizon = 0
    WHERE log = $1 AND safe < next AND horizon > 0
      AND ${buildNoneOpenSql(sequenceOf, 'horizon')}`,
  aim: 'UPDATE folds SET next = $2, horizon = $3 WHERE log = $1 AND safe = next AND next < $2',
  // Read before the transaction has an id: then all that took these numbers have lower ids.
  taken: `SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM entry_numbers) AS entries,
    (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM calls_number_seq) AS calls`,
});

export function* addCalls({ calls }: Argument<'addCalls'>): Steps<void> {
  yield* askRows(sql.identify);
  yield* askRows(sql.add, `[${calls.join(',')}]`);
}

export function* fold({ limit }: Argument<'fold'>): Steps<Answer<'fold'>> {
  const [last] = yield* askRows(sql.taken);
  const [self] = yield* askRows(sql.identify);
  const rows = yield* askRows(sql.fold);
  if (rows.length < logs.length) return { isDone: true };
  let isDone = true;
  const slices: Slice[] = [];
  const complete: Log[] = [];
  for (const log of logs) {
    const row = rows.find((each) => each.log === log);
    const [from, safe] = row ? [readCount(row, 'last'), readCount(row, 'safe')] : [0, 0];
    const to = Math.max(from, Math.min(from + limit, safe));
    if (to > from) slices.push({ log, last: from, to });
    if (to >= safe) complete.push(log);
    isDone &&= to >= safe;
  }
  yield* addSlices(slices);
  // Moves the number up to which none can still appear. One fold names it, the next confirms it.
  for (const log of complete) {
    yield* askRows(sql.confirm, log);
    if (last && self) yield* askRows(sql.aim, log, readInteger(last, log), readInteger(self, 'id'));
  }
  return { isDone };
}
