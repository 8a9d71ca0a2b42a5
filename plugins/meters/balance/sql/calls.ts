/** Reads stored calls and roll-ups, and deletes those that are too old. */
import { shortestKept, units } from '../calls/figures.ts';
import { readOverviewRows, buildOverviewSql } from '../calls/overview.ts';
import { readCallRow, buildCallsSql, fewCalls, buildProbeSql, readStoredCall } from '../calls/records.ts';
import { readCount, readInteger } from '../rows.ts';
import { askRows, nameStatements, type Operations } from './steps.ts';

/** Deletes the rows of calls that ended before $1, up to $2 of them, but none that is not summed up yet. */
function buildDeleteSql(table: string): string {
  return `DELETE FROM ${table} WHERE number IN (
    SELECT number FROM calls WHERE ended < $1 AND number <= (SELECT last FROM folds WHERE log = 'calls')
    ORDER BY ended, number LIMIT $2)`;
}

const sql = nameStatements('stored calls', {
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
  sweepTags: buildDeleteSql('call_tags'),
  sweepCalls: `${buildDeleteSql('calls')} RETURNING number`,
  sweepSeries: `DELETE FROM series WHERE dimension IN ('model', 'key', 'account', 'provider', 'tag') 
      AND unit = $1 AND start < $2`,
});

export const calls = {
  *sweepCalls({ before, limit, at }) {
    yield* askRows(sql.sweepSeries, units['5m'], at - shortestKept);
    yield* askRows(sql.sweepTags, before, limit);
    return (yield* askRows(sql.sweepCalls, before, limit)).length;
  },
  *listCalls(query) {
    const probe = buildProbeSql(query);
    const [probed] = probe ? yield* askRows({ text: probe.text }, ...probe.values) : [];
    const { text, values } = buildCallsSql(
      query,
      probed !== undefined && readCount(probed, 'found') <= fewCalls,
    );
    return (yield* askRows({ text }, ...values)).map(readCallRow);
  },
  *findCall(id) {
    const [row] = yield* askRows(sql.call, id);
    return row && readStoredCall(row);
  },
  *sumCalls(query) {
    const { text, values } = buildOverviewSql(query);
    return readOverviewRows(query, yield* askRows({ text }, ...values));
  },
  /** A log whose last rows were swept is not behind. */
  *countUnfolded() {
    const [row] = yield* askRows(sql.behind);
    return row ? Math.max(0, readCount(row, 'entries')) + Math.max(0, readCount(row, 'calls')) : 0;
  },
  *sumCreditsBefore(asked) {
    const [row] = yield* askRows(sql.credited, asked.account, asked.at);
    return row ? readInteger(row, 'credited') : 0n;
  },
} satisfies Partial<Operations>;
