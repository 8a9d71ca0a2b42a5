/** Stored calls and roll-ups, on one SQLite connection. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { tagText } from '../../../shared/calls/tag-text.ts';
import { figures, shortestKept, units } from '../calls/figures.ts';
import { overviewRowOf, overviewSql, type OverviewQuery, type OverviewRow } from '../calls/overview.ts';
import {
  callColumns,
  callRowOf,
  callSql,
  callsSql,
  fewCalls,
  probeSql,
  statementSql,
  storedCallOf,
  sweepSql,
  type CallQuery,
  type CallRow,
  type StoredCall,
} from '../calls/records.ts';
import { logs, type Log } from '../calls/rollup-sql.ts';
import { addingSql, rollupKey, seriesKey, sliceSql, SliceSums } from '../calls/slice-sums.ts';
import { count, integer, type Row } from '../rows.ts';
import type { FoldRequest, Folded, SweepRequest } from '../store.ts';

const insertion = `
  INSERT INTO calls (${callColumns.join(', ')}, body) VALUES (${callColumns.map(() => '?').join(', ')}, ?)
  ON CONFLICT (call) DO NOTHING RETURNING number`;

function adding(table: string, key: readonly string[]): string {
  return addingSql(table, key, `VALUES (${[...key, ...figures].map(() => '?').join(', ')})`);
}

const addRollup = adding('rollups', rollupKey);
const addSeries = adding('series', seriesKey);

const newest: Readonly<Record<Log, string>> = {
  entries: 'SELECT coalesce(max(number), 0) AS number FROM entries',
  calls: 'SELECT coalesce(max(number), 0) AS number FROM calls',
};

/** A call as the recorder wrote it: its columns, its tags and its record. */
type WrittenCall = Readonly<Record<(typeof callColumns)[number], string | number | null>> & {
  readonly tags: Readonly<Record<string, string>>;
  readonly body: unknown;
};

export class StoredCalls {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  readonly addCalls = ({ text }: { readonly text: string }): void => {
    const calls: readonly WrittenCall[] = JSON.parse(text);
    for (const { body, ...columns } of calls) {
      const tags = Object.entries(columns.tags);
      const values = callColumns.map((column) =>
        column === 'tags' ? JSON.stringify(columns.tags) : columns[column],
      );
      const [added] = this.#all(insertion, [...values, JSON.stringify(body)]);
      if (!added) continue;
      for (const [name, value] of tags)
        this.#all('INSERT INTO call_tags (tag, ended, number) VALUES (?, ?, ?)', [
          tagText(name, value),
          columns.ended,
          integer(added, 'number'),
        ]);
    }
  };

  readonly fold = ({ limit }: FoldRequest): Folded => {
    const ranges = logs.map((log) => {
      const last = this.#number('SELECT last AS number FROM folds WHERE log = ?', [log]);
      const end = this.#number(newest[log], []);
      return { log, last, to: Math.max(last, Math.min(last + limit, end)), end };
    });
    if (ranges.every(({ last, to }) => to === last)) return { isDone: true };
    const sums = new SliceSums();
    for (const { log, last, to } of ranges)
      for (const row of this.#all(sliceSql[log], [last, to]))
        if (log === 'entries') sums.addEntry(row);
        else sums.addCall(row);
    for (const values of sums.rollups()) this.#all(addRollup, values);
    for (const values of sums.series()) this.#all(addSeries, values);
    for (const { log, to } of ranges) this.#all('UPDATE folds SET last = ? WHERE log = ?', [to, log]);
    return { isDone: ranges.every(({ to, end }) => to >= end) };
  };

  readonly sweepCalls = ({ before, limit, at }: SweepRequest): number => {
    this.#all(sweepSql.steps, [units['5m'], at - shortestKept]);
    this.#all(sweepSql.tags, [before, limit]);
    return this.#all(sweepSql.calls, [before, limit]).length;
  };

  readonly listCalls = (query: CallQuery): readonly CallRow[] => {
    const probe = probeSql(query);
    const [probed] = probe ? this.#all(probe.text, probe.values) : [];
    const { text, values } = callsSql(query, probed !== undefined && count(probed, 'found') <= fewCalls);
    return this.#all(text, values).map(callRowOf);
  };

  readonly storedCall = (id: string): StoredCall | undefined => {
    const [row] = this.#all(callSql, [id]);
    return row && storedCallOf(row);
  };

  readonly overview = (query: OverviewQuery): readonly OverviewRow[] => {
    const { text, values } = overviewSql(query);
    return this.#all(text, values).map(overviewRowOf);
  };

  readonly behind = (): number => {
    return logs.reduce(
      (sum, log) =>
        sum +
        this.#number(newest[log], []) -
        this.#number('SELECT last AS number FROM folds WHERE log = ?', [log]),
      0,
    );
  };

  readonly creditedBefore = ({ account, at }: { readonly account: string; readonly at: number }): bigint => {
    const [row] = this.#all(statementSql.credited, [account, at]);
    return row ? integer(row, 'credited') : 0n;
  };

  #number(text: string, values: readonly SQLInputValue[]): number {
    const [row] = this.#all(text, values);
    return row ? count(row, 'number') : 0;
  }

  /** Runs a statement, whose parameters are written as $1, $2 or as question marks. */
  #all(text: string, values: readonly SQLInputValue[]): Row[] {
    let statement = this.#prepared.get(text);
    if (!statement) {
      statement = this.#database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'));
      if (this.#prepared.size < mostPrepared) this.#prepared.set(text, statement);
    }
    return statement.all(...values);
  }
}

/** Statements that are kept: filters combine to many texts. */
const mostPrepared = 200;
