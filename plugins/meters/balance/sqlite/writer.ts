/**
 * The ledger's own thread: the event loop never touches the disk. The writing operations of a group share one
 * transaction and are answered once it is committed. An operation that breaks a rule of the tables must not take
 * the others with it: the group is undone and each of its operations done again in a transaction of its own.
 */
import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { openDatabase, resultCode } from './database.ts';
import { Ledger } from './ledger.ts';
import type { Group, Handlers, Opened, Operation, OperationName, Outcome, Outcomes, WriterData } from './operations.ts';

const brokenConstraint = 19;

/** A broken constraint or a bad argument is the operation's own fault; anything else SQLite says concerns the database. */
function failed(thrown: unknown): Extract<Outcome, { error: Error }> {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = resultCode(error);
  return { error, unavailable: code !== undefined && code !== brokenConstraint };
}

function run<Name extends OperationName>(handlers: Handlers, { name, argument }: Operation<Name>): Outcome {
  return { value: handlers[name](argument) };
}

function read(ledger: Ledger, operation: Operation): Outcome {
  try {
    return run(ledger, operation);
  } catch (thrown) {
    return failed(thrown);
  }
}

function write(database: DatabaseSync, ledger: Ledger, operations: readonly Operation[]): Outcome[] {
  try {
    database.exec('BEGIN IMMEDIATE');
    const outcomes = operations.map((operation) => run(ledger, operation));
    database.exec('COMMIT');
    return outcomes;
  } catch (thrown) {
    if (database.isTransaction) database.exec('ROLLBACK');
    const outcome = failed(thrown);
    if (outcome.unavailable || operations.length === 1) return operations.map(() => outcome);
    return operations.flatMap((operation) => write(database, ledger, [operation]));
  }
}

function serve(port: MessagePort, { file, owner, busyTimeout }: WriterData): Opened {
  try {
    const database = openDatabase(file, busyTimeout);
    const ledger = new Ledger(database, owner);
    port.on('message', (group: Group | 'close') => {
      if (group === 'close') {
        database.close();
        port.close();
        return;
      }
      const { lane, operations } = group;
      const outcomes = lane === 'writes' ? write(database, ledger, operations) : operations.map((operation) => read(ledger, operation));
      port.postMessage({ lane, outcomes } satisfies Outcomes, []);
    });
    return { failure: undefined };
  } catch (thrown) {
    return { failure: failed(thrown).error };
  }
}

if (parentPort) parentPort.postMessage(serve(parentPort, workerData), []);
