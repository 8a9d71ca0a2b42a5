/**
 * Serves one connection to the ledger. The writes of a group share one transaction, and their results are
 * sent after its commit. An operation that breaks a constraint must not make the others fail: the group is
 * rolled back, and each operation runs again in a transaction of its own.
 */
import { EventEmitter } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { readOwnVersion } from '../../../../core/for-threads.ts';
import { BackupHeartbeat } from '../backup-heartbeat.ts';
import {
  buildFailure,
  isWrite,
  type Opened,
  type Operation,
  type Outcome,
  type WorkerData,
} from '../operations.ts';
import { beatWhilePending } from '../sql/owners.ts';
import { isSharedOperation, runShared, runWrites, type Write } from '../sql/shared.ts';
import { openDatabase, getResultCode } from './database.ts';
import { Statements } from './statements.ts';
import type { Parcel, Side } from './thread.ts';

const brokenConstraint = 19;

/**
 * A broken constraint or a bad argument is the operation's own fault. Every other error of SQLite concerns
 * the database.
 */
function describeFailure(thrown: unknown): ReturnType<typeof buildFailure> {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = getResultCode(error);
  return buildFailure(error, code !== undefined && code !== brokenConstraint);
}

/** Runs the operations of a group together, or each in a transaction of its own if one of them fails. */
function runGroup<Each>(
  statements: Statements,
  group: readonly Each[],
  run: (group: readonly Each[]) => unknown[],
): Outcome[] {
  try {
    return statements.runTransaction(() => run(group)).map((value) => ({ value }));
  } catch (thrown) {
    const outcome = describeFailure(thrown);
    if (outcome.unavailable || group.length === 1) return group.map(() => outcome);
    return group.flatMap((each) => runGroup(statements, [each], run));
  }
}

function runRead<Each>(operation: Each, run: (operation: Each) => unknown): Outcome {
  try {
    return { value: run(operation) };
  } catch (thrown) {
    return describeFailure(thrown);
  }
}

/** Returns a function that runs a group of one queue. */
async function createRunner(
  database: DatabaseSync,
  statements: Statements,
  { owner, audits, audited }: WorkerData,
): Promise<(parcel: Parcel<Operation>) => Outcome[]> {
  // What SQLite does in its own way are reports, which only this thread is asked for.
  const own = audits ? (await import('./auditing.ts')).createAudit(database, audited) : undefined;
  const runOne = (operation: Exclude<Operation, Write>): unknown =>
    isSharedOperation(operation) ? statements.run(runShared(operation, owner)) : own?.[operation.name]();
  return ({ queue, group }) => {
    if (queue === 'writes')
      return runGroup(statements, group.filter(isWrite), (writes) =>
        statements.run(runWrites(owner, writes)),
      );
    const others = group.filter((operation) => !isWrite(operation));
    return queue === 'upkeep'
      ? runGroup(statements, others, (upkeep) => upkeep.map(runOne))
      : others.map((operation) => runRead(operation, runOne));
  };
}

/** Serves the port's messages until `close` arrives. */
export async function serve(port: MessagePort, data: WorkerData): Promise<Opened> {
  try {
    const { version, file, owner, busyTimeout, lease } = data;
    // A thread of another version does not share the messages of this gateway, and would write wrong entries.
    if (version !== readOwnVersion())
      throw new Error('an update replaced the files of the gateway: restart it');
    const database = openDatabase(file, busyTimeout);
    const statements = new Statements(database);
    const run = await createRunner(database, statements, data);
    const heartbeat =
      lease === undefined
        ? undefined
        : new BackupHeartbeat(lease, () => statements.run(beatWhilePending(owner, lease)));
    port.on('message', (parcel: Parcel<Operation> | 'close') => {
      if (parcel === 'close') {
        heartbeat?.stop();
        database.close();
        port.close();
        return;
      }
      for (const { name } of parcel.group) {
        if (name === 'reserve') heartbeat?.begin();
        else if (name === 'beat') heartbeat?.noteBeat();
      }
      port.postMessage({ queue: parcel.queue, group: run(parcel) } satisfies Parcel<Outcome>, []);
    });
    return { failure: undefined };
  } catch (thrown) {
    return { failure: describeFailure(thrown).error };
  }
}

/**
 * Serves the ledger on the event loop, behind the same messages as a thread. A command has nothing else to do
 * meanwhile, and a thread takes 0.1 s to load.
 */
export function serveHere(data: WorkerData): Side {
  const side = new EventEmitter();
  const { port1, port2 } = new MessageChannel();
  port1.on('message', (message) => side.emit('message', message));
  // Not `close` of the other port, which may come before the last message.
  port1.on('close', () => side.emit('exit', 0));
  void serve(port2, data).then((opened) => {
    port2.postMessage(opened, []);
    if (opened.failure) port2.close();
  });
  return Object.assign(side, { postMessage: (message: unknown) => port1.postMessage(message, []) });
}
