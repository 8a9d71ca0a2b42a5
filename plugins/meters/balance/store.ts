/**
 * The ledger as the plugin sees it, whatever database keeps it. An amount is reserved before a call and leaves
 * the reservation once: posted or voided. Promises are kept when they resolve: what an answer says is on disk.
 * Refusals are answers with a name; a promise rejects with `ledger_unavailable` where the database cannot be
 * asked, and then nothing was written that the answer would have told. What is asked to be written in one turn of
 * the event loop is written in the order it was asked.
 */
import type { Charge, Nano } from '../../../core/index.ts';

/** One target a call may go to, and what it could cost there. */
export interface Quote {
  readonly model: string;
  readonly provider: string;
  /** The worst case at the smallest output limit worth calling with. */
  readonly least: Nano;
  /** The worst case at the output limit asked for. */
  readonly most: Nano;
}

export interface ReserveRequest {
  /** The exchange's id, and the reservation's from then on. */
  readonly id: string;
  readonly account: string;
  readonly key: string;
  /** In the order to try. */
  readonly quotes: readonly Quote[];
  /** Milliseconds since the epoch, here and below. */
  readonly at: number;
}

export interface Reserved {
  /** Which of the quotes was taken. */
  readonly quote: number;
  /** Its `most`, or all that was available where that is less. */
  readonly amount: Nano;
}

export interface Settlement {
  readonly id: string;
  /** What is owed; undefined voids the reservation. */
  readonly amount: Nano | undefined;
  /** How the call ended: `completed`, `aborted`, `cut`, or the code of the error it ended with. */
  readonly reason: string;
  readonly basis: Charge['basis'];
  /** Usage, and the price it was charged at, as JSON text. */
  readonly usage: string;
  readonly price: string | undefined;
  /** Who was asked last: undefined where nobody was. */
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly attempts: number;
  readonly at: number;
}

/** What settling did; a reservation that is not pending any more stays as it is, and its state is named. */
export type Settled =
  | { readonly status: 'posted'; readonly posted: Nano; readonly overage: Nano }
  | { readonly status: 'voided' | 'already_posted' | 'already_voided' | 'expired' | 'not_found' };

/** Posted amounts, except `pending`: what reservations hold at the moment. */
export interface Balance {
  readonly total: Nano;
  readonly used: Nano;
  readonly pending: Nano;
}

export const creditKinds = ['top-up', 'bonus', 'gift-card'] as const;
export type CreditKind = (typeof creditKinds)[number];

export interface Credit {
  readonly account: string;
  readonly amount: Nano;
  readonly kind: CreditKind;
  /** Names the credit where it comes from: the same reference is credited once, whatever account it is for. */
  readonly reference: string | undefined;
  readonly at: number;
}

/** `reference_taken`: the reference stands for another amount or account; `not_found`: no such account. */
export type Credited = 'credited' | 'already_credited' | 'reference_taken' | 'not_found';

export interface NewKey {
  /** SHA-256 of the secret, in hexadecimal digits; the secret itself is nowhere kept. */
  readonly hash: string;
  readonly lastFour: string;
  readonly name: string;
  readonly account: string;
  readonly at: number;
}

export interface KeyRecord extends Omit<NewKey, 'at'> {
  readonly disabled: boolean;
  readonly created: number;
}

export interface Store {
  /** Passed quotes in order of preference; the first whose `least` is available is taken, undefined when none is. */
  reserve(request: ReserveRequest): Promise<Reserved | undefined>;
  /** Passed what a reserved call ended as; posts no more than was reserved, and what is owed above it as overage. */
  settle(settlement: Settlement): Promise<Settled>;
  /** Passed an account's name; undefined: no such account. */
  balance(account: string): Promise<Balance | undefined>;
  /** Passed a name; false: the account was there already. */
  createAccount(account: { readonly name: string; readonly at: number }): Promise<boolean>;
  /** Passed a credit of more than nothing; answers whether it was added now, or why not. */
  credit(credit: Credit): Promise<Credited>;
  /** Passed a new key; false: there is no such account. */
  createKey(key: NewKey): Promise<boolean>;
  /** Passed the hash of a secret; undefined: no such key. Disabled ones are found and say so. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** All keys, the oldest first. */
  listKeys(): Promise<readonly KeyRecord[]>;
  /** Passed a key's hash; false: there is no such key. */
  disableKey(hash: string): Promise<boolean>;
  /** Finishes what was asked and lets go of the database; everything asked later is refused. */
  close(): Promise<void>;
}
