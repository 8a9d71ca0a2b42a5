/**
 * The store's operations on one SQLite connection: those that both databases share, and SQLite's own. Its own
 * are properties and not methods, so that a spread copies them.
 */
import type { DatabaseSync } from 'node:sqlite';
import { getQueue, type Handlers } from '../operations.ts';
import { shared, sharedNames, type SharedName } from '../sql/shared.ts';
import type { Steps } from '../sql/steps.ts';
import { CallTransaction } from './call-transaction.ts';
import { StoredCalls } from './calls.ts';
import type { Exports } from './exports.ts';
import { createLedgerHandlers } from './ledger.ts';
import { Statements } from './statements.ts';

/** What only the thread for reports loads. */
export interface ReadingParts {
  readonly auditing: Pick<Handlers, 'auditPart' | 'getAuditState'>;
  readonly exports: Exports;
}

function refuseReport(): never {
  throw new Error('this thread reads no reports');
}

export interface Connection {
  readonly handlers: Handlers;
  /** What the calls of one transaction share: written before its end, forgotten if it is rolled back. */
  readonly calls: CallTransaction;
}

/**
 * The shared operations as handlers. Before one that writes, the sums in memory are written: it reads and
 * changes the same rows.
 */
function createSharedHandlers(statements: Statements, calls: CallTransaction): Pick<Handlers, SharedName> {
  const createHandler = (name: SharedName): ((argument: never) => unknown) => {
    const operation: (argument: never) => Steps<unknown> = shared[name];
    const writes = getQueue(name) === 'writes';
    return (argument) => {
      if (writes) calls.writeChanges();
      return statements.run(operation(argument));
    };
  };
  return Object.fromEntries(sharedNames.map((name) => [name, createHandler(name)])) as Pick<
    Handlers,
    SharedName
  >;
}

/** Only one of the threads has the parts for reports. */
export function createConnection(
  database: DatabaseSync,
  owner: string,
  parts: ReadingParts | undefined,
): Connection {
  const statements = new Statements(database);
  const calls = new CallTransaction(database, statements, owner);
  const handlers: Handlers = {
    ...createSharedHandlers(statements, calls),
    ...createLedgerHandlers(calls),
    ...new StoredCalls(statements),
    ...(parts?.exports ?? { exportEntries: refuseReport, findLastEntry: refuseReport }),
    ...(parts?.auditing ?? { auditPart: refuseReport, getAuditState: refuseReport }),
  };
  return { handlers, calls };
}
