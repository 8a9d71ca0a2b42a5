/**
 * The ledger as the plugin sees it, whatever database keeps it. An amount is reserved before a call, and leaves the
 * reservation once: it is posted, voided or expired. When a promise resolves, what its answer says is on disk. A refusal
 * is an answer with a name. A promise rejects with `ledger_unavailable` where the database cannot be asked: then all of
 * what was asked was written or none of it, and it may be asked again. Operations asked in one turn of the event loop
 * share a transaction, in that order, and each gets its own answer.
 */
import type { Charge, Nano } from '../../../core/index.ts';
import type {
  AccountRecord,
  Balance,
  Credit,
  Credited,
  CreditKind,
  KeyChanges,
  KeyRecord,
  NewKey,
  Rotation,
} from './accounts.ts';
import type { AuditReport } from './audit.ts';

export * from './accounts.ts';

/** One target a call may go to, and what it could cost there. */
export interface Quote {
  readonly model: string;
  readonly provider: string;
  /** The version of the price that the quote uses; `definePrice` was called with it before. */
  readonly price: string;
  /** The worst case at the smallest output limit worth calling with. */
  readonly least: Nano;
  /** The worst case at the output limit asked for. */
  readonly most: Nano;
  /** Our estimate of its input in tokens, and what that costs. So much is owed where the call's end is never known. */
  readonly input: number;
  readonly owed: Nano;
}

/** An `Idempotency-Key` that a call wants. It is taken in the transaction that reserves, so that only one of many equal calls gets it. */
export interface Claim {
  /** A digest of the account and the client's own key. At most one call has it at a time. */
  readonly name: string;
  /** A digest of the body, which tells a retry from a different call with the same key. */
  readonly fingerprint: string;
  /** Until when its outcome is kept. While its call is pending the claim is kept anyway. */
  readonly expires: number;
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
  /** Milliseconds since the epoch; the same holds for all times below. */
  readonly at: number;
}

/**
 * `reserved`: `quote` is the index of the quote that was taken, `amount` its `most`, or less if less was available.
 * `short`: no quote is affordable; `by` says whether the account's balance or the key's spend cap is the limit.
 * `claimed`: another call has the claim. `limited`: the key has made all its calls of this minute, of which `wait`
 * milliseconds are left. Only reserved calls count towards that rate.
 */
export type Reserved =
  | { readonly status: 'reserved'; readonly quote: number; readonly amount: Nano }
  | { readonly status: 'short'; readonly by: 'balance' | 'cap'; readonly available: Nano }
  | { readonly status: 'claimed'; readonly claim: ClaimRecord }
  | { readonly status: 'limited'; readonly rate: number; readonly wait: number };

/** What a call used and what that costs. It is on the entry that ends the call, for reports and for the audit. */
export interface Consumption {
  /** The target that was asked last, and the version of the price that was charged; undefined where no vendor was asked. */
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly price: string | undefined;
  /** All tokens in and out, with cached, audio and reasoning tokens. */
  readonly input: number;
  readonly output: number;
  /** The figures that the charge is computed from, as JSON text of a `Usage`. */
  readonly usage: string;
  /**
   * What each kind cost, as JSON text of `[kind, units, rate]`; the rate is in USD, and per million where units are
   * tokens. The amount is their exact sum, rounded once.
   */
  readonly costs: string;
  readonly attempts: number;
}

/** A reply as it was sent, kept for a retry of its call. */
export interface StoredOutcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** False where only the beginning was kept. */
  readonly whole: boolean;
}

export interface Settlement extends Consumption {
  readonly id: string;
  /** What is owed, never below zero. Undefined voids the reservation. */
  readonly amount: Nano | undefined;
  /** How the call ended: `completed`, `aborted`, `cut`, or the code of the error it ended with. */
  readonly reason: string;
  readonly basis: Charge['basis'];
  /** Whether the vendor's figures could not be true, or it charged for what the call did not ask for. */
  readonly suspect: boolean;
  /** What the call's claim stands for from now on. It is kept where the reservation is posted; where it is voided the claim is free again. */
  readonly outcome?: StoredOutcome | undefined;
  readonly at: number;
}

/**
 * What settling did. `overage` is what was owed above the reservation, posted as another entry. `adjusted`: the
 * reservation had been recovered or had expired, and a flagged entry corrects what was posted `by` this much (below zero
 * where less is owed). `already_…`: the reservation had ended before, and nothing was written.
 */
