/** Stores calls, reads them and the roll-ups, and deletes those that are too old. */
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { dimensions, shortestKept, units } from '../calls/figures.ts';
import { sumSeries } from '../calls/overview.ts';
import {
  buildCallsSql,
  buildProbeSql,
  callColumns,
  fewCalls,
  readCallRow,
  readStoredCall,
  usageColumn,
} from '../calls/records.ts';
import { addNoted } from '../calls/sums.ts';
import { readCount, readInteger, type Row } from '../rows.ts';
import { askRecords, askRows, nameStatements, selectRecords, sendAll, type Operations } from './steps.ts';

/** Deletes the rows of calls that ended before $1, up to $2 of them, but none that is not summed up yet. */
function buildDeleteSql(table: string): string {
  return `DELETE FROM ${table} WHERE number IN (
    SELECT number FROM calls WHERE ended < $1
      AND NOT EXISTS (SELECT 1 FROM unsummed WHERE log = 'calls' AND unsummed.number = calls.number)
    ORDER BY ended, number LIMIT $2)`;
}

const stored = [...callColumns, 'body'];

const sql = nameStatements('stored calls', {
  add: `INSERT INTO calls (${stored.join(', ')}) ${selectRecords('calls', stored.join(', '))}
    ON CONFLICT (call) DO NOTHING`,
  // In a record of a tag, `tags` is that tag.
  addTags: `
    INSERT INTO call_tags (tag, ended, number) SELECT more.tags, calls.ended, calls.number
    FROM calls, (${selectRecords('calls', 'call, tags')}) more WHERE calls.call = more.call
    ON CONFLICT DO NOTHING`,
  call: `SELECT calls.*, ${usageColumn} FROM calls WHERE call = $1`,
  credited: `
    SELECT CAST(coalesce(sum(-credits), 0) AS bigint) AS credited FROM entries
    JOIN accounts ON accounts.id = entries.account
    WHERE credits <> 0 AND accounts.name = $1 AND entries.at < $2`,
  unsummed: 'SELECT count(*) AS number FROM unsummed',
  sweepTags: buildDeleteSql('call_tags'),
  sweepCalls: `${buildDeleteSql('calls')} RETURNING number`,
  // Every dimension is named, so that an index finds the rows.
  sweepSums: `DELETE FROM series_sums
    WHERE dimension IN (${dimensions.map((name) => `'${name}'`).join(', ')}) AND step = $1 AND start < $2`,
});

/** What a record has of its call; its other fields have the names of their columns. */
interface Columns {
  readonly call: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly [column: string]: unknown;
}

export const calls = {
  *addCalls({ calls: texts }) {
    const rows: Row[] = [];
    const tags: Row[] = [];
    for (const body of texts) {
      const call: Columns = JSON.parse(body);
      const columns = Object.fromEntries(callColumns.map((column) => [column, call[column]]));
      rows.push({ ...columns, tags: JSON.stringify(call.tags), body });
      for (const [name, value] of Object.entries(call.tags))
        tags.push({ call: call.call, tags: formatTag(name, value) });
    }
    yield* sendAll([askRecords(sql.add, rows), askRecords(sql.addTags, tags)]);
    return { isDone: yield* addNoted() };
  },
  *sweepCalls({ before, limit, at }) {
    yield* askRows(sql.sweepSums, units['5m'], at - shortestKept);
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
  sumCalls: sumSeries,
  *countUnsummed() {
    const [row] = yield* askRows(sql.unsummed);
    return row ? readCount(row, 'number') : 0;
  },
  *sumCreditsBefore(asked) {
    const [row] = yield* askRows(sql.credited, asked.account, asked.at);
    return row ? readInteger(row, 'credited') : 0n;
  },
} satisfies Partial<Operations>;
