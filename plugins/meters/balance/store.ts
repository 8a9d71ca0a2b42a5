/**
 * The ledger as the plugin sees it, with either database. `reserve` sets an amount aside before a call,
 * `extend` sets more aside before a dearer attempt, and the amount leaves the reservation once: it is posted,
 * voided or expired. When a promise resolves, its result is on disk. A refusal is a result with a status. A
 * promise rejects with `ledger_unavailable` if the database fails: then all of the operation was written or
 * none of it, and the caller may retry.
 * Operations requested in one turn of the event loop share a transaction, in that order, and each gets its
 * own result. If a statement of a plugin fails, its operation rejects with a `TableFault`, and no other does.
 */
import type {
  Nano,
  StoredDocument,
  TableDeclaration,
  TableRow,
  TableStatement,
  CallStatements,
} from '../../../core/index.ts';
import type * as accounts from './accounts.ts';
import type { AuditReport } from './audit.ts';
import type * as books from './books.ts';
import type * as budgets from './budgets/budget.ts';
import type { OverviewQuery, OverviewRow } from './calls/overview.ts';
import type { CallQuery, CallRow, StoredCall } from './calls/records.ts';
import type * as erasures from './erasures/records.ts';
import type { ExportSlice } from './export/lines.ts';
import type * as invitations from './invitations/records.ts';
import type * as reservations from './reservations.ts';
import type { FoundNames, TaggedCalls } from './sql/names.ts';
import type { TermsChange, TermsChanged } from './terms.ts';

export * from './accounts.ts';
export * from './books.ts';
export * from './budgets/budget.ts';
export type * from './calls/overview.ts';
export type * from './calls/records.ts';
export type * from './erasures/records.ts';
export type * from './export/lines.ts';
export type * from './invitations/records.ts';
export * from './reservations.ts';
export * from './terms.ts';

/**
 * Operations wait in four queues. Writes travel together and share a transaction. Upkeep writes too, but
 * no call waits for it, so it has transactions of its own. Reads are quick and need no transaction.
 * Reports take long, so SQLite runs them in a thread of their own: it cannot write while it reads.
 */
export const queueNames = ['writes', 'upkeep', 'reads', 'reports'] as const;
export type QueueName = (typeof queueNames)[number];

/** One operation: its queue, and as a type its function, which is never present at run time. */
export interface Definition<Queue extends QueueName, Run> {
  readonly queue: Queue;
  readonly run?: Run;
}

const defineWrite = <Run>(): Definition<'writes', Run> => ({ queue: 'writes' });
const defineUpkeep = <Run>(): Definition<'upkeep', Run> => ({ queue: 'upkeep' });
const defineRead = <Run>(): Definition<'reads', Run> => ({ queue: 'reads' });
export const defineReport = <Run>(): Definition<'reports', Run> => ({ queue: 'reports' });

type KeySecret = Pick<accounts.NewKey, 'id' | 'hash' | 'lastFour' | 'at'>;

export interface NumberPage {
  readonly after?: number | undefined;
  readonly limit: number;
}

/** `after` is the last row of the page before in this order; the oldest rows come first unless stated. */
export interface OrderedPage extends NumberPage {
  readonly order?: books.Order | undefined;
}

export interface BudgetQuery extends NumberPage {
  readonly scope?: string | undefined;
  readonly subject?: string | undefined;
  readonly id?: number | undefined;
  readonly at: number;
}

/**
 * The one list of a store's operations. The types of both stores, of their threads and of `Store` follow
 * from it.
 */