export type Settled =
  | { readonly status: 'posted'; readonly posted: Nano; readonly overage: Nano }
  | { readonly status: 'adjusted'; readonly by: Nano }
  | { readonly status: 'voided' | 'already_posted' | 'already_voided' | 'already_adjusted' | 'not_found' };

/** How far a call has come. It is settled by this if its process dies. Until a beat reports otherwise, it counts as sent and owes what its quote says. */
export interface Progress extends Consumption {
  readonly id: string;
  /** Whether it was sent to a vendor. A call that never was is voided. */
  readonly sent: boolean;
  /** UTF-8 bytes of output that went to the client. */
  readonly delivered: number;
  /** What would be owed, by the written policy, if the call ended here. */
  readonly owed: Nano;
}

/** A sign of life: it keeps its owner's reservations from being recovered for another `lease` milliseconds. */
export interface Beat {
  readonly lease: number;
  /** The calls that came further since the last beat. Those that have ended meanwhile are ignored. */
  readonly progress: readonly Progress[];
}

/** An owner that has pending reservations, or was alive until recently. */
export interface OwnerRecord {
  readonly owner: string;
  /**
   * Grows with each beat, also when an owner was recovered and comes back; 0 where it never beat. Any process that sees
   * no new beat for `lease` milliseconds of its own clock may recover the owner.
   */
  readonly beat: number;
  readonly lease: number;
  readonly pending: number;
}

export interface RecoverRequest {
  readonly owner: string;
  /** The last beat that was seen. If the owner has beaten since, nothing is recovered. */
  readonly beat: number;
  /** How many reservations at most. A long list is recovered in parts, so that others can write in between. */
  readonly limit: number;
  readonly at: number;
}

export interface RecoveredCall {
  readonly id: string;
  readonly status: 'posted' | 'voided';
  /** The amount posted, with what was owed above the reservation. */
  readonly amount: Nano;
}

export interface ClaimRecord extends Claim {
  /** The id of the call. */
  readonly call: string;
  readonly state: 'running' | 'done';
  /** Undefined while the call runs, and where a process died before the outcome was kept. */
  readonly outcome: StoredOutcome | undefined;
}

export const entryKinds = ['credit', 'reserve', 'post', 'void', 'expire', 'overage', 'adjustment'] as const;
export type EntryKind = (typeof entryKinds)[number];

/**
 * One immutable row of the books. Its legs move money between four books of one account and sum to zero:
 * `credits` (minus what was ever credited), `available`, `reserved`, and `revenue` (what was used).
 */
export interface Entry {
  /** Grows from entry to entry. */
  readonly number: number;
  readonly kind: EntryKind;
  readonly account: string;
  readonly at: number;
  readonly credits: Nano;
  readonly available: Nano;
  readonly reserved: Nano;
  readonly revenue: Nano;
  /** On all entries but credits: the id of the call, and of the key that pays. */
  readonly call: string | undefined;
  readonly key: string | undefined;
  /** The number of the `reserve` entry that this one ends or follows. */
  readonly reservation: number | undefined;
  /** On credits: their kind and reference. */
  readonly source: CreditKind | undefined;
  readonly reference: string | undefined;
  /** On entries that end a call: what `Settlement` says. A `reserve` has the quote's model, provider and price. */
  readonly reason: string | undefined;
  readonly basis: Charge['basis'] | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly price: string | undefined;
  readonly input: number;
  readonly output: number;
  readonly usage: string | undefined;
  readonly costs: string | undefined;
  readonly attempts: number;
  /** `recovered`: another process ended it. `late`: it came after a recovery or an expiry. `suspect`: figures were bounded, or their price is not known. */
  readonly flags: readonly ('recovered' | 'late' | 'suspect')[];
}

/** Selects rows after the one numbered `after`, in the order in which they were written. Fields that are undefined select nothing. */
export interface EntryQuery {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly call?: string | undefined;
  /** Only these kinds; all of them where undefined. */
  readonly kinds?: readonly EntryKind[] | undefined;
  /** From this moment on, and before that one. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

export const usageGroups = ['account', 'key', 'model', 'provider', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** What to group by. Where it is empty, one row sums up everything. */
  readonly by: readonly UsageGroup[];
}

/** The sum of calls that were posted. Overages and adjustments are part of `cost`. */
export interface UsageRow {
  /** Only the fields that were grouped by. A day is an ISO date in UTC. */
  readonly account?: string;
  readonly key?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly day?: string;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cost: Nano;
}

