/** Reads stored calls and roll-ups, and deletes those that are too old. */
import { shortestKept, units } from '../calls/figures.ts';
import { overviewRows, overviewSql } from '../calls/overview.ts';
import { callRowOf, callsSql, fewCalls, probeSql, storedCallOf } from '../calls/records.ts';
import { count, integer } from '../rows.ts';
import { ask, statements, type Operations } from './steps.ts';

/** Deletes the rows of calls that ended before $1, up to $2 of them, but none that is not summed up yet. */
function deleting(table: string, column: string): string {
  return `DELETE FROM ${table} WHERE ${column} IN (
    SELECT number FROM calls WHERE ended < $1 AND number <= (SELECT last FROM folds WHERE log = 'calls')
    ORDER BY ended, number LIMIT $2)`;
}

const sql = statements('stored calls', {
  call: 'SELECT * FROM calls WHERE call = $1',
  credited: `
    SELECT CAST(coalesce(sum(-credits), 0) AS bigint) AS credited FROM entries
    JOIN accounts ON accounts.id = entries.account
    WHERE credits <> 0 AND accounts.name = $1 AND entries.at < $2`,
  behind: `
    SELECT
      (SELECT coalesce(max(number), 0) FROM entries) 
        - (SELECT last FROM folds WHERE log = 'entries') AS entries,
      (SELECT coalesce(max(number), 0) FROM calls)
        - (SELECT last FROM folds WHERE log = 'calls') AS calls`,
  sweepTags: deleting('call_tags', 'number'),
  sweepCalls: `${deleting('calls', 'number')} RETURNING number`,
  sweepSeries: `DELETE FROM series WHERE dimension IN ('model', 'key', 'account', 'provider', 'tag') 
      AND unit = $1 AND start < $2`,
});

export const calls = {
  *sweepCalls({ before, limit, at }) {
    yield* ask(sql.sweepSeries, units['5m'], at - shortestKept);
    yield* ask(sql.sweepTags, before, limit);
    return (yield* ask(sql.sweepCalls, before, limit)).length;
  },
  *listCalls(query) {
    const probe = probeSql(query);
    const [probed] = probe ? yield* ask({ text: probe.text }, ...probe.values) : [];
    const { text, values } = callsSql(query, probed !== undefined && count(probed, 'found') <= fewCalls);
    return (yield* ask({ text }, ...values)).map(callRowOf);
  },
  *storedCall(id) {
    const [row] = yield* ask(sql.call, id);
    return row && storedCallOf(row);
  },
  *overview(query) {
    const { text, values } = overviewSql(query);
    return overviewRows(query, yield* ask({ text }, ...values));
  },
  /** A log whose last rows were swept is not behind. */
  *behind() {
    const [row] = yield* ask(sql.behind);
    return row ? Math.max(0, count(row, 'entries')) + Math.max(0, count(row, 'calls')) : 0;
  },
  *creditedBefore(asked) {
    const [row] = yield* ask(sql.credited, asked.account, asked.at);
    return row ? integer(row, 'credited') : 0n;
  },
} satisfies Partial<Operations>;
