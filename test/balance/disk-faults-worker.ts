/**
 * The ledger's thread, on a disk that `disk-faults.ts` controls: SQLite itself refuses writes, and commits
 * are late.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

const state = new Int32Array(workerData.faults);
const { prepare } = DatabaseSync.prototype;

/** For statements without values. */
function wrapStatement(statement: StatementSync, look: () => void): StatementSync {
  const run = statement.run.bind(statement);
  statement.run = () => {
    look();
    return run();
  };
  return statement;
}

DatabaseSync.prototype.prepare = function prepareInWeather(this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql);
  if (sql === 'BEGIN IMMEDIATE')
    return wrapStatement(statement, () => this.exec(`PRAGMA query_only = ${Atomics.load(state, 0)}`));
  // Nothing wakes it: it waits for the whole timeout.
  if (sql === 'COMMIT')
    return wrapStatement(
      statement,
      () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Atomics.load(state, 1)),
    );
  return statement;
};

await import('../../plugins/meters/balance/sqlite/worker.ts');
