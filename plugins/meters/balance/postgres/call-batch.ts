/**
 * Reservations and their ends, for all such operations of a batch that follow one another. They are decided
 * in memory, in the order in which they were asked, and then written by a few statements. So however many
 * calls an account makes at a time, they wait for its lock once for each batch, and not once for each call.
 */
import type { Nano } from '../../../../core/index.ts';
import {
  end,
  endLate,
  expire,
  isOver,
  limited,
  minuteOf,
  presumed,
  recover,
  take,
  wasSent,
  type Ended,
  type Ending,
  type Minute,
} from '../decisions.ts';
import { settleClaim, takeClaim } from '../sql/claims.ts';
import { statements } from '../sql/steps.ts';
import type {
  ClaimRecord,
  RecoveredCall,
  Reserved,
  ReserveRequest,
  Settled,
  Settlement,
  StoredOutcome,
} from '../store.ts';
import { run, type Query } from './connection.ts';
import { find, type Concerned, type Found, type Held, type Key, type Pending } from './locked-rows.ts';
import { recordset } from './values.ts';

const consumption = 'model, provider, price, input, output, usage, costs, attempts';
const entryColumns = `number, kind, account, at, credits, available, reserved, revenue, call, key,
  reservation, reason, basis, ${consumption}, flags, budgets, vendor`;
const pendingColumns = `call, number, account, key, root, amount, owner, claim, created, sent, delivered,
  owed, ${consumption}, budgets`;

