/**
 * The arguments and results of a store's operations on calls: reservations, their ends, heartbeats and
 * claims.
 */
import type { Charge, Nano, TableStatement } from '../../../core/index.ts';
import type { ShortBudget } from './budgets/budget.ts';
import type { Tightest } from './budgets/sheet.ts';
import * as rows from './rows.ts';

/** A target that the call may go to, and what the call could cost there. */
export interface Quote {
  readonly model: string;
  readonly provider: string;
  /** The version of the price that the quote uses; `definePrice` was called with it before. */
  readonly price: string;
  /** The worst case at the smallest output limit worth calling with. */
  readonly least: Nano;
  /** The worst case at the output limit asked for. */
  readonly most: Nano;
  /**
   * Our estimate of the call's input in tokens, and its cost, which is owed if the call's end is never
   * known.
   */
  readonly input: number;
  readonly owed: Nano;
}

/**
 * An `Idempotency-Key` that a call wants. It is taken in the transaction that reserves, so that only one of
 * many equal calls gets it.
 */
export type Claim = Pick<ClaimRecord, 'name' | 'fingerprint' | 'expires'>;

/** What the plugin that declared the tables `name` writes with an entry. */
export interface PluginStatements {
  readonly name: string;
  readonly statements: readonly TableStatement[];
}

export interface ReserveRequest {
  /** The id of the exchange, which becomes that of the reservation. */
  readonly id: string;
  readonly account: string;
  /** The id of the key that pays. A key that the ledger does not know has no cap. */
  readonly key: string;
  /** Quotes in the order in which the targets are tried. */
  readonly quotes: readonly Quote[];
  readonly claim?: Claim | undefined;
  /** Tags whose budgets count the call too. */
  readonly tags?: readonly string[] | undefined;
  /** Written if it is reserved, or the whole is not. */
  readonly also?: readonly PluginStatements[] | undefined;
  /** Asks for the tightest of its hard budgets, as it is before this call. */
  readonly tellsBudget?: boolean;
  /** Milliseconds since the epoch; the same holds for all times below. */
  readonly at: number;
}

/**
 * `reserved`: `quote` is the index of the quote that was taken, `amount` its `most`, or less if less was
 * available. `short`: no quote is affordable; `by` says whether the account's balance, the key's spend cap or
 * a budget is the limit; `postpaid`: the account pays later, and no hard budget counts it. `claimed`: another
 * call has the claim. `limited`: the key has made all its calls of this minute, of which `wait` milliseconds
 * are left. Only reserved calls count towards that rate.
 */
export type Reserved =
  | {
      readonly status: 'reserved';
      readonly quote: number;
      readonly amount: Nano;
      readonly tightest?: Tightest | undefined;
    }
  | { readonly status: 'short'; readonly by: 'balance' | 'cap' | 'postpaid'; readonly available: Nano }
  | {
      readonly status: 'short';
      readonly by: 'budget';
      readonly available: Nano;
      readonly budget: ShortBudget;
    }
  | { readonly status: 'claimed'; readonly claim: ClaimRecord }
  | { readonly status: 'limited'; readonly rate: number; readonly wait: number };

/**
 * A call needs more before an attempt at a dearer target. Its reservation is released and made again with
 * the other amount, in one transaction; progress that was recorded of earlier attempts is forgotten.
 */
export interface ExtendRequest extends Pick<ReserveRequest, 'id' | 'account' | 'key' | 'tags' | 'at'> {
  readonly quote: Quote;
  /** How many attempts the call has made. Each extension of a call states another number, above 0. */
  readonly attempts: number;
}

/**
 * `amount` is all that is reserved now. `short`: the reservation is as it was. `not_found`: it has ended, or
 * never was.
 */
export type Extended =
  | { readonly status: 'extended'; readonly amount: Nano }
  | { readonly status: 'not_found' }
  | Extract<Reserved, { status: 'short' }>;

/** What a call used. */
export const consumedFields = {
  /**
   * The last target that was called, and the version of the price that was charged; undefined if no vendor
   * was called.
   */
  model: rows.allowNull(rows.readText),
  provider: rows.allowNull(rows.readText),
  price: rows.allowNull(rows.readText),
  /** All tokens in and out, with cached, audio and reasoning tokens. */
  input: rows.readCount,
  output: rows.readCount,
  attempts: rows.readCount,
};

/**
 * What a call used and what that costs. The entry that ends the call stores it for reports and the audit.
 */
export interface Consumption extends rows.RecordOf<typeof consumedFields> {
  /** The figures that the charge is computed from, as JSON text of counts by their names, mode and rule. */
  readonly usage: string;
  /**
   * The lines of the bill, as JSON text of `[kind, count, rate]`; the rate is in USD, and for a million of
   * tokens. The amount is their exact sum, rounded once.
   */
  readonly costs: string;
}