/** Rows after the one named `after`, in the order of their names. */
export interface Page {
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A pending reservation, with what its owner's last beat said of the call. */
export interface PendingRecord {
  readonly call: string;
  readonly account: string;
  readonly key: string;
  readonly amount: Nano;
  readonly owner: string;
  readonly created: number;
  readonly sent: boolean;
  readonly delivered: number;
}

export interface Totals {
  readonly accounts: number;
  readonly keys: number;
  readonly pendingCalls: number;
  readonly pendingAmount: Nano;
  /** When the oldest pending reservation was made; undefined where there is none. */
  readonly oldestPending: number | undefined;
}

export interface Store {
  /** Marks reservations as this store's. Every process has another. */
  readonly owner: string;
  /** Reserves the first quote whose `least` the account can pay within the key's cap. */
  reserve(request: ReserveRequest): Promise<Reserved>;
  /** Ends a reservation. No more is posted than was reserved; what is owed above it becomes an overage. */
  settle(settlement: Settlement): Promise<Settled>;
  /** Records a sign of life and how far calls have come; resolves when it is on disk. */
  beat(beat: Beat): Promise<void>;
  /** All owners that have pending reservations or have beaten, this store's among them. */
  owners(): Promise<readonly OwnerRecord[]>;
  /** Ends the reservations of a dead owner by their last progress, with a flag. Returns none where none are left, or where the owner has beaten since. */
  recover(request: RecoverRequest): Promise<readonly RecoveredCall[]>;
  /** Ends reservations made before a time, whoever owns them, and gives them back. Returns their ids. */
  expire(request: {
    readonly before: number;
    readonly limit: number;
    readonly at: number;
  }): Promise<readonly string[]>;
  /** Stores a price: its version, and its rates as JSON text. A version is stored once. */
  definePrice(price: {
    readonly version: string;
    readonly rates: string;
    readonly at: number;
  }): Promise<void>;
  /** Finds a claim by its name; undefined where nobody has it, or its time is over. */
  findClaim(request: { readonly name: string; readonly at: number }): Promise<ClaimRecord | undefined>;
  /** Deletes up to `limit` claims whose time is over; returns how many. */
  sweep(request: { readonly at: number; readonly limit: number }): Promise<number>;
  /** An account's balance; undefined where there is no such account. */
  balance(account: string): Promise<Balance | undefined>;
  /** Makes an account; false where it was there already. */
  createAccount(account: { readonly name: string; readonly at: number }): Promise<boolean>;
  /** Accounts, in the order of their names. */
  listAccounts(page: Page): Promise<readonly AccountRecord[]>;
  /** Adds a credit; the answer says whether it was added now, or why not. */
  credit(credit: Credit): Promise<Credited>;
  /** Stores a new key; false where there is no such account. */
  createKey(key: NewKey): Promise<boolean>;
  /** Finds a key by the hash of its secret. Disabled and expired keys are found too, and say that they are. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  hasKeys(): Promise<boolean>;
  /** Keys, in the order of their ids; only those of `account` where it is given. `wanted` is an id, or the last four characters of a key. */
  listKeys(
    page: Page & { readonly account?: string | undefined; readonly wanted?: string | undefined },
  ): Promise<readonly KeyRecord[]>;
  /** Changes a key; false where there is no such key. */
  changeKey(change: { readonly id: string; readonly changes: KeyChanges }): Promise<boolean>;
  /** Replaces a key by another; false where there is no such key, or it was replaced before. */
  rotateKey(rotation: Rotation): Promise<boolean>;
  /** Rows of the books, for exports and for the record of a call. */
  entries(query: EntryQuery): Promise<readonly Entry[]>;
  /** Sums of calls and their cost, in the order of what they are grouped by. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Pending reservations, in the order of their calls; only those of `account` where it is given. */
  listPending(page: Page & { readonly account?: string | undefined }): Promise<readonly PendingRecord[]>;
  totals(): Promise<Totals>;
  /** Reads the books as of one moment, and says where they break a rule. Later audits read only what is new. */
  audit(): Promise<AuditReport>;
  /** Undefined where the last write succeeded, otherwise why it failed. */
  health(): Error | undefined;
  /** Finishes what was asked and closes the database. Everything asked later is refused. */
  close(): Promise<void>;
}