export const operations = {
  /** Reserves the first quote whose `least` the account can pay within the key's cap. */
  reserve: defineWrite<(request: reservations.ReserveRequest) => reservations.Reserved>(),
  /** Replaces a pending reservation by a larger one, if the account, the key and all budgets afford it. */
  extend: defineWrite<(request: reservations.ExtendRequest) => reservations.Extended>(),
  /**
   * Ends a reservation, as `sql/call-batch.ts` decides. It posts no more than was reserved; an overage entry
   * holds the rest of what is owed.
   */
  settle: defineWrite<(settlement: reservations.Settlement) => reservations.Settled>(),
  /** Records a heartbeat and how far calls have come. */
  beat: defineWrite<(beat: reservations.Beat) => void>(),
  /**
   * Ends the reservations of a dead owner by their last progress, with a flag. Returns none if none are left,
   * or if the owner has beaten since.
   */
  recover: defineWrite<(request: reservations.RecoverRequest) => readonly reservations.RecoveredCall[]>(),
  /** Ends and gives back reservations made before a time, of every owner. Returns their ids. */
  expire: defineWrite<(asked: reservations.ExpireRequest) => readonly string[]>(),
  /** Stores a price: its version, and its rates as JSON text. A version is stored once. */
  definePrice: defineWrite<(price: Readonly<{ version: string; rates: string; at: number }>) => void>(),
  /** Deletes up to `limit` expired claims; returns how many. */
  sweep: defineWrite<(request: Readonly<{ at: number; limit: number }>) => number>(),

  /** Creates an account; false if it exists. */
  createAccount: defineWrite<(account: Readonly<{ name: string; at: number }>) => boolean>(),
  /** Opens, disables or closes an account. */
  setAccountState:
    defineWrite<
      (change: Readonly<{ account: string; state: accounts.AccountState }>) => accounts.StateChanged
    >(),
  /** Changes what is agreed with an account. A new allowance is credited at once, if it is due. */
  setTerms: defineWrite<(change: TermsChange) => TermsChanged>(),
  /** Credits the allowances of up to `limit` accounts that are due; returns how many. */
  creditAllowances: defineWrite<(request: Readonly<{ at: number; limit: number }>) => number>(),
  /** Moves an account, with all accounts below it, below another one or to the top. */
  moveAccount: defineWrite<(move: budgets.Move) => budgets.Moved>(),
  /** Says what keys an account's members may make, as JSON; undefined: none. False if there is no account. */
  setMemberKeys: defineWrite<(change: Readonly<{ account: string; rule?: string | undefined }>) => boolean>(),
  /** Adds a credit; the result says whether it was added now, or why not. */
  addCredit: defineWrite<(credit: accounts.Credit) => accounts.Credited>(),
  /** Stores a new key; false if there is no such account, or the order forbids it by now. */
  createKey: defineWrite<(key: accounts.NewKey) => boolean>(),
  /** Changes a key; false if there is no such key. */
  changeKey: defineWrite<(change: Readonly<{ id: string; changes: accounts.KeyChanges }>) => boolean>(),
  /**
   * Replaces a key by another with the same name, account, limits and spending; the old one works until
   * `until`. False if there is no such key, or it was replaced before.
   */
  rotateKey: defineWrite<(rotation: Readonly<{ id: string; until: number; key: KeySecret }>) => boolean>(),
  /** Deletes a key: it is refused and no longer listed. Its entries stay. False if there is no such key. */
  deleteKey: defineWrite<(deletion: Readonly<{ id: string; at: number }>) => boolean>(),

  /**
   * Begins to erase an account or a holder: the keys work no longer, and names are replaced. What calls left
   * behind is erased by `eraseSome`. `held`: the account has running calls.
   */
  beginErasure: defineWrite<(erasure: erasures.NewErasure) => erasures.BegunErasure>(),
  createInvitation: defineWrite<(invitation: invitations.NewInvitation) => boolean>(),
  /** Makes the key of an invitation, with its budgets, and ends the invitation. */
  redeemInvitation: defineWrite<(redemption: invitations.Redemption) => 'created' | 'not_found' | 'ended'>(),
  /** Ends an open invitation. False if it was redeemed or withdrawn before, or does not exist. */
  withdrawInvitation: defineWrite<(invitation: Readonly<{ id: string; at: number }>) => boolean>(),

  /** Stores a budget; if one of this scope, subject and period exists, it stays as it is. */
  createBudget: defineWrite<(budget: budgets.NewBudget) => budgets.CreatedBudget>(),
  /** Changes a budget for its current period too; false if there is no such budget. */
  changeBudget:
    defineWrite<(change: Readonly<{ id: number; changes: Partial<budgets.Terms>; at: number }>) => boolean>(),
  /** Raises a budget's limit until a moment; false if there is no such budget. */
  raiseBudget:
    defineWrite<(raise: Readonly<{ id: number; amount: Nano; until: number; at: number }>) => boolean>(),
  /** Deletes a budget; false if there is no such budget. */
  deleteBudget: defineWrite<(budget: Readonly<{ id: number; at: number }>) => boolean>(),
  /**
   * Claims due warnings, and counts an attempt to hand over each. No other caller gets them until `until`.
   */
  takeWarnings:
    defineWrite<
      (claim: Readonly<{ at: number; until: number; limit: number }>) => readonly budgets.Warning[]
    >(),
  /** The warning was handed over, or abandoned. */
  endWarning: defineWrite<(warning: { readonly id: number }) => void>(),
  /** Writes a document; false if another process wrote it since the version that it `replaces`, or 0. */
  writeDocument:
    defineWrite<(document: Readonly<{ name: string; text: string; replaces: number }>) => boolean>(),
  /** Adds to the log of operators' actions. */
  recordAction: defineWrite<(action: books.Action) => void>(),

  /**
   * Stores ended calls, as JSON text, and sums up what was written; returns whether nothing is left to sum
   * up. A call is stored once.
   */
  addCalls: defineUpkeep<(batch: Readonly<{ calls: readonly string[] }>) => { readonly isDone: boolean }>(),
  /** Erases a small part, from the idempotency claim `after` on. */
  eraseSome:
    defineUpkeep<
      (part: Readonly<{ id: string; after: string; limit: number; at: number }>) => erasures.ErasedPart
    >(),
  /** Forgets whom an erasure was about, once all is erased. */
  endErasure: defineUpkeep<(erasure: Readonly<{ id: string; at: number }>) => void>(),
  /** Deletes up to `limit` calls that ended before a time, and old roll-ups. Returns how many calls. */
  sweepCalls: defineUpkeep<(request: Readonly<{ before: number; limit: number; at: number }>) => number>(),

  /**
   * Runs those migrations of a plugin's tables that have not run, and remembers what the plugin writes for
   * calls that end without their process.
   */
  migrateTables:
    defineUpkeep<
      (tables: Pick<TableDeclaration, 'name' | 'migrations'> & Pick<CallStatements, 'recover'>) => void
    >(),
  /**
   * Runs a plugin's statements in one transaction, and returns the rows of each. `withCalls`: the plugin
   * writes the same tables with calls, so this must not wait for them while they wait for it.
   */
  writeTables:
    defineUpkeep<
      (
        write: reservations.PluginStatements & { readonly withCalls: boolean },
      ) => readonly (readonly TableRow[])[]
    >(),

  /** Reads a plugin's tables. */
  readTables: defineRead<(read: TableStatement & { readonly name: string }) => readonly TableRow[]>(),
  /** A document by its name; undefined if it was never written. */
  readDocument: defineRead<(name: string) => StoredDocument | undefined>(),
  /** All owners that have pending reservations or have beaten, this store's among them. */
  listOwners: defineRead<() => readonly reservations.OwnerRecord[]>(),
  /** Finds a claim by its name; undefined if no call holds it, or it has expired. */
  findClaim:
    defineRead<(request: Readonly<{ name: string; at: number }>) => reservations.ClaimRecord | undefined>(),
  /** An account's balance; undefined if there is no such account. */
  readBalance: defineRead<(account: string) => accounts.Balance | undefined>(),
  /** Finds a key by the hash of its secret. Finds disabled and expired keys too, and says that they are. */
  findKey: defineRead<(hash: string) => accounts.KeyRecord | undefined>(),
  /** Erasures that have not ended, or the newest of all. */
  listErasures:
    defineRead<(query: Readonly<{ running: boolean; limit: number }>) => readonly erasures.ErasureRecord[]>(),
  findInvitation: defineRead<(hash: string) => invitations.InvitationRecord | undefined>(),
  hasKeys: defineRead<() => boolean>(),
  /** Whether the allowance of any open account is due. */
  hasDueAllowances: defineRead<(moment: { readonly at: number }) => boolean>(),
  /** Whether any warning is due. */
  hasDueWarnings: defineRead<(moment: { readonly at: number }) => boolean>(),

  /** Accounts, in the order of their names. */
  listAccounts:
    defineReport<(page: books.Page & { readonly wanted?: string }) => readonly accounts.AccountRecord[]>(),
  /** An account with all accounts below it, in the order of their names. */
  listTeam: defineReport<(account: string) => readonly accounts.TeamRow[]>(),
  /** Keys, in the order of their ids. */
  listKeys: defineReport<(page: books.KeyPage) => readonly accounts.KeyRecord[]>(),
  /** Invitations, in the order of their ids. */
  listInvitations:
    defineReport<
      (
        page: books.Page & { readonly account?: string | undefined; readonly wanted?: string },
      ) => readonly invitations.InvitationRecord[]
    >(),
  /** Rows of the books, for lists and for the record of a call. */
  listEntries: defineReport<(query: books.EntryQuery) => readonly books.Entry[]>(),
  /** The entries of a slice as lines, in the order of their numbers. */
  exportEntries: defineReport<(slice: ExportSlice) => string>(),
  /** The highest number up to which no entry can still appear: an export up to it is complete. */
  findLastEntry: defineReport<() => number>(),
  /** Sums of calls and their cost, in the order of what they are grouped by. */
  sumUsage: defineReport<(query: books.UsageQuery) => readonly books.UsageRow[]>(),
  /** Pending reservations, in the order of their calls; only those of `account` if it is given. */
  listPending:
    defineReport<
      (page: books.Page & { readonly account?: string | undefined }) => readonly books.PendingRecord[]
    >(),
  sumTotals: defineReport<() => books.Totals>(),
  /** Budgets in their periods at a moment, by their ids; deleted ones only if asked for by id. */
  listBudgets: defineReport<(query: BudgetQuery) => readonly budgets.BudgetRecord[]>(),
  listWarnings:
    defineReport<
      (query: OrderedPage & { readonly budget?: number | undefined }) => readonly budgets.Warning[]
    >(),
  /** The log of operators' actions, newest first. */
  listActions: defineReport<(query: books.ActionQuery) => readonly books.ActionRecord[]>(),
  /** Stored calls, newest first. */
  listCalls: defineReport<(query: CallQuery) => readonly CallRow[]>(),
  /** A stored call with its record; undefined if there is none. */
  findCall: defineReport<(id: string) => StoredCall | undefined>(),
  /** Roll-ups by one dimension and step. What was written before is summed up first. */
  sumCalls: defineReport<(query: OverviewQuery) => readonly OverviewRow[]>(),
  /** What a text may mean, up to `limit` of each kind: first what begins with it, then what contains it. */
  findNames: defineReport<(asked: Readonly<{ text: string; limit: number }>) => FoundNames>(),
  /** When each of these keys made its last call that is known of. */
  findLastUses:
    defineReport<(keys: readonly string[]) => readonly Readonly<{ key: string; at: number | undefined }>[]>(),
  /** Up to `limit` of the newest calls of each of these tags. */
  listTagged:
    defineReport<(asked: Readonly<{ tags: readonly string[]; limit: number }>) => readonly TaggedCalls[]>(),
  /** How many entries and calls are not summed up yet. */
  countUnsummed: defineReport<() => number>(),
  /** What an account was credited before a time, less what was taken back. */
  sumCreditsBefore: defineReport<(asked: Readonly<{ account: string; at: number }>) => Nano>(),
};

/** The functions of a table as methods that return promises. */
export type Methods<Table> = {
  [Name in keyof Table]: Table[Name] extends Definition<QueueName, (...asked: infer Asked) => infer Answer>
    ? (...asked: Asked) => Promise<Answer>
    : never;
};

export interface Store extends Methods<typeof operations> {
  /** Marks reservations as this store's. Every process has another. */
  readonly owner: string;
  /**
   * Reads the books as of one moment, and reports where they break a rule. Later audits read only what is
   * new.
   */
  audit(): Promise<AuditReport>;
  /** The store with an operator's action, written with the first change and in its transaction. */
  withAction(action: books.Action): Store;
  /** Undefined if the last write succeeded, otherwise why it failed. */
  findFault(): Error | undefined;
  /** Finishes the operations requested so far and closes the database. Later ones are refused. */
  close(): Promise<void>;
}
