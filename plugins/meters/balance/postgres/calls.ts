/** Adds stored calls and roll-ups in PostgreSQL, each time in a transaction of its own. */
import { figures } from '../calls/figures.ts';
import { callColumns } from '../calls/records.ts';
import { logs, type Log } from '../calls/rollup-sql.ts';
import { buildAddSql, rollupKey, seriesKey, sliceSql, SliceSums } from '../calls/slice-sums.ts';
import type { Answer, Argument } from '../operations.ts';
import { readCount, readInteger, type Row } from '../rows.ts';
import { nameStatements } from '../sql/steps.ts';
import type { Query } from './connection.ts';
import { buildNoneOpenSql } from './open-numbers.ts';
import { encodeRecords } from './values.ts';

const columns = callColumns.join(', ');

/** The sequence that a row of `folds` follows. */
const sequenceOf = "CASE log WHEN 'entries' THEN 'entry_numbers' ELSE 'calls_number_seq' END";

const sql = nameStatements('calls', {
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
  folded: 'UPDATE folds SET last = $2 WHERE log = $1',
  confirm: `
    UPDATE folds SET safe = next, horizon = 0
    WHERE log = $1 AND safe < next AND horizon > 0
      AND ${buildNoneOpenSql(sequenceOf, 'horizon')}`,
  aim: 'UPDATE folds SET next = $2, horizon = $3 WHERE log = $1 AND safe = next AND next < $2',
  // Read before the transaction has an id: then all that took these numbers have lower ids.
  taken: `SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM entry_numbers) AS entries,
    (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM calls_number_seq) AS calls`,
});

export async function addCalls(query: Query, { calls }: Argument<'addCalls'>): Promise<void> {
  await query(sql.identify);
  await query(sql.add, [`[${calls.join(',')}]`]);
}

/** What a fold found when it began: the last number that was taken of each log, and then its own id. */
interface Taken {
  readonly last: Row | undefined;
  readonly id: bigint;
}

/** Moves the number up to which none can still appear. One fold names it, the next confirms it. */
async function advanceSafe(query: Query, log: Log, { last, id }: Taken): Promise<void> {
  await query(sql.confirm, [log]);
  if (last) await query(sql.aim, [log, readInteger(last, log), id]);
}

function buildAddRecordsSql(table: string, key: readonly string[]): string {
  const columns = [...key, ...figures].join(', ');
  return buildAddSql(table, key, `SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`);
}

const addRollups = buildAddRecordsSql('rollups', rollupKey);
const addSeries = buildAddRecordsSql('series', seriesKey);

async function addSums(
  query: Query,
  text: string,
  key: readonly string[],
  rows: readonly (readonly (string | number | bigint)[])[],
): Promise<void> {
  if (rows.length === 0) return;
  const names = [...key, ...figures];
  const records = rows.map((values) => Object.fromEntries(names.map((name, index) => [name, values[index]])));
  await query({ text }, [encodeRecords(records)]);
}

export async function fold(query: Query, { limit }: Argument<'fold'>): Promise<Answer<'fold'>> {
  const [last] = await query(sql.taken);
  const [self] = await query(sql.identify);
  const taken: Taken = { last, id: self ? readInteger(self, 'id') : 0n };
  const rows = await query(sql.fold);
  if (rows.length < logs.length) return { isDone: true };
  const ranges = logs.map((log) => {
    const row = rows.find((each) => each.log === log);
    const [last, safe] = row ? [readCount(row, 'last'), readCount(row, 'safe')] : [0, 0];
    return { log, last, safe, to: Math.max(last, Math.min(last + limit, safe)) };
  });
  const sums = new SliceSums();
  for (const { log, last, to } of ranges)
    if (to > last)
      for (const row of await query({ text: sliceSql[log] }, [last, to]))
        if (log === 'entries') sums.addEntry(row);
        else sums.addCall(row);
  await addSums(query, addRollups, rollupKey, sums.listRollups());
  await addSums(query, addSeries, seriesKey, sums.listSeries());
  for (const { log, to, safe } of ranges) {
    await query(sql.folded, [log, to]);
    if (to >= safe) await advanceSafe(query, log, taken);
  }
  return { isDone: ranges.every(({ to, safe }) => to >= safe) };
}
