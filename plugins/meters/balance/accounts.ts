/** The accounts of a ledger, their credit and their keys, and what each key may do. */
import type { Nano } from '../../../core/index.ts';
import * as rows from './rows.ts';
import { readTerms } from './terms.ts';

/** The keys of a disabled account are refused. A closed account cannot be reopened or get new keys. */
export const accountStates = ['open', 'disabled', 'closed'] as const;
export type AccountState = (typeof accountStates)[number];

/** Posted amounts, except `pending`: the amount that reservations hold now. */
const balanceFields = { total: rows.readInteger, used: rows.readInteger, pending: rows.readInteger };
export type Balance = rows.RecordOf<typeof balanceFields>;
export const readBalance = rows.createReader(balanceFields);

export const readAccount = rows.createReader({
  ...balanceFields,
  name: rows.readText,
  /** The names of the accounts above this account, nearest first. */
  line: rows.readList,
  state: rows.matchWord(accountStates),
  created: rows.readCount,
  /** What keys its members may make, as JSON. */
  memberKeys: rows.allowNull(rows.readText),
  terms: readTerms,
  /** When its allowance is credited next. */
  due: rows.pickColumn('allowance_due', rows.allowNull(rows.readCount)),
});
export type AccountRecord = ReturnType<typeof readAccount>;

/** An account of a team, and how many calls of its keys were charged. */
export type TeamRow = AccountRecord & { readonly calls: number };

export const creditKinds = ['top-up', 'bonus', 'gift-card'] as const;

/** Corrections of an account's credit. Each has a reason and an author. */
const correctionKinds = ['adjustment', 'refund', 'chargeback'] as const;
export type CorrectionKind = (typeof correctionKinds)[number];
export const creditSources = [...creditKinds, ...correctionKinds] as const;
type CreditSource = (typeof creditSources)[number];

/** What the ledger credits on its own, and what it takes back of that. */
export const allowanceKinds = ['allowance', 'allowance-reset'] as const;
/** The kinds of credit as readers see them. */
export const shownSources = [...creditSources, ...allowanceKinds] as const;
type ShownSource = (typeof shownSources)[number];

/** The stored kind is one that the version before knows; the period tells allowances from others. */
export function readSource(row: rows.Row): ShownSource | undefined {
  if (row.period === null) return rows.readOptional(row, 'source', rows.matchWord(creditSources));
  return rows.readInteger(row, 'credits') < 0n ? 'allowance' : 'allowance-reset';
}

export function isCorrection(kind: ShownSource): boolean {
  return correctionKinds.some((known) => known === kind);
}

/** `held`: an account with running calls cannot be closed. `closed`: a closed account stays closed. */
export type StateChanged = 'changed' | 'not_found' | 'held' | 'closed';

export interface Credit {
  readonly account: string;
  /** Above zero; an adjustment or a chargeback may take credit back. */
  readonly amount: Nano;
  readonly kind: CreditSource;
  /**
   * Where the credit comes from. A reference is credited only once, even if it is sent again for another
   * account.
   */
  readonly reference?: string | undefined;
  /** Only on corrections: why, and who made it. */
  readonly reason?: string | undefined;
  readonly author?: string | undefined;
  readonly at: number;
}

export function fitsKind({ amount, kind }: { readonly amount: Nano; readonly kind: ShownSource }): boolean {
  if (kind === 'adjustment') return amount !== 0n;
  return kind === 'chargeback' || kind === 'allowance-reset' ? amount < 0n : amount > 0n;
}

/** `reference_taken`: the reference belongs to another amount or account; `not_found`: no such account. */
export type Credited = 'credited' | 'already_credited' | 'reference_taken' | 'not_found' | 'too_much';

/** The most that one account can be credited in all: both databases keep amounts as 64-bit integers. */
export const mostCredit: Nano = 2n ** 63n - 1n;

/** The database itself refuses a single amount that is out of range. */
export function isTooMuch(total: Nano, amount: Nano): boolean {
  return amount <= mostCredit && (total + amount > mostCredit || total + amount < -mostCredit);
}

/** What a key is limited to. Where a limit is undefined, the key may do what its account may. */
const limitFields = {
  /**
   * The most that the key may ever spend. `reserve` checks this and `callsPerMinute`; callers check the
   * other limits first.
   */
  spendCap: rows.allowNull(rows.readInteger),
  /** The ids of the models that the key may call. */
  models: rows.allowNull(rows.readTexts),
  /** Since when the key is refused. */
  expires: rows.allowNull(rows.readCount),
  /** The networks that it may be used from, in CIDR notation. */
  networks: rows.allowNull(rows.readTexts),
  /** The names of the protocols that it may be used with, and the operations that it may be used for. */
  protocols: rows.allowNull(rows.readTexts),
  operations: rows.allowNull(rows.readTexts),
  /** Calls of the keys that this key replaced count towards the same limit. */
  callsPerMinute: rows.allowNull(rows.readCount),
};
type Limits = rows.RecordOf<typeof limitFields>;

/** All limits of keys, in one place: columns, orders and changes follow from it. */
export const limitNames = rows.listFields(limitFields);
/** Limits as they are ordered and changed: null is no limit. */
export type LimitOrder = { readonly [Name in keyof Limits]?: Limits[Name] | null };

const identityFields = {
  /** The start of its hash, which names it in every list and message. */
  id: rows.readText,
  /** SHA-256 of the secret, in hexadecimal digits. The secret itself is not stored. */
  hash: rows.readText,
  lastFour: rows.readText,
  name: rows.readText,
  /** `user` keys spend from an account; `operator` keys have none and spend nothing. */
  kind: rows.matchWord(['user', 'operator']),
  /** Undefined only for operator keys. */
  account: rows.pickColumn('account_name', rows.allowNull(rows.readText)),
};

export interface NewKey extends rows.RecordOf<typeof identityFields>, LimitOrder {
  readonly at: number;
  readonly tags?: readonly string[];
  readonly readOnly?: boolean;
  readonly holder?: string | undefined;
  /** Makes the key only if its holder has fewer keys of the account. */
  readonly mostHeld?: number | undefined;
  /** Makes the key only if no other key of the account has its name. */
  readonly onlyNamed?: true;
  /** Makes the key only in a ledger that has none. */
  readonly onlyFirst?: true;
}

/** Reads a row of a key, joined with its root and its account. */
export const readKey = rows.createReader({
  ...identityFields,
  ...limitFields,
  /** Tags that every call of the key gets. */
  tags: rows.readList,
  /** Whether an operator key may only read. */
  readOnly: rows.readFlag,
  disabled: rows.readFlag,
  /** The person or member who made or received it. */
  holder: rows.allowNull(rows.readText),
  /** The accounts above its account, nearest first. */
  teams: rows.pickColumn('account_line', rows.readList),
  /** The state of its account; `open` for operator keys. */
  accountState: rows.matchWord(accountStates),
  created: rows.readCount,
  /** What the key's calls have cost, and what their reservations hold. Both count against `spendCap`. */
  used: rows.pickColumn('root_used', rows.readInteger),
  pending: rows.pickColumn('root_pending', rows.readInteger),
  /** The first of the keys that this key replaced by rotation; the key itself if it replaced none. */
  root: rows.readText,
  /** After a rotation: the key that replaces this key, which works until it expires. */
  rotatedTo: rows.allowNull(rows.readText),
});
export type KeyRecord = ReturnType<typeof readKey>;

/** The changes to a key. Omitted fields stay as they are; null removes a limit. */
export type KeyChanges = Partial<Pick<KeyRecord, 'name' | 'disabled' | 'tags'>> &
  LimitOrder & { readonly holder?: string | null };
