/**
 * Reservations and their ends, for all such operations of a batch that follow one another. They are
 * decided in memory, in the order of their requests, and then written by a few statements. So however many
 * calls an account makes at a time, they wait for its lock in PostgreSQL once for each batch, and not once
 * for each call.
 */
import { CallLedger, type Reservation } from '../call-ledger.ts';
import type { FoundAccount, FoundKey, Held, PastCall, Pending } from '../call-rows.ts';
import { isOver, presumeProgress, type Ending } from '../decisions.ts';
import type { Claim, ClaimRecord, ReserveRequest, StoredOutcome } from '../store.ts';
import type { Budgets } from './call-budgets.ts';
import { settleClaim, takeClaim } from './claims.ts';
import { lockRows, type Concerned, type Found } from './locked-rows.ts';
import { ask, askRecords, nameStatements, selectRecords, sendAll, type Asked, type Steps } from './steps.ts';

const consumption = 'model, provider, price, input, output, usage, costs, attempts';
const entryColumns = `number, kind, account, at, credits, available, reserved, revenue, call, key,
  reservation, reason, basis, ${consumption}, flags, budgets, vendor`;
const pendingColumns = `call, number, account, key, root, amount, owner, claim, created, sent, delivered,
  owed, ${consumption}, budgets`;

const sql = nameStatements('calls', {
  addEntries: `INSERT INTO entries (${entryColumns}) ${selectRecords('entries', entryColumns)}`,
  addPending: `INSERT INTO pending (${pendingColumns}) ${selectRecords('pending', pendingColumns)}`,
  endPending: 'DELETE FROM pending WHERE call = ANY($1::text[])',
  changeAccounts: `
    UPDATE accounts SET used = accounts.used + change.used, pending = accounts.pending + change.pending
    FROM (${selectRecords('accounts', 'id, used, pending')}) change WHERE accounts.id = change.id`,
  changeKeys: `
    UPDATE keys SET used = keys.used + change.used, pending = keys.pending + change.pending,
      minute = coalesce(change.minute, keys.minute), calls = coalesce(change.calls, keys.calls)
    FROM (${selectRecords('keys', 'id, used, pending, minute, calls')}) change WHERE keys.id = change.id`,
});

/** A reservation that has ended, after another entry about it. */
function updatePast(past: PastCall | undefined, held: Held, ending: Omit<Ending, 'facts'>): PastCall {
  const { kind, flags, revenue } = ending;
  if (!past) return { ...held, kind, flags, posted: revenue, isAdjusted: false };
  if (kind === 'adjustment') return { ...past, isAdjusted: true };
  return { ...past, posted: past.posted + revenue };
}

export class CallBatch {
  readonly calls = new CallLedger(this);
  readonly budgets: Budgets;
  readonly #owner: string;
  readonly #found: Found;
  readonly #entries: object[] = [];
  /** Pending rows that are made in this batch, by their calls. */
  readonly #made = new Map<string, object>();
  readonly #ended: string[] = [];
  readonly #claims: Asked[] = [];

  constructor(owner: string, found: Found) {
    this.#owner = owner;
    this.#found = found;
    this.budgets = found.budgets;
  }

  findAccount(name: string): FoundAccount | undefined {
    return this.#found.accounts.get(name);
  }

  findKey(id: string): FoundKey | undefined {
    return this.#found.keys.get(id);
  }

  /** The call that holds a claim now. */
  findHolder(name: string, at: number): ClaimRecord | undefined {
    const claim = this.#found.claims.get(name);
    return claim && !isOver(claim, at) ? claim : undefined;
  }

  /** Returns a reservation that is pending, and removes it. */
  takePending(call: string): Pending | undefined {
    const pending = this.#found.pending.get(call);
    // A pending row that was made in this same batch was never written.
    if (this.#found.pending.delete(call) && !this.#made.delete(call)) this.#ended.push(call);
    return pending;
  }

  /** A reservation that has ended. */
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
    const pending = { ...held, amount, claim: claim?.name };
    this.#found.pending.set(call, pending);
    this.#made.set(call, { ...presumeProgress(call, taken), ...pending, owner: this.#owner, created: at });
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
    this.#claims.push(takeClaim(claim, call));
  }

  settleClaim(name: string, outcome: StoredOutcome | 'free' | undefined): void {
    const { claims } = this.#found;
    const claim = claims.get(name);
    if (outcome === 'free') claims.delete(name);
    else if (claim) claims.set(name, { ...claim, state: 'done', outcome });
    this.#claims.push(settleClaim(name, outcome));
  }

  /** Everything that was decided. */
  listWrites(): Asked[] {
    return [
      askRecords(sql.addEntries, this.#entries),
      askRecords(sql.addPending, [...this.#made.values()]),
      ask(sql.endPending, this.#ended),
      askRecords(sql.changeAccounts, [...this.calls.accounts.values()]),
      askRecords(sql.changeKeys, [...this.calls.roots.values()]),
      ...this.budgets.listWrites(),
      ...this.#claims,
    ];
  }

  #takeNumber(): bigint {
    const number = this.#found.numbers[this.#entries.length];
    if (number === undefined) throw new RangeError('more entries were made than were counted');
    return number;
  }
}

/** Decides on calls after their rows were locked and read, and writes what was decided. */
export function* decideCalls<Result>(
  owner: string,
  concerned: Concerned,
  decide: (batch: CallBatch) => Result,
): Steps<Result> {
  const batch = new CallBatch(owner, yield* lockRows(concerned));
  const result = decide(batch);
  yield* sendAll(batch.listWrites());
  return result;
}
