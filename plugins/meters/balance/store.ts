/**
 * The ledger as the plugin sees it, whatever database keeps it. `reserve` sets an amount aside before a call,
 * and the amount leaves the reservation once: it is posted, voided or expired. When a promise resolves, its
 * answer is on disk. A refusal is an answer with a status. A promise rejects with `ledger_unavailable` if the
 * database fails: then all of the operation was written or none of it, and the caller may ask again.
 * Operations asked in one turn of the event loop share a transaction, in that order, and each gets its own
 * answer.
 */
import type { StoredDocument } from '../../../core/index.ts';
import type {
  AccountRecord,
  Balance,
  Credit,
  Credited,
  KeyChanges,
  KeyRecord,
  NewKey,
  Rotation,
} from './accounts.ts';
import type { AuditReport } from './audit-report.ts';
import type {
  Entry,
  EntryQuery,
  KeyPage,
  Page,
  PendingRecord,
  Totals,
  UsageQuery,
  UsageRow,
} from './books.ts';
import { budgetOperations } from './budgets/requests.ts';
import { callOperations } from './calls/operations.ts';
import { repairOperations } from './calls/rollup-repair.ts';
import { correctionOperations, type Action } from './corrections.ts';
import { read, report, write, type Definition, type QueueName } from './definitions.ts';
import type { DocumentWrite } from './documents.ts';
import { exportOperations } from './export/operations.ts';
import type {
  Beat,
  ClaimRecord,
  ExpireRequest,
  OwnerRecord,
  PriceDefinition,
  RecoveredCall,
  RecoverRequest,
  Reserved,
  ReserveRequest,
  Settled,
  Settlement,
} from './reservations.ts';

export * from './accounts.ts';
export * from './books.ts';
export * from './corrections.ts';
export * from './budgets/budget.ts';
export * from './budgets/requests.ts';
export type * from './calls/overview.ts';
export type * from './calls/records.ts';
export * from './definitions.ts';
export type * from './export/operations.ts';
export * from './reservations.ts';

/**
 * The one list of what a store can be asked. The types of both stores, of their threads and of `Store` follow
 * from it.
 */
export const operations = {
  /** Reserves the first quote whose `least` the account can pay within the key's cap. */
  reserve: write<(request: ReserveRequest) => Reserved>(),
  /**
   * Ends a reservation. It posts no more than was reserved; an overage entry holds the rest of what is owed.
   */
  settle: write<(settlement: Settlement) => Settled>(),
  /** Records a heartbeat and how far calls have come. */
  beat: write<(beat: Beat) => void>(),
  /**
   * Ends the reservations of a dead owner by their last progress, with a flag. Returns none if none are left,
   * or if the owner has beaten since.
   */
  recover: write<(request: RecoverRequest) => readonly RecoveredCall[]>(),
  /** Ends and gives back reservations made before a time, of every owner. Returns their ids. */
  expire: write<(request: ExpireRequest) => readonly string[]>(),
  /** Stores a price: its version, and its rates as JSON text. A version is stored once. */
  definePrice: write<(price: PriceDefinition) => void>(),
  /** Deletes up to `limit` expired claims; returns how many. */
  sweep: write<(request: { readonly at: number; readonly limit: number }) => number>(),
  /** Makes an account; false if it exists. */
  createAccount: write<(account: { readonly name: string; readonly at: number }) => boolean>(),
  /** Adds a credit; the answer says whether it was added now, or why not. */
  credit: write<(credit: Credit) => Credited>(),
  /** Stores a new key; false if there is no such account. */
  createKey: write<(key: NewKey) => boolean>(),
  /** Changes a key; false if there is no such key. */
  changeKey: write<(change: { readonly id: string; readonly changes: KeyChanges }) => boolean>(),
  /** Replaces a key by another; false if there is no such key, or it was replaced before. */
  rotateKey: write<(rotation: Rotation) => boolean>(),

  /** Writes a document; false if another process wrote it since it was read. */
  writeDocument: write<(document: DocumentWrite) => boolean>(),

  /** A document by its name; undefined if it was never written. */
  readDocument: read<(name: string) => StoredDocument | undefined>(),
  /** All owners that have pending reservations or have beaten, this store's among them. */
  owners: read<() => readonly OwnerRecord[]>(),
  /** Finds a claim by its name; undefined if no call holds it, or it has expired. */
  findClaim: read<(request: { readonly name: string; readonly at: number }) => ClaimRecord | undefined>(),
  /** An account's balance; undefined if there is no such account. */
  balance: read<(account: string) => Balance | undefined>(),
  /** Finds a key by the hash of its secret. Finds disabled and expired keys too, and says that they are. */
  findKey: read<(hash: string) => KeyRecord | undefined>(),
  hasKeys: read<() => boolean>(),

  /** Accounts, in the order of their names. */
  listAccounts: report<(page: Page & { readonly wanted?: string }) => readonly AccountRecord[]>(),
  /** Keys, in the order of their ids. */
  listKeys: report<(page: KeyPage) => readonly KeyRecord[]>(),
  /** Rows of the books, for exports and for the record of a call. */
  entries: report<(query: EntryQuery) => readonly Entry[]>(),
  /** Sums of calls and their cost, in the order of what they are grouped by. */
  usage: report<(query: UsageQuery) => readonly UsageRow[]>(),
  /** Pending reservations, in the order of their calls; only those of `account` if it is given. */
  listPending: report<(page: Page & { readonly account?: string | undefined }) => readonly PendingRecord[]>(),
  totals: report<() => Totals>(),
  ...budgetOperations,
  ...callOperations,
  ...correctionOperations,
  ...exportOperations,
  ...repairOperations,
};

type Functions<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Definition<QueueName, infer Run>
    ? NonNullable<Run>
    : never;
};

/** The functions of a table as methods that answer later. */
export type Methods<Table> = {
  [Name in keyof Table]: Functions<Table>[Name] extends (...asked: infer Asked) => infer Answer
    ? (...asked: Asked) => Promise<Answer>
    : never;
};

export interface Store extends Methods<typeof operations> {
  /** Marks reservations as this store's. Every process has another. */
  readonly owner: string;
  /** Reads the books at one moment, and says where they break a rule. Later audits read only what is new. */
  audit(): Promise<AuditReport>;
  /** The store with an operator's action, written with the first change and in its transaction. */
  recording(action: Action): Store;
  /** Undefined if the last write succeeded, otherwise why it failed. */
  health(): Error | undefined;
  /** Finishes what was asked and closes the database. Everything asked later is refused. */
  close(): Promise<void>;
}
