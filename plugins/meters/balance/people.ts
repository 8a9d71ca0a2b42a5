/** Who there is in a ledger, and what they have and may do: accounts, their credit and their keys. */
import type { Nano } from '../../../core/index.ts';

/** Posted amounts, except `pending`: what reservations hold at the moment. */
export interface Balance {
  readonly total: Nano;
  readonly used: Nano;
  readonly pending: Nano;
}

export interface AccountRecord extends Balance {
  readonly name: string;
  readonly created: number;
}

export const creditKinds = ['top-up', 'bonus', 'gift-card'] as const;
export type CreditKind = (typeof creditKinds)[number];

export interface Credit {
  readonly account: string;
  /** More than nothing. */
  readonly amount: Nano;
  readonly kind: CreditKind;
  /** Names the credit where it comes from: the same reference is credited once, whatever account it is for. */
  readonly reference: string | undefined;
  readonly at: number;
}

/** `reference_taken`: the reference stands for another amount or account; `not_found`: no such account. */
export type Credited = 'credited' | 'already_credited' | 'reference_taken' | 'not_found';

/** What a key may do; undefined: as much as its account. */
export interface KeyLimits {
  /** All it may ever spend. Held by `reserve`, as `callsPerMinute` is; the others by whoever asks before it. */
  readonly spendCap: Nano | undefined;
  /** The ids of the models it may call. */
  readonly models: readonly string[] | undefined;
  /** From when on it is refused. */
  readonly expires: number | undefined;
  /** Counted with those of the keys it took the place of. */
  readonly callsPerMinute: number | undefined;
}

export interface NewKey extends KeyLimits {
  /** What it is called where it is shown: the start of its hash. */
  readonly id: string;
  /** SHA-256 of the secret, in hexadecimal digits; the secret itself is nowhere kept. */
  readonly hash: string;
  readonly lastFour: string;
  readonly name: string;
  /** `user` keys spend from an account; `operator` keys have none and spend nothing. */
  readonly kind: 'user' | 'operator';
  /** Undefined for operator keys alone. */
  readonly account: string | undefined;
  readonly at: number;
}

export interface KeyRecord extends Omit<NewKey, 'at'> {
  readonly disabled: boolean;
  readonly created: number;
  /** What its calls have cost, and what their reservations hold: both count against `spendCap`. */
  readonly used: Nano;
  readonly pending: Nano;
  /** The key that took its place, once it was rotated; this one works until it expires. */
  readonly rotatedTo: string | undefined;
}

/** What of a key is to be different; what is not named stays. A limit is taken away by null. */
export interface KeyChanges {
  readonly name?: string;
  readonly disabled?: boolean;
  readonly spendCap?: Nano | null;
  readonly models?: readonly string[] | null;
  readonly expires?: number | null;
  readonly callsPerMinute?: number | null;
}

export interface Rotation {
  /** The id of the key that goes. */
  readonly id: string;
  /** Until when it still works. */
  readonly until: number;
  /** The key that comes: it has the name, the account, the limits and the spending of the one that goes. */
  readonly key: Pick<NewKey, 'id' | 'hash' | 'lastFour' | 'at'>;
}
