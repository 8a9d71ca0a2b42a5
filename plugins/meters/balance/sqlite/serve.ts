/**
 * Serves one connection to the ledger. The writes of a group share one transaction, and their results are
 * sent after its commit. An operation that breaks a constraint must not make the others fail: the group is
 * rolled back, and each operation runs again in a transaction of its own.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { MessagePort } from 'node:worker_threads';
import { BackupHeartbeat } from '../backup-heartbeat.ts';
import { isChange } from '../corrections.ts';
import type { Handlers, Opened, Operation, OperationName, Outcome, WorkerData } from '../operations.ts';
import { openDatabase, getResultCode } from './database.ts';
import { createConnection, type Connection, type ReadingParts } from './handlers.ts';
import type { Parcel } from './thread.ts';

const brokenConstraint = 19;

/**
 * A broken constraint or a bad argument is the operation's own fault. Every other error of SQLite concerns
 * the database.
 */
function describeFailure(thrown: unknown): Extract<Outcome, { error: Error }> {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = getResultCode(error);
  return { error, unavailable: code !== undefined && code !== brokenConstraint };
}

function callHandler<Name extends OperationName>(
  handlers: Handlers,
  { name, argument }: Operation<Name>,
): unknown {
  return handlers[name](argument);
}

function runOperation(handlers: Handlers, operation: Operation): Outcome {
  const value = callHandler(handlers, operation);
  if (operation.action && isChange(value)) handlers.recordAction(operation.action);
  return { value };
}

function runRead({ handlers }: Connection, operation: Operation): Outcome {
  try {
    return runOperation(handlers, operation);
  } catch (thrown) {
    return describeFailure(thrown);
  }
}

/** Returns a function that writes a group. */
function createWriter(
  database: DatabaseSync,
  { handlers, calls }: Connection,
): (operations: readonly Operation[]) => Outcome[] {
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')];
  const write = (operations: readonly Operation[]): Outcome[] => {
    try {
      begin.run();
      const outcomes = operations.map((operation) => runOperation(handlers, operation));
      calls.writeChanges();
      commit.run();
      return outcomes;
    } catch (thrown) {
      calls.forget();
      if (database.isTransaction) database.exec('ROLLBACK');
      const outcome = describeFailure(thrown);
      if (outcome.unavailable || operations.length === 1) return operations.map(() => outcome);
      return operations.flatMap((operation) => write([operation]));
    }
  };
  return write;
}

/** Returns a function that beats if this store has anything reserved, and returns false otherwise. */
function createBeat(
  database: DatabaseSync,
  { handlers }: Connection,
  { owner, lease }: { readonly owner: string; readonly lease: number },
): () => boolean {
  const pending = database.prepare('SELECT 1 FROM pending WHERE owner = ? LIMIT 1');
  return () => {
    if (!pending.get(owner)) return false;
    handlers.beat({ lease, progress: [] });
    return true;
  };
}

/** Loaded only by the thread for reports: they load the prices' schemas, which take memory. */
async function loadReadingParts(
  database: DatabaseSync,
  audited: Uint8Array | undefined,
): Promise<ReadingParts> {
  const { createAudit } = await import('./auditing.ts');
  const { Exports } = await import('./exports.ts');
  return { auditing: createAudit(database, audited), exports: new Exports(database) };
}

/** Serves the port's messages until `close` arrives. */
export async function serve(
  port: MessagePort,
  { file, owner, busyTimeout, audits, audited, lease }: WorkerData,
): Promise<Opened> {
  try {
    const database = openDatabase(file, busyTimeout);
    const parts = audits ? await loadReadingParts(database, audited) : undefined;
    const connection = createConnection(database, owner, parts);
    const heartbeat =
      lease === undefined
        ? undefined
        : new BackupHeartbeat(lease, createBeat(database, connection, { owner, lease }));
    const write = createWriter(database, connection);
    port.on('message', (parcel: Parcel<Operation> | 'close') => {
      if (parcel === 'close') {
        heartbeat?.stop();
        database.close();
        port.close();
        return;
      }
      const { queue, group } = parcel;
      for (const { name } of group) {
        if (name === 'reserve') heartbeat?.begin();
        else if (name === 'beat') heartbeat?.noteBeat();
      }
      const outcomes =
        queue === 'writes' || queue === 'upkeep'
          ? write(group)
          : group.map((operation) => runRead(connection, operation));
      port.postMessage({ queue, group: outcomes } satisfies Parcel<Outcome>, []);
    });
    return { failure: undefined };
  } catch (thrown) {
    return { failure: describeFailure(thrown).error };
  }
}
