/**
 * Decides on reservations and their ends. The changes of one batch stay in memory, so that calls are decided
 * one after another and the sums are written once at the end. `sql/call-batch.ts` has the rows that were
 * read, and those to write.
 */
import type { Nano } from '../../../core/index.ts';
import type { FoundKey, Held, Pending } from './call-rows.ts';
import {
  endReservation,
  endLate,
  expireReservation,
  checkRate,
  findMinute,
  recoverReservation,
  takeQuote,
  wasSent,
  type Ended,
  type Minute,
} from './decisions.ts';
import type { CallBatch } from './sql/call-batch.ts';
import type {
  Progress,
  Quote,
  RecoveredCall,
  Reserved,
  ReserveRequest,
  Settled,
  Settlement,
  StoredOutcome,
} from './store.ts';

/** Sums to add to an account, or to the root of the keys that pay. */
export interface Change<Id> {
  readonly id: Id;
  used: Nano;
  pending: Nano;
  /** Of a root with a rate limit: when the current minute began, and how many calls it counts. */
  minute: number | undefined;
  calls: number | undefined;
}

/** What is stored of a reservation, besides its request. */
export interface Reservation {
  readonly account: bigint;
  readonly root: string | undefined;
  readonly amount: Nano;
  readonly taken: Quote;
  /** The periods of budgets that the reservation counts in. */
  readonly budgets: string | undefined;
}

function getChange<Id>(changes: Map<Id, Change<Id>>, id: Id): Change<Id> {
  const known = changes.get(id);
  if (known) return known;
  const change = { id, used: 0n, pending: 0n, minute: undefined, calls: undefined };
  changes.set(id, change);
  return change;
}

/** What is left of an amount that was read before the change. */
function computeLeft(found: Nano, change: Change<unknown> | undefined): Nano {
  return change ? found - change.used - change.pending : found;
}

export class CallLedger {
  /** What this transaction changes, by the ids of accounts and of keys' roots. */
  readonly accounts = new Map<bigint, Change<bigint>>();
  readonly roots = new Map<string, Change<string>>();
  readonly #batch: CallBatch;

  constructor(batch: CallBatch) {
    this.#batch = batch;
  }

  reserve(request: ReserveRequest): Reserved {
    const { id, account: name, key, quotes, claim, tags = [], at } = request;
    const account = this.#batch.findAccount(name);
    if (!account) return { status: 'short', by: 'balance', available: 0n };
    const paying = this.#batch.findKey(key);
    const tooMany = paying && checkRate(paying.rate, this.#getMinute(paying), at);
    if (tooMany) return tooMany;
    const holder = claim && this.#batch.findHolder(claim.name, at);
    if (holder) return { status: 'claimed', claim: holder };
    const root = paying?.root;
    const { budgets } = this.#batch;
    const lines = budgets.getLines({ account: name, line: account.line, root, tags }, at);
    const found = takeQuote(quotes, computeLeft(account.available, this.accounts.get(account.id)), {
      leftOfCap:
        paying?.left === undefined ? undefined : computeLeft(paying.left, this.roots.get(paying.root)),
      budget: budgets.sheet.findTightest(lines, at),
    });
    if (found.status === 'short') {
      if (found.by === 'budget') budgets.sheet.noteRefusal(lines, found.budget, at);
      return found;
    }
    const { quote, amount, taken } = found;
    const shares = budgets.sheet.holdAmount(lines, amount, at);
    this.#batch.addReservation(request, { account: account.id, root, amount, taken, budgets: shares });
    this.#addSpending(account.id, root, 0n, amount);
    if (paying?.rate !== undefined) this.#countCall(paying, at);
    if (claim) this.#batch.takeClaim(claim, id);
    return { status: 'reserved', quote, amount };
  }

  settle(settlement: Settlement): Settled {
    const { id, amount: owed, suspect, outcome } = settlement;
    const pending = this.#batch.takePending(id);
    if (pending) {
      const ended = endReservation(pending.amount, owed, settlement, suspect ? 'suspect' : '');
      return this.#endPending(pending, ended, owed === undefined ? 'free' : outcome);
    }
    const past = this.#batch.findPast(id);
    return past ? this.#addEndings(past, endLate(past, settlement)) : { status: 'not_found' };
  }

  /** Ends a pending call whose owner is dead. Returns undefined if it has ended meanwhile. */
  recover(progress: Progress, at: number): RecoveredCall | undefined {
    const { id, owed } = progress;
    const pending = this.#batch.takePending(id);
    if (!pending) return undefined;
    const sent = wasSent(progress);
    this.#endPending(pending, recoverReservation(pending.amount, progress, at), sent ? undefined : 'free');
    return { id, status: sent ? 'posted' : 'voided', amount: sent ? owed : 0n };
  }

  /** Ends a pending call that is too old. Returns false if it has ended meanwhile. */
  expire(call: string, at: number): boolean {
    const pending = this.#batch.takePending(call);
    if (pending) this.#endPending(pending, expireReservation(pending.amount, at), 'free');
    return pending !== undefined;
  }

  #endPending(pending: Pending, ended: Ended, outcome: StoredOutcome | 'free' | undefined): Settled {
    if (pending.claim !== undefined) this.#batch.settleClaim(pending.claim, outcome);
    return this.#addEndings(pending, ended);
  }

  #addEndings(held: Held, { endings, settled }: Ended): Settled {
    for (const ending of endings) {
      const { revenue, reserved, facts } = ending;
      this.#batch.addEnd(held, ending);
      this.#addSpending(held.account, held.root, revenue, reserved);
      this.#batch.budgets.sheet.addSpending(held.budgets, revenue, reserved, facts.at);
    }
    return settled;
  }

  #addSpending(account: bigint, root: string | undefined, used: Nano, pending: Nano): void {
    const change = getChange(this.accounts, account);
    change.used += used;
    change.pending += pending;
    if (root === undefined) return;
    const spent = getChange(this.roots, root);
    spent.used += used;
    spent.pending += pending;
  }

  #getMinute({ root, minute }: FoundKey): Minute {
    const change = this.roots.get(root);
    if (change?.minute === undefined || change.calls === undefined) return minute;
    return { began: change.minute, calls: change.calls };
  }

  #countCall(key: FoundKey, at: number): void {
    const { began, calls } = findMinute(this.#getMinute(key), at);
    const change = getChange(this.roots, key.root);
    change.minute = began;
    change.calls = calls + 1;
  }
}
