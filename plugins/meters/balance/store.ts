/**
 * The ledger as the plugin sees it, whatever database keeps it. An amount is reserved before a call and leaves
 * the reservation once: posted, voided or expired. Promises are kept when they resolve: what an answer says is on
 * disk. Refusals are answers with a name; a promise rejects with `ledger_unavailable` where the database cannot be
 * asked: what was to be written is then written as a whole or not at all, and may be asked again. What is asked in one
 * turn of the event loop shares a transaction, in the order it was asked, and each operation has its own answer.
 */
import type { Charge, Nano } from '../../../core/index.ts';
import type { AuditReport } from './audit.ts';
import type { AccountRecord, Balance, Credit, Credited, CreditKind, KeyChanges, KeyRecord, NewKey, Rotation } from './people.ts';

export * from './people.ts';

/** One target a call may go to, and what it could cost there. */
export interface Quote {
  readonly model: string;
  readonly provider: string;
  /** The version of the price it is quoted at: one that `definePrice` was told of. */
  readonly price: string;
  /** The worst case at the smallest output limit worth calling with. */
  readonly least: Nano;
  /** The worst case at the output limit asked for. */
  readonly most: Nano;
  /** Our estimate of its input in tokens, and what that costs: what is owed where nobody hears of the call again. */
  readonly input: number;
  readonly owed: Nano;
}

/** An `Idempotency-Key` that a call wants for itself: taken in the transaction that reserves, so that one of many gets it. */
export interface Claim {
  /** A digest of the account and the client's own key: at most one call has it at a time. */
  readonly name: string;
  /** A digest of the body, to tell a retry from another call under the same key. */
  readonly fingerprint: string;
  /** Until when its outcome is kept. A claim whose call is pending is kept until the call ends, whatever this says. */
  readonly expires: number;
}

export interface ReserveRequest {
  /** The exchange's id, and the reservation's from then on. */
  readonly id: string;
  readonly account: string;
  /** The id of the key that pays; one the ledger does not know has no cap. */
  readonly key: string;
  /** In the order to try. */
  readonly quotes: readonly Quote[];
  readonly claim?: Claim | undefined;
  /** Milliseconds since the epoch, here and below. */
  readonly at: number;
}

/**
 * `reserved`: `quote` is the place of the one that was taken, `amount` its `most`, or all that was available where
 * that is less. `short`: no quote is affordable, out of the account's balance or, `by` it, out of what is left of
 * the key's spend cap. `claimed`: another call has the claim. `limited`: the key has made its calls of this minute,
 * which has so many milliseconds left. Only what is reserved counts as a call.
 */
export type Reserved =
  | { readonly status: 'reserved'; readonly quote: number; readonly amount: Nano }
  | { readonly status: 'short'; readonly by: 'balance' | 'cap'; readonly available: Nano }
  | { readonly status: 'claimed'; readonly claim: ClaimRecord }
  | { readonly status: 'limited'; readonly rate: number; readonly wait: number };

/** What a call used, and what that comes to: on the entry that ends it, kept with it for reports and for checking. */
export interface Consumption {
  /** Who was asked last, and the version of the price that was charged: undefined where nobody was asked. */
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly price: string | undefined;
  /** Tokens in and out, whole: cached, audio and reasoning parts included. */
  readonly input: number;
  readonly output: number;
  /** The figures it was charged by, as JSON text of a `Usage`. */
  readonly usage: string;
  /** What each kind cost, as JSON text of `[kind, units, rate]`: the rate in USD, for a million where units are tokens. Their exact sum, rounded once, is the amount. */
  readonly costs: string;
  readonly attempts: number;
}

/** A reply as it was sent, kept for a retry of its call. */
export interface StoredOutcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** False where only its start was kept. */
  readonly whole: boolean;
}

