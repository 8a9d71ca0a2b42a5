/**
 * Reservations and their ends, for all such operations of a batch that follow one another. They are
 * decided in memory, in the order of their requests, and then written by a few statements. So however many
 * calls an account makes at a time, they wait for its lock once for each batch, and not once for each
 * call.
 */
import { CallLedger, type CallTables, type Reservation } from '../call-ledger.ts';
import type { FoundAccount, FoundKey, Held, PastCall, Pending } from '../call-rows.ts';
import { isOver, presumeProgress, type Ending } from '../decisions.ts';
import { settleClaim, takeClaim } from '../sql/claims.ts';
import { nameStatements } from '../sql/steps.ts';
import type { Claim, ClaimRecord, Progress, ReserveRequest, StoredOutcome } from '../store.ts';
import type { Budgets } from './budgets.ts';
import { runSteps, type Query } from './connection.ts';
import { lockRows, type Concerned, type Found } from './locked-rows.ts';
import { encodeRecords } from './values.ts';

const consumption = 'model, provider, price, input, output, usage, costs, attempts';
const entryColumns = `number, kind, account, at, credits, available, reserved, revenue, call, key,
  reservation, reason, basis, ${consumption}, flags, budgets, vendor`;
const pendingColumns = `call, number, account, key, root, amount, owner, claim, created, sent, delivered,
  owed, ${consumption}, budgets`;

const sql = nameStatements('calls', {
  addEntries: `
    INSERT INTO entries (${entryColumns}) SELECT ${entryColumns}
    FROM json_populate_recordset(NULL::entries, $1)`,
  addPending: `
    INSERT INTO pending (${pendingColumns}) SELECT ${pendingColumns}
    FROM json_populate_recordset(NULL::pending, $1)`,
  endPending: 'DELETE FROM pending WHERE call = ANY($1::text[])',
  changeAccounts: `
    UPDATE accounts SET used = accounts.used + change.used, pending = accounts.pending + change.pending
    FROM json_populate_recordset(NULL::accounts, $1) change WHERE accounts.id = change.id`,
  changeKeys: `
    UPDATE keys SET used = keys.used + change.used, pending = keys.pending + change.pending,
      minute = coalesce(change.minute, keys.minute), calls = coalesce(change.calls, keys.calls)
    FROM json_populate_recordset(NULL::keys, $1) change WHERE keys.id = change.id`,
});

/** A reservation that has ended, after another entry about it. */
function updatePast(past: PastCall | undefined, held: Held, ending: Omit<Ending, 'facts'>): PastCall {
  const { kind, flags, revenue } = ending;
  if (!past) return { held, kind, flags, posted: revenue, isAdjusted: false };
  if (kind === 'adjustment') return { ...past, isAdjusted: true };
  return { ...past, posted: past.posted + revenue };
}

export class CallBatch implements CallTables {
  readonly calls = new CallLedger(this);
  readonly budgets: Budgets;
  readonly #query: Query;
  readonly #owner: string;
  readonly #found: Found;
  readonly #entries: object[] = [];
  /** Pending rows that are made in this batch, by their calls. */
  readonly #made = new Map<string, object>();
  readonly #ended: string[] = [];
  readonly #claimWrites: (() => Promise<unknown>)[] = [];

  private constructor(query: Query, owner: string, found: Found) {
    this.#query = query;
    this.#owner = owner;
    this.#found = found;
    this.budgets = found.budgets;
  }

  static async readBatch(query: Query, owner: string, concerned: Concerned): Promise<CallBatch> {
    return new CallBatch(query, owner, await lockRows(query, concerned));
  }

  findAccount(name: string): FoundAccount | undefined {
    return this.#found.accounts.get(name);
  }

  findKey(id: string): FoundKey | undefined {
    return this.#found.keys.get(id);
  }

  findHolder(name: string, at: number): ClaimRecord | undefined {
    const claim = this.#found.claims.get(name);
    return claim && !isOver(claim, at) ? claim : undefined;
  }

  /** How far a pending call has come; undefined if it is no longer pending. */
  getProgress(call: string): Progress | undefined {
    return this.#found.pending.get(call)?.progress;
  }

  takePending(call: string): Pending | undefined {
    const pending = this.#found.pending.get(call);
    // A pending row that was made in this same batch was never written.
    if (this.#found.pending.delete(call) && !this.#made.delete(call)) this.#ended.push(call);
    return pending;
  }

  findPast(call: string): PastCall | undefined {
    return this.#found.past.get(call);
  }

  addReservation(request: ReserveRequest, { amount, taken, ...of }: Reservation): void {
    const { id: call, key, claim, at } = request;
    const { model, provider, price } = taken;
    const held: Held = { ...of, call, key, number: this.#takeNumber() };
    const legs = { credits: 0, available: -amount, reserved: amount, revenue: 0 };
    const figures = { model, provider, price, input: 0, output: 0, attempts: 0 };
    this.#entries.push({ ...legs, ...figures, ...held, kind: 'reserve', at, flags: '' });
    const progress = presumeProgress(call, taken);
    const pending = { ...held, amount, claim: claim?.name };
    this.#found.pending.set(call, { ...pending, progress });
    this.#made.set(call, { ...progress, ...pending, owner: this.#owner, created: at });
  }

  addEnd(held: Held, { facts, ...legs }: Ending): void {
    const { call, account, key, number: reservation, budgets } = held;
    const entry = { number: this.#takeNumber(), account, call, key, reservation, budgets, credits: 0 };
    const { at, reason, basis, model, provider, price, input, output, usage, costs, attempts, vendor } =
      facts;
    const figures = { model, provider, price, input, output, usage, costs, attempts, vendor };
    this.#entries.push({ ...entry, ...legs, ...figures, at, reason, basis });
    this.#found.past.set(call, updatePast(this.findPast(call), held, legs));
  }

  takeClaim(claim: Claim, call: string): void {
    this.#found.claims.set(claim.name, { ...claim, call, state: 'running', outcome: undefined });
    this.#claimWrites.push(() => runSteps(this.#query, takeClaim(claim, call)));
  }

  settleClaim(name: string, outcome: StoredOutcome | 'free' | undefined): void {
    const { claims } = this.#found;
    const claim = claims.get(name);
    if (outcome === 'free') claims.delete(name);
    else if (claim) claims.set(name, { ...claim, state: 'done', outcome });
    this.#claimWrites.push(() => runSteps(this.#query, settleClaim(name, outcome)));
  }

  /** Sends everything that was decided. The caller may wait for all results at the end. */
  sendWrites(): Promise<unknown>[] {
    const made = [...this.#made.values()];
    const accounts = [...this.calls.accounts.values()];
    const roots = [...this.calls.roots.values()];
    return [
      this.#entries.length > 0 && this.#query(sql.addEntries, [encodeRecords(this.#entries)]),
      made.length > 0 && this.#query(sql.addPending, [encodeRecords(made)]),
      this.#ended.length > 0 && this.#query(sql.endPending, [this.#ended]),
      accounts.length > 0 && this.#query(sql.changeAccounts, [encodeRecords(accounts)]),
      roots.length > 0 && this.#query(sql.changeKeys, [encodeRecords(roots)]),
      ...this.budgets.sendChanges(this.#query),
      ...this.#claimWrites.map((write) => write()),
    ].filter((sent) => sent !== false);
  }

  #takeNumber(): bigint {
    const number = this.#found.numbers[this.#entries.length];
    if (number === undefined) throw new RangeError('more entries were made than were counted');
    return number;
  }
}
