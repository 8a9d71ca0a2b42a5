/** The accounts of a ledger, their credit and their keys, and what each key may do. */
import type { Nano } from '../../../core/index.ts';

/** Posted amounts, except `pending`, which is what reservations hold at the moment. */
export interface Balance {
  readonly total: Nano;
  readonly used: Nano;
  readonly pending: Nano;
}

export interface AccountRecord extends Balance {
  readonly name: string;
  /** The names of the accounts above it, nearest first. */
  readonly line: readonly string[];
  readonly state: AccountState;
  readonly created: number;
}

export const creditKinds = ['top-up', 'bonus', 'gift-card'] as const;

/** Later changes of what an account was credited. Each has a reason and an author. */
export const correctionKinds = ['adjustment', 'refund', 'chargeback'] as const;
export type CorrectionKind = (typeof correctionKinds)[number];
export const creditSources = [...creditKinds, ...correctionKinds] as const;
export type CreditSource = (typeof creditSources)[number];

export function isCorrection(kind: CreditSource): boolean {
  return correctionKinds.some((known) => known === kind);
}

/** A disabled account's keys are refused. A closed one stays closed, and gets no new keys. */
export const accountStates = ['open', 'disabled', 'closed'] as const;
export type AccountState = (typeof accountStates)[number];

/** `held`: an account with running calls cannot be closed. `closed`: a closed account stays closed. */
export type StateChanged = 'changed' | 'not_found' | 'held' | 'closed';

export interface Credit {
  readonly account: string;
  /** Above zero; an adjustment or a chargeback may take credit back. */
  readonly amount: Nano;
  readonly kind: CreditSource;
  /**
   * Where the credit comes from. The same reference is credited only once, even if it comes again for another
   * account.
   */
  readonly reference: string | undefined;
  /** Of corrections: why, and who made it. */
  readonly reason?: string | undefined;
  readonly author?: string | undefined;
  readonly at: number;
}

/** Whether an amount suits the kind of a credit. */
export function isFitting({ amount, kind }: Pick<Credit, 'amount' | 'kind'>): boolean {
  if (kind === 'adjustment') return amount !== 0n;
  return kind === 'chargeback' ? amount < 0n : amount > 0n;
}

/** `reference_taken`: the reference belongs to another amount or account; `not_found`: no such account. */
export type Credited = 'credited' | 'already_credited' | 'reference_taken' | 'not_found' | 'too_much';

/** The most that one account can be credited in all: both databases keep amounts as 64-bit integers. */
export const mostCredit: Nano = 2n ** 63n - 1n;

/** An amount that is out of range itself is left to the database, which refuses it. */
export function isTooMuch(total: Nano, amount: Nano): boolean {
  return amount <= mostCredit && (total + amount > mostCredit || total + amount < -mostCredit);
}

/** What a key may do. Where a limit is undefined, the key may do what its account may. */
export interface KeyLimits {
  /**
   * All it may ever spend. `reserve` checks this and `callsPerMinute`; the other limits are checked before it
   * is called.
   */
  readonly spendCap: Nano | undefined;
  /** The ids of the models it may call. */
  readonly models: readonly string[] | undefined;
  /** Since when it is refused. */
  readonly expires: number | undefined;
  /** Calls are counted together with those of the keys that it replaced. */
  readonly callsPerMinute: number | undefined;
  /** Tags that all its calls have. */
  readonly tags: readonly string[];
  /** Whether an operator key may only read. */
  readonly readOnly: boolean;
}

export interface NewKey extends KeyLimits {
  /** The start of its hash, which names it in every list and message. */
  readonly id: string;
  /** SHA-256 of the secret, in hexadecimal digits. The secret itself is not kept anywhere. */
  readonly hash: string;
  readonly lastFour: string;
  readonly name: string;
  /** `user` keys spend from an account; `operator` keys have none and spend nothing. */
  readonly kind: 'user' | 'operator';
  /** Undefined only for operator keys. */
  readonly account: string | undefined;
  readonly at: number;
}

export interface KeyRecord extends Omit<NewKey, 'at'> {
  readonly disabled: boolean;
  /** The state of its account; `open` for operator keys. */
  readonly accountState: AccountState;
  readonly created: number;
  /** What its calls have cost, and what their reservations hold: both count against `spendCap`. */
  readonly used: Nano;
  readonly pending: Nano;
  /** The key that took its place, once it was rotated; this one works until it expires. */
  readonly rotatedTo: string | undefined;
}

/** The changes to a key. What is not named stays as it is; null takes a limit away. */
export interface KeyChanges {
  readonly name?: string;
  readonly disabled?: boolean;
  readonly spendCap?: Nano | null;
  readonly models?: readonly string[] | null;
  readonly expires?: number | null;
  readonly callsPerMinute?: number | null;
  readonly tags?: readonly string[];
}

export interface Rotation {
  /** The id of the key that is replaced. */
  readonly id: string;
  /** Until when it still works. */
  readonly until: number;
  /** The key that replaces it, with the same name, account, limits and spending. */
  readonly key: Pick<NewKey, 'id' | 'hash' | 'lastFour' | 'at'>;
}