export interface Settlement extends Consumption {
  readonly id: string;
  /** What is owed, never below zero; undefined voids the reservation. */
  readonly amount: Nano | undefined;
  /** How the call ended: `completed`, `aborted`, `cut`, or the code of the error it ended with. */
  readonly reason: string;
  readonly basis: Charge['basis'];
  /** Whether the vendor's figures could not be true and were bounded, or their price is not known. */
  readonly suspect: boolean;
  /** What the call's claim stands for from now on. Kept where the reservation is posted; a void makes the claim free again. */
  readonly outcome?: StoredOutcome | undefined;
  readonly at: number;
}

/**
 * What settling did. `overage` is what was owed above the reservation, posted as an entry of its own. `adjusted`:
 * the reservation had been recovered or had expired, and what is owed `by` this more (or less, below zero) became a
 * flagged entry. `already_…`: it had ended before, it stays as it is and nothing was written.
 */
export type Settled =
  | { readonly status: 'posted'; readonly posted: Nano; readonly overage: Nano }
  | { readonly status: 'adjusted'; readonly by: Nano }
  | { readonly status: 'voided' | 'already_posted' | 'already_voided' | 'already_adjusted' | 'not_found' };

/** How far a call has come: what it is settled by if nobody hears of it again. Until a beat tells otherwise it was sent, and is owed as its quote says. */
export interface Progress extends Consumption {
  readonly id: string;
  /** Whether a vendor was sent it: one that never was is voided. */
  readonly sent: boolean;
  /** UTF-8 bytes of output that went to the client. */
  readonly delivered: number;
  /** What would be owed if it ended here, by the written policy. */
  readonly owed: Nano;
}

/** A sign of life: its owner's reservations stay its own for another `lease` milliseconds. */
export interface Beat {
  readonly lease: number;
  /** Of the calls that came further since the last beat; those that ended meanwhile are passed over. */
  readonly progress: readonly Progress[];
}

/** One who has reservations pending, or was alive until lately. */
export interface OwnerRecord {
  readonly owner: string;
  /** Grows with each beat, also of one that was recovered and came back; 0 where there never was one. Whoever sees it stand still for `lease` milliseconds of their own clock may recover. */
  readonly beat: number;
  readonly lease: number;
  readonly pending: number;
}

export interface RecoverRequest {
  readonly owner: string;
  /** The beat at which the owner was seen to stand still: where it went on since, nothing is recovered. */
  readonly beat: number;
  /** How many reservations at most: a long list is recovered in parts, so that others may write between them. */
  readonly limit: number;
  readonly at: number;
}

export interface RecoveredCall {
  readonly id: string;
  readonly status: 'posted' | 'voided';
  /** Posted, with what was owed above the reservation. */
  readonly amount: Nano;
}

export interface ClaimRecord extends Claim {
  /** The id of the call. */
  readonly call: string;
  readonly state: 'running' | 'done';
  /** Undefined while it runs, and where a process died before it could be kept. */
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
  /** Of all but credits: the id of the call, and of the key that pays. */
  readonly call: string | undefined;
  readonly key: string | undefined;
  /** The number of the `reserve` entry that this one ends or follows. */
  readonly reservation: number | undefined;
  /** Of credits: their kind and reference. */
  readonly source: CreditKind | undefined;
  readonly reference: string | undefined;
  /** Of ends, what `Settlement` says of them. Model, provider and price of a `reserve` are the quote's. */
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
  /** `recovered`: by another than its owner. `late`: after it had been recovered or had expired. `suspect`: figures were bounded, or their price is not known. */
  readonly flags: readonly ('recovered' | 'late' | 'suspect')[];
}

/** Rows in the order they were written, after the one numbered `after`; what is left undefined is not looked at. */
export interface EntryQuery {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly call?: string | undefined;
  /** Only these kinds; all of them where undefined. */
  readonly kinds?: readonly EntryKind[] | undefined;
  /** From this moment on, and until before that one. */
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
  /** What a row is made of; without any there is one row of everything. */
  readonly by: readonly UsageGroup[];
}

