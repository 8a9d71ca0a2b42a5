/**
 * The tables of calls while one SQLite transaction is written. Each account and key is read once, changed in
 * memory by all operations that share the transaction, and written once at its end.
 */
import type { DatabaseSync } from 'node:sqlite';
import { CallLedger, type CallTables, type Reservation } from '../call-ledger.ts';
import {
  readFoundAccount,
  readFoundKey,
  readPending,
  readPast,
  type FoundAccount,
  type FoundKey,
  type Held,
  type PastCall,
  type Pending,
} from '../call-rows.ts';
import type { Ending } from '../decisions.ts';
import { findClaim, settleClaim, takeClaim } from '../sql/claims.ts';
import type { Claim, ClaimRecord, Consumption, ReserveRequest, StoredOutcome } from '../store.ts';
import { Budgets } from './budgets.ts';
import { prepareLedger, type LedgerStatements } from './ledger-statements.ts';
import type { Statements } from './statements.ts';

/** The columns that hold a call's consumption, in the order of the statements. */
export function listConsumption(consumption: Consumption): (string | number | null)[] {
  const { model = null, provider = null, price = null, input, output, usage, costs, attempts } = consumption;
  return [model, provider, price, input, output, usage, costs, attempts];
}

export class CallTransaction implements CallTables {
  readonly calls = new CallLedger(this);
  readonly budgets: Budgets;
  readonly sql: LedgerStatements;
  readonly owner: string;
  readonly #statements: Statements;
  readonly #accounts = new Map<string, FoundAccount>();
  readonly #keys = new Map<string, FoundKey | undefined>();

  constructor(database: DatabaseSync, statements: Statements, owner: string) {
    this.sql = prepareLedger(database);
    this.budgets = new Budgets(database);
    this.owner = owner;
    this.#statements = statements;
  }

  findAccount(name: string): FoundAccount | undefined {
    const known = this.#accounts.get(name);
    if (known) return known;
    const row = this.sql.account.get(name);
    const found = row && readFoundAccount(row);
    if (found) this.#accounts.set(name, found);
    return found;
  }

  findKey(id: string): FoundKey | undefined {
    if (this.#keys.has(id)) return this.#keys.get(id);
    const row = this.sql.key.get(id);
    const found = row && readFoundKey(row);
    this.#keys.set(id, found);
    return found;
  }

  findHolder(name: string, at: number): ClaimRecord | undefined {
    return this.#statements.run(findClaim({ name, at }));
  }

  takePending(call: string): Pending | undefined {
    const row = this.sql.takePending.get(call);
    return row && readPending(row);
  }

  findPast(call: string): PastCall | undefined {
    const row = this.sql.ended.get(call);
    return row && readPast(row);
  }

  addReservation({ id, key, claim, at }: ReserveRequest, reservation: Reservation): void {
    const { account, root = null, amount, taken, budgets = null } = reservation;
    const { model, provider, price, owed, input } = taken;
    const entry = [account, at, -amount, amount, id, key, model, provider, price, budgets];
    const { lastInsertRowid: number } = this.sql.addReserve.run(...entry);
    const held = [id, number, account, key, root, amount, this.owner, claim?.name ?? null];
    this.sql.addPending.run(...held, at, owed, input, budgets);
  }

  addEnd({ number, account, key, budgets }: Held, ending: Ending): void {
    const { kind, available, reserved, revenue, facts, flags } = ending;
    const { at, reason, basis, vendor = null } = facts;
    const entry = [kind, account, at, available, reserved, revenue, key ?? null, number, reason, basis];
    this.sql.addEnd.run(...entry, ...listConsumption(facts), flags, budgets ?? null, vendor);
  }

  takeClaim(claim: Claim, call: string): void {
    this.#statements.run(takeClaim(claim, call));
  }

  settleClaim(name: string, outcome: StoredOutcome | 'free' | undefined): void {
    this.#statements.run(settleClaim(name, outcome));
  }

  /** Writes the changes, before the transaction is committed or changes what was read. */
  writeChanges(): void {
    this.budgets.writeChanges();
    for (const { id, used, pending } of this.calls.accounts.values())
      this.sql.changeAccount.run(used, pending, id);
    for (const { id, used, pending, minute = null, calls = null } of this.calls.roots.values())
      this.sql.changeKey.run(used, pending, minute, calls, id);
    this.forget();
  }

  /** Forgets what was read, which may be out of date after a commit or a rollback. */
  forget(): void {
    this.budgets.forget();
    this.calls.forget();
    this.#accounts.clear();
    this.#keys.clear();
  }
}
