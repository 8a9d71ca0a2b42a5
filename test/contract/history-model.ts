/** The ledger in memory that histories are compared with. */
import fc from 'fast-check';
import type { Nano } from '../../core/index.ts';
import type { Quote } from '../../plugins/meters/balance/store.ts';
import { quote } from '../balance/calls.ts';

interface Sums {
  total: Nano;
  used: Nano;
  pending: Nano;
}

interface Reservation {
  readonly account: string;
  readonly key: string;
  readonly owner: number;
  amount: Nano;
  readonly budgets: readonly ModelBudget[];
  readonly claim: string | undefined;
  progress: Nano;
  state: 'pending' | 'posted' | 'voided' | 'expired';
  taken: boolean;
  adjusted: boolean;
  charged: Nano;
}

/** A budget without periods: what it counts, and what calls of it hold. */
export interface ModelBudget {
  readonly accounts: readonly string[];
  readonly key: string | undefined;
  readonly tag: string | undefined;
  limit: Nano;
  used: Nano;
  pending: Nano;
}

/** The ledger as it would be in memory: every rule of the state machine, and no database. */
export class Model {
  readonly accounts = new Map<string, Sums>();
  readonly keys = new Map<string, { readonly cap: Nano | undefined; used: Nano; pending: Nano }>();
  readonly budgets: ModelBudget[] = [];
  /** Accounts that pay later: their budgets alone limit them. */
  readonly #later = new Set<string>();
  readonly #reservations = new Map<string, Reservation>();
  readonly #references = new Map<string, string>();
  readonly #claims = new Map<string, { call: string; state: 'running' | 'done' }>();

  pay(account: string, isLater: boolean): void {
    if (isLater) this.#later.add(account);
    else this.#later.delete(account);
  }

  credit(account: string, amount: Nano, reference: string | undefined): string {
    const stands = `${account} ${amount}`;
    const before = reference === undefined ? undefined : this.#references.get(reference);
    if (before !== undefined) return before === stands ? 'already_credited' : 'reference_taken';
    if (reference !== undefined) this.#references.set(reference, stands);
    this.#getSums(account).total += amount;
    return 'credited';
  }