/** Calls that were posted, summed up; overages and adjustments are in `cost`. */
export interface UsageRow {
  /** What it was grouped by, and only that; a day is an ISO date, in UTC. */
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

/** A reservation that has not ended, with what its owner's last beat said of its call. */
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
  /** Marks this store's reservations as its own: another one in another process has another. */
  readonly owner: string;
  /** Passed quotes in order of preference; the first whose `least` is available, to the account and under the key's cap, is taken. */
  reserve(request: ReserveRequest): Promise<Reserved>;
  /** Passed what a reserved call ended as; posts no more than was reserved, and what is owed above it as overage. */
  settle(settlement: Settlement): Promise<Settled>;
  /** Passed a sign of life and how far calls have come; resolves when it is on disk. */
  beat(beat: Beat): Promise<void>;
  /** Everyone with reservations pending or beats on record, oneself among them. */
  owners(): Promise<readonly OwnerRecord[]>;
  /** Passed an owner that stands still; ends its reservations by their last progress, flagged. Empty: there are none left, or it lives. */
  recover(request: RecoverRequest): Promise<readonly RecoveredCall[]>;
  /** Passed an age; ends reservations made before it, whoever owns them, and gives them back. Answers their ids. */
  expire(request: { readonly before: number; readonly limit: number; readonly at: number }): Promise<readonly string[]>;
  /** Passed the version of a price and its rates as JSON text; the same version is kept once. */
  definePrice(price: { readonly version: string; readonly rates: string; readonly at: number }): Promise<void>;
  /** Passed a claim's name; undefined: nobody has it, or its time is over. */
  findClaim(request: { readonly name: string; readonly at: number }): Promise<ClaimRecord | undefined>;
  /** Takes away up to `limit` claims whose time is over; answers how many. */
  sweep(request: { readonly at: number; readonly limit: number }): Promise<number>;
  /** Passed an account's name; undefined: no such account. */
  balance(account: string): Promise<Balance | undefined>;
  /** Passed a name; false: the account was there already. */
  createAccount(account: { readonly name: string; readonly at: number }): Promise<boolean>;
  /** Accounts by name. */
  listAccounts(page: Page): Promise<readonly AccountRecord[]>;
  /** Passed a credit; answers whether it was added now, or why not. */
  credit(credit: Credit): Promise<Credited>;
  /** Passed a new key; false: there is no such account. */
  createKey(key: NewKey): Promise<boolean>;
  /** Passed the hash of a secret; undefined: no such key. Disabled and expired ones are found and say so. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  hasKeys(): Promise<boolean>;
  /** Keys by id; of one account where one is named. `wanted`: only those with this id or these last four characters. */
  listKeys(page: Page & { readonly account?: string | undefined; readonly wanted?: string | undefined }): Promise<readonly KeyRecord[]>;
  /** Passed a key's id and what is to be different; false: there is no such key. */
  changeKey(change: { readonly id: string; readonly changes: KeyChanges }): Promise<boolean>;
  /** Passed a key that goes and one that comes; false: there is no such key, or it went before. */
  rotateKey(rotation: Rotation): Promise<boolean>;
  /** The rows of the books, for exports and for a call's own record. */
  entries(query: EntryQuery): Promise<readonly Entry[]>;
  /** Calls and what they cost, summed up in the order of what they are grouped by. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Reservations that have not ended, by call; of one account where one is named. */
  listPending(page: Page & { readonly account?: string | undefined }): Promise<readonly PendingRecord[]>;
  totals(): Promise<Totals>;
  /** Reads the books, as of one moment, and says where they break a rule; from the second time on only what came since is read. */
  audit(): Promise<AuditReport>;
  /** Whether the last writing was possible; the reason where it was not. */
  health(): Error | undefined;
  /** Finishes what was asked and lets go of the database; everything asked later is refused. */
  close(): Promise<void>;
}
