/**
 * A thread of the ledger's: the event loop never touches the disk. The writing operations of a group share one
 * transaction and are answered once it is committed. An operation that breaks a rule of the tables must not take
 * the others with it: the group is undone and each of its operations done again in a transaction of its own.
 */
import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import type { Handlers, Opened, Operation, OperationName, WorkerData } from '../operations.ts';
import { openDatabase, resultCode } from './database.ts';
import { handlersOn, type Connection } from './handlers.ts';
import { packOutcomes, unpackGroup, type Finished, type Parcel } from './packing.ts';

// Each thread writes its own part of a report of the process: the environment holds the vendors' keys.
process.report.excludeEnv = true;

const brokenConstraint = 19;

/** A broken constraint or a bad argument is the operation's own fault; anything else SQLite says concerns the database. */
function failed(thrown: unknown): Extract<Finished, { error: Error }> {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = resultCode(error);
  return { error, unavailable: code !== undefined && code !== brokenConstraint };
}

function run<Name extends OperationName>(handlers: Handlers, { name, argument }: Operation<Name>): unknown {
  return handlers[name](argument);
}

function done(handlers: Handlers, operation: Operation): Finished {
  if (operation.name === 'reserve') {
    const value = handlers.reserve(operation.argument);
    return { value, answered: { name: 'reserve', value } };
  }
  if (operation.name === 'settle') {
    const value = handlers.settle(operation.argument);
    return { value, answered: { name: 'settle', value } };
  }
  return { value: run(handlers, operation) };
}

function read({ handlers }: Connection, operation: Operation): Finished {
  try {
    return done(handlers, operation);
  } catch (thrown) {
    return failed(thrown);
  }
}

/** Answers a function that writes a group. */
function writerOn(database: DatabaseSync, { handlers, purses }: Connection): (operations: readonly Operation[]) => Finished[] {
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')];
  const write = (operations: readonly Operation[]): Finished[] => {
    try {
      begin.run();
      const outcomes = operations.map((operation) => done(handlers, operation));
      purses.write();
      commit.run();
      return outcomes;
    } catch (thrown) {
      purses.forget();
      if (database.isTransaction) database.exec('ROLLBACK');
      const outcome = failed(thrown);
      if (outcome.unavailable || operations.length === 1) return operations.map(() => outcome);
      return operations.flatMap((operation) => write([operation]));
    }
  };
  return write;
}

async function serve(port: MessagePort, { file, owner, busyTimeout, audits }: WorkerData): Promise<Opened> {
  try {
    const database = openDatabase(file, busyTimeout);
    // It brings the prices' schemas with it, which the thread that writes has no use and should have no memory for.
    const { auditor } = audits ? await import('./auditing.ts') : {};
    const connection = handlersOn(database, owner, auditor);
    const write = writerOn(database, connection);
    port.on('message', (parcel: Parcel<Operation> | 'close') => {
      if (parcel === 'close') {
        database.close();
        port.close();
        return;
      }
      const operations = unpackGroup(parcel);
      const outcomes = parcel.lane === 'writes' ? write(operations) : operations.map((operation) => read(connection, operation));
      port.postMessage(packOutcomes(parcel.lane, outcomes), []);
    });
    return { failure: undefined };
  } catch (thrown) {
    return { failure: failed(thrown).error };
  }
}

if (parentPort) parentPort.postMessage(await serve(parentPort, workerData), []);