  reserve(
    id: string,
    owner: number,
    account: string,
    key: string,
    quotes: readonly Quote[],
    claim: string | undefined,
    tags: readonly string[],
  ): unknown {
    const held = this.#getSums(account);
    const paying = this.keys.get(key);
    const budgets = this.budgets.filter(
      (budget) =>
        budget.accounts.includes(account) ||
        budget.key === key ||
        (budget.tag !== undefined && tags.includes(budget.tag)),
    );
    const { available, by } = this.#findLimit(account, key, budgets);
    const holder = claim === undefined ? undefined : this.#claims.get(claim);
    if (holder) return { status: 'claimed', call: holder.call, state: holder.state };
    const taken = quotes.findIndex(({ least }) => least === 0n || least <= available);
    const found = quotes[taken];
    if (!found) return { status: 'short', by, available };
    const affordable = available > 0n ? available : 0n;
    const amount = affordable < found.most ? affordable : found.most;
    held.pending += amount;
    for (const counting of [...budgets, ...(paying ? [paying] : [])]) counting.pending += amount;
    if (claim !== undefined) this.#claims.set(claim, { call: id, state: 'running' });
    this.#reservations.set(id, {
      account,
      key,
      owner,
      amount,
      budgets,
      claim,
      progress: found.owed,
      state: 'pending',
      taken: false,
      adjusted: false,
      charged: 0n,
    });
    return { status: 'reserved', quote: taken, amount };
  }

  /** What it holds is free while the larger amount is decided; what beats said of it is forgotten. */
  extend(id: string, { least, most, owed }: Quote): unknown {
    const reservation = this.#reservations.get(id);
    if (reservation?.state !== 'pending') return { status: 'not_found' };
    const { account, key, budgets, amount: before } = reservation;
    this.#charge(reservation, 0n, -before);
    const { available, by } = this.#findLimit(account, key, budgets);
    const isShort = least > 0n && least > available;
    const affordable = available > 0n ? available : 0n;
    reservation.amount = isShort ? before : affordable < most ? affordable : most;
    this.#charge(reservation, 0n, reservation.amount);
    if (isShort) return { status: 'short', by, available };
    reservation.progress = owed;
    return { status: 'extended', amount: reservation.amount };
  }

  settle(id: string, owed: Nano | undefined): unknown {
    const reservation = this.#reservations.get(id);
    if (!reservation) return { status: 'not_found' };
    if (reservation.state === 'pending') return this.#end(reservation, owed);
    if (!reservation.taken)
      return { status: reservation.state === 'posted' ? 'already_posted' : 'already_voided' };
    if (reservation.adjusted) return { status: 'already_adjusted' };
    reservation.adjusted = true;
    const by = (owed ?? 0n) - reservation.charged;
    this.#charge(reservation, by, 0n);
    return { status: 'adjusted', by };
  }

  beat(owner: number, id: string, owed: Nano): void {
    const reservation = this.#reservations.get(id);
    if (reservation?.state === 'pending' && reservation.owner === owner) reservation.progress = owed;
  }

  recover(owner: number): string[] {
    const left = [...this.#reservations].filter(
      ([, { state, owner: whose }]) => state === 'pending' && whose === owner,
    );
    for (const [, reservation] of left) {
      reservation.taken = true;
      this.#end(reservation, reservation.progress);
    }
    return left.map(([id]) => id).toSorted();
  }

  expire(): string[] {
    const pending = [...this.#reservations].filter(([, { state }]) => state === 'pending');
    for (const [, reservation] of pending) {
      reservation.taken = true;
      this.#end(reservation, undefined);
      reservation.state = 'expired';
    }
    return pending.map(([id]) => id).toSorted();
  }

  #findLimit(account: string, key: string, budgets: readonly ModelBudget[]): { available: Nano; by: string } {
    const held = this.#getSums(account);
    const paying = this.keys.get(key);
    const inAccount = this.#later.has(account) ? 10n ** 18n : held.total - held.used - held.pending;
    const left = paying?.cap === undefined ? undefined : paying.cap - paying.used - paying.pending;
    const isCapped = left !== undefined && left < inAccount;
    const paid = isCapped ? left : inAccount;
    const rest = budgets.map(({ limit, used, pending }) => limit - used - pending);
    const available = rest.reduce((least, each) => (each < least ? each : least), paid);
    return { available, by: available < paid ? 'budget' : isCapped ? 'cap' : 'balance' };
  }

  #end(reservation: Reservation, owed: Nano | undefined): unknown {
    reservation.state = owed === undefined ? 'voided' : 'posted';
    this.#charge(reservation, owed ?? 0n, -reservation.amount);
    if (reservation.claim !== undefined && owed === undefined) this.#claims.delete(reservation.claim);
    else if (reservation.claim !== undefined)
      this.#claims.set(reservation.claim, { call: this.#findId(reservation), state: 'done' });
    if (owed === undefined) return { status: 'voided' };
    const posted = owed < reservation.amount ? owed : reservation.amount;
    return { status: 'posted', posted, overage: owed - posted };
  }

  #findId(reservation: Reservation): string {
    return [...this.#reservations].find(([, other]) => other === reservation)?.[0] ?? '';
  }

  #charge(reservation: Reservation, used: Nano, pending: Nano): void {
    reservation.charged += used;
    for (const held of [
      this.#getSums(reservation.account),
      this.keys.get(reservation.key),
      ...reservation.budgets,
    ]) {
      if (!held) continue;
      held.used += used;
      held.pending += pending;
    }
  }

  #getSums(account: string): Sums {
    const held = this.accounts.get(account) ?? { total: 0n, used: 0n, pending: 0n };
    this.accounts.set(account, held);
    return held;
  }
}

export const account = fc.constantFrom('x', 'y');
export const owner = fc.constantFrom(0, 1);

export const anyQuote = fc
  .tuple(fc.bigInt(0n, 400n), fc.bigInt(0n, 400n))
  .map(([least, more]) => quote(least, least + more));

export const owed = fc.bigInt(0n, 900n);