const sql = statements('calls', {
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

/** Sums to add to an account or a key. */
interface Change<Id> {
  readonly id: Id;
  used: Nano;
  pending: Nano;
  /** For a root whose calls were counted: when the minute began, and how many calls it has. */
  minute?: number;
  calls?: number;
}

function changeOf<Id>(changes: Map<Id, Change<Id>>, id: Id): Change<Id> {
  const known = changes.get(id);
  if (known) return known;
  const change: Change<Id> = { id, used: 0n, pending: 0n };
  changes.set(id, change);
  return change;
}

export class CallBatch {
  readonly #query: Query;
  readonly #owner: string;
  readonly #found: Found;
  readonly #entries: object[] = [];
  readonly #made = new Map<string, object>();
  readonly #ended: string[] = [];
  readonly #accounts = new Map<bigint, Change<bigint>>();
  readonly #keys = new Map<string, Change<string>>();
  readonly #claims = new Map<string, ClaimRecord | undefined>();
  readonly #claimWrites: (() => Promise<unknown>)[] = [];

  private constructor(query: Query, owner: string, found: Found) {
    this.#query = query;
    this.#owner = owner;
    this.#found = found;
  }

  static async find(query: Query, owner: string, concerned: Concerned): Promise<CallBatch> {
    return new CallBatch(query, owner, await find(query, concerned));
  }

  reserve({ id, account: name, key, quotes, claim, tags = [], at }: ReserveRequest): Reserved {
    const account = this.#found.accounts.get(name);
    if (!account) return { status: 'short', by: 'balance', available: 0n };
    const paying = this.#found.keys.get(key);
    const tooMany = paying && limited(paying.rate, this.#minuteOf(paying), at);
    if (tooMany) return tooMany;
    const { budgets } = this.#found;
    const lines = budgets.linesOf({ account: name, line: account.line, root: paying?.root, tags }, at);
    const found = take(quotes, account.available - this.#heldOf(this.#accounts.get(account.id)), {
      leftOfCap: this.#leftOf(paying),
      budget: budgets.sheet.tightest(lines, at),
    });
    const holder = claim && this.#claim(claim.name);
    if (holder && !isOver(holder, at)) return { status: 'claimed', claim: holder };
    if (found.status === 'short') {
      if (found.by === 'budget') budgets.sheet.refuse(lines, found.budget, at);
      return found;
    }
    const { quote, taken, amount } = found;
    const { model, provider, price } = taken;
    const shares = budgets.sheet.hold(lines, amount, at);
    const held: Held = {
      number: this.#number(),
      account: account.id,
      key,
      root: paying?.root,
      budgets: shares,
    };
    const legs = { credits: 0, available: -amount, reserved: amount, revenue: 0 };
    const figures = { model, provider, price, input: 0, output: 0, usage: null, costs: null, attempts: 0 };
    this.#entries.push({ ...legs, ...figures, ...held, kind: 'reserve', at, call: id, flags: '' });
    const progress = presumed(id, taken);
    this.#found.pending.set(id, { ...held, amount, claim: claim?.name, progress });
    this.#made.set(id, {
      ...progress,
      ...held,
      call: id,
      amount,
      owner: this.#owner,
      claim: claim?.name,
      created: at,
    });
    this.#change(held, 0n, amount);
    if (paying?.rate !== undefined) this.#count(paying, at);
    if (claim) {
      this.#claims.set(claim.name, { ...claim, call: id, state: 'running', outcome: undefined });
      this.#claimWrites.push(() => run(this.#query, takeClaim(claim, id)));
    }
    return { status: 'reserved', quote, amount };
  }

  settle(settlement: Settlement): Settled {
    const { id, amount: owed, suspect, outcome } = settlement;
    const pending = this.#found.pending.get(id);
    if (pending)
      return this.#end(
        id,
        pending,
        end(pending.amount, owed, settlement, suspect ? 'suspect' : ''),
        owed === undefined ? 'free' : outcome,
      );
    const past = this.#found.past.get(id);
    if (!past) return { status: 'not_found' };
    const { endings, settled } = endLate(past, settlement);
    if (settled.status === 'adjusted') this.#found.past.set(id, { ...past, isAdjusted: true });
    this.#book(id, past.held, endings);
    return settled;
  }

  /** Ends a pending call whose owner is dead. Undefined: it has ended meanwhile. */
  recover(id: string, at: number): RecoveredCall | undefined {
    const pending = this.#found.pending.get(id);
    if (!pending) return undefined;
    const { owed } = pending.progress;
    const sent = wasSent(pending.progress);
    const { status } = this.#end(
      id,
      pending,
      recover(pending.amount, pending.progress, at),
      sent ? undefined : 'free',
    );
    return { id, status: status === 'posted' ? 'posted' : 'voided', amount: sent ? owed : 0n };
  }

  /** Ends a pending call that is too old. False: it has ended meanwhile. */
  expire(id: string, at: number): boolean {
    const pending = this.#found.pending.get(id);
    if (pending)
      this.#end(
        id,
        pending,
        { endings: [expire(pending.amount, at)], settled: { status: 'voided' } },
        'free',
      );
    return pending !== undefined;
  }

  /** Sends everything that was decided. The caller may wait for all answers at the end. */
  write(): Promise<unknown>[] {
    const made = [...this.#made.values()];
    return [
      this.#entries.length > 0 && this.#query(sql.addEntries, [recordset(this.#entries)]),
      made.length > 0 && this.#query(sql.addPending, [recordset(made)]),
      this.#ended.length > 0 && this.#query(sql.endPending, [this.#ended]),
      this.#accounts.size > 0 && this.#query(sql.changeAccounts, [recordset([...this.#accounts.values()])]),
      this.#keys.size > 0 && this.#query(sql.changeKeys, [recordset([...this.#keys.values()])]),
      ...this.#found.budgets.write(this.#query),
      ...this.#claimWrites.map((write) => write()),
    ].filter((sent) => sent !== false);
  }

  #end(
    id: string,
    pending: Pending,
    { endings, settled }: Ended,
    outcome: StoredOutcome | 'free' | undefined,
  ): Settled {
    const { claim } = pending;
    const [first] = endings;
    this.#found.pending.delete(id);
    if (first) {
      const posted = endings.reduce((sum, { revenue }) => sum + revenue, 0n);
      this.#found.past.set(id, {
        held: pending,
        kind: first.kind,
        flags: first.flags,
        posted,
        isAdjusted: false,
      });
    }
    // A pending row that was made in this same batch was never written.
    if (!this.#made.delete(id)) this.#ended.push(id);
    this.#book(id, pending, endings);
    if (claim !== undefined) {
      const holder = this.#claim(claim);
      this.#claims.set(
        claim,
        holder && outcome !== 'free' ? { ...holder, state: 'done', outcome } : undefined,
      );
      this.#claimWrites.push(() => run(this.#query, settleClaim(claim, outcome)));
    }
    return settled;
  }

  #book(call: string, held: Held, endings: readonly Ending[]): void {
    const { account, key, number: reservation, budgets } = held;
    for (const { kind, available, reserved, revenue, facts, flags } of endings) {
      const { at, reason, basis, model, provider, price, input, output, usage, costs, attempts, vendor } =
        facts;
      const figures = { model, provider, price, input, output, usage, costs, attempts, vendor };
      const legs = { credits: 0, available, reserved, revenue };
      const number = this.#number();
      const entry = { number, kind, account, at, call, key, reservation, reason, basis, flags, budgets };
      this.#entries.push({ ...entry, ...legs, ...figures });
      this.#change(held, revenue, reserved);
      this.#found.budgets.sheet.spend(budgets, revenue, reserved, at);
    }
  }

  #change({ account, root }: Held, used: Nano, pending: Nano): void {
    const changes = [
      changeOf(this.#accounts, account),
      ...(root === undefined ? [] : [changeOf(this.#keys, root)]),
    ];
    for (const change of changes) {
      change.used += used;
      change.pending += pending;
    }
  }

  /** How much this batch itself has used and reserved so far. */
  #heldOf(change: { readonly used: Nano; readonly pending: Nano } | undefined): Nano {
    return change ? change.used + change.pending : 0n;
  }

  #leftOf(key: { readonly root: string; readonly left: Nano | undefined } | undefined): Nano | undefined {
    return key?.left === undefined ? undefined : key.left - this.#heldOf(this.#keys.get(key.root));
  }

  #minuteOf({ root, minute }: Key): Minute {
    const { minute: began, calls } = this.#keys.get(root) ?? {};
    return began === undefined || calls === undefined ? minute : { began, calls };
  }

  #count(key: Key, at: number): void {
    const { began, calls } = minuteOf(this.#minuteOf(key), at);
    Object.assign(changeOf(this.#keys, key.root), { minute: began, calls: calls + 1 });
  }

  #claim(name: string): ClaimRecord | undefined {
    return this.#claims.has(name) ? this.#claims.get(name) : this.#found.claims.get(name);
  }

  #number(): bigint {
    const number = this.#found.numbers[this.#entries.length];
    if (number === undefined) throw new RangeError('more entries were decided upon than were counted');
    return number;
  }
}