const readOutcome = rows.createReader({
  status: rows.readCount,
  headers: rows.readNamedTexts,
  body: rows.readBytes,
  /** False if only the beginning was stored. */
  whole: rows.readFlag,
});
/** A reply as it was sent, stored for retries of its call. */
export type StoredOutcome = ReturnType<typeof readOutcome>;

export interface Settlement extends Consumption {
  readonly id: string;
  /** What is owed, never below zero. Undefined voids the reservation. */
  readonly amount: Nano | undefined;
  /** How the call ended: `completed`, `aborted`, `cut`, or the code of the error it ended with. */
  readonly reason: string;
  readonly basis: Charge['basis'];
  /** What the vendor bills, if another amount is charged. */
  readonly vendor?: Nano | undefined;
  /** Whether the vendor's figures could not be true, or it charged for what the call did not ask for. */
  readonly suspect: boolean;
  /**
   * The stored outcome that the call's claim leads to from now on. If the reservation is posted, the claim
   * keeps it; if it is voided, the claim is free again.
   */
  readonly outcome?: StoredOutcome | undefined;
  /** Written if this writes an entry, or the whole is not. */
  readonly also?: readonly PluginStatements[] | undefined;
  readonly at: number;
}

/**
 * What settling did. `overage` is what was owed above the reservation, posted as another entry.
 * `adjusted`: the reservation had been recovered or had expired, and a flagged entry corrects what was
 * posted `by` this much (below zero where less is owed). `already_…`: the reservation had already ended,
 * and nothing was written.
 */
export type Settled =
  | { readonly status: 'posted'; readonly posted: Nano; readonly overage: Nano }
  | { readonly status: 'adjusted'; readonly by: Nano }
  | { readonly status: 'voided' | 'already_posted' | 'already_voided' | 'already_adjusted' | 'not_found' };

export const readProgress = rows.createReader({
  id: rows.pickColumn('call', rows.readText),
  ...consumedFields,
  usage: rows.readText,
  costs: rows.readText,
  /** Whether it was sent to a vendor. A call that never was is voided. */
  sent: rows.readFlag,
  /** UTF-8 bytes of output that went to the client. */
  delivered: rows.readCount,
  /** What would be owed, by the written policy, if the call ended here. */
  owed: rows.readInteger,
});
/**
 * How far a call has come. It is settled by this if its process dies. Until a beat reports otherwise, it
 * counts as sent and owes what its quote says.
 */
export type Progress = ReturnType<typeof readProgress>;

/** A heartbeat: it keeps its owner's reservations from being recovered for another `lease` milliseconds. */
export interface Beat {
  readonly lease: number;
  /** The calls that came further since the last beat. Those that have ended meanwhile are ignored. */
  readonly progress: readonly Progress[];
}

export const readOwner = rows.createReader({
  owner: rows.readText,
  /**
   * Grows with each beat, also when an owner was recovered and comes back; 0 if it never beat. Any process
   * that sees no new beat for `lease` milliseconds of its own clock may recover the owner.
   */
  beat: rows.readCount,
  lease: rows.readCount,
  pending: rows.readCount,
});
/** An owner that has pending reservations, or was alive until recently. */
export type OwnerRecord = ReturnType<typeof readOwner>;

export interface RecoverRequest {
  readonly owner: string;
  /** The last beat that was seen. If the owner has beaten since, nothing is recovered. */
  readonly beat: number;
  /**
   * How many reservations at most. A long list is recovered in parts, so that others can write in between.
   */
  readonly limit: number;
  readonly at: number;
  /** The plugins whose statements for recovered calls have failed. */
  readonly leaveOut?: readonly string[] | undefined;
}

/** Reservations that are too old, of every owner. */
export interface ExpireRequest extends Pick<RecoverRequest, 'limit' | 'at' | 'leaveOut'> {
  readonly before: number;
}

export interface RecoveredCall {
  readonly id: string;
  readonly status: 'posted' | 'voided';
  /** The amount posted, with what was owed above the reservation. */
  readonly amount: Nano;
}

export const readClaim = rows.createReader({
  /** A digest of the account and the client's own key. At most one call has it at a time. */
  name: rows.readText,
  /** A digest of the body, which distinguishes a retry from a different call with the same key. */
  fingerprint: rows.readText,
  /** Until when its outcome is stored. While its call is pending the claim does not expire. */
  expires: rows.readCount,
  call: rows.readText,
  state: rows.matchWord(['running', 'done']),
  /** Undefined while the call runs, and if a process died before it stored the outcome. */
  outcome: (row: rows.Row) => (row.body === null ? undefined : readOutcome(row)),
});
export type ClaimRecord = ReturnType<typeof readClaim>;
