/**
 * The store's operations on one SQLite connection, collected from their parts. The parts define operations as
 * properties and not as methods, so that a spread copies them.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Handlers } from '../operations.ts';
import { Accounts } from './accounts.ts';
import { Actions } from './actions.ts';
import { BudgetOperations } from './budget-operations.ts';
import { StoredCalls } from './calls.ts';
import { Claims } from './claims.ts';
import { DocumentTable } from './documents.ts';
import { Ledger } from './ledger.ts';
import { Reports } from './reports.ts';
import { TransactionBalances } from './transaction-balances.ts';

type Auditor = (database: DatabaseSync, accounts: Accounts) => Handlers['auditPart'];

function notHere(): never {
  throw new Error('this thread does not audit');
}

export interface Connection {
  readonly handlers: Handlers;
  /**
   * Sums that the operations of one transaction share: written before its end, forgotten where it is undone.
   */
  readonly balances: TransactionBalances;
}

/** `auditor` makes the function that audits; only one of the threads has it. */
export function handlersOn(database: DatabaseSync, owner: string, auditor: Auditor | undefined): Connection {
  const balances = new TransactionBalances(database);
  const claims = new Claims(database);
  const ledger = new Ledger(database, balances, claims, owner);
  const accounts = new Accounts(database);
  const reports = new Reports(database);
  const addPrice = database.prepare(
    'INSERT INTO prices (version, rates, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const handlers: Handlers = {
    ...ledger,
    ...claims,
    ...accounts,
    ...new BudgetOperations(database, balances),
    ...reports,
    ...new DocumentTable(database),
    ...new StoredCalls(database),
    ...new Actions(database),
    definePrice: ({ version, rates, at }) => void addPrice.run(version, rates, at),
    auditPart: auditor?.(database, accounts) ?? notHere,
  };
  return { handlers, balances };
}
