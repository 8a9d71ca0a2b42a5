/** The messages between the event loop and the ledger's threads: operations of the store, by name and in groups. */
import type { AuditReport } from './audit.ts';
import type { Store } from './store.ts';

interface Operations extends Omit<Store, 'owner' | 'health' | 'close' | 'audit'> {
  /** Audits for a moment and returns; undefined: there is more to audit. */
  auditPart(): Promise<AuditReport | undefined>;
}
export type OperationName = keyof Operations;
export type Argument<Name extends OperationName> = Parameters<Operations[Name]>[0];
export type Answer<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>;

/** The store's operations as a thread runs them: each is done when it returns. */
export type Handlers = { readonly [Name in OperationName]: (argument: Argument<Name>) => Answer<Name> };

export type Operation<Name extends OperationName = OperationName> = {
  [One in Name]: { readonly name: One; readonly argument: Argument<One> };
}[Name];

/**
 * Operations wait in separate lanes. Those that write travel together and share a transaction. Quick reads need no
 * transaction and do not wait for it. Reports read for long and have a thread of their own, since nothing can be written
 * while a thread reads.
 */
export const lanes = ['writes', 'reads', 'reports'] as const;
export type Lane = (typeof lanes)[number];

export const laneOf: Readonly<Record<OperationName, Lane>> = {
  reserve: 'writes',
  settle: 'writes',
  beat: 'writes',
  recover: 'writes',
  expire: 'writes',
  definePrice: 'writes',
  sweep: 'writes',
  createAccount: 'writes',
  credit: 'writes',
  createKey: 'writes',
  changeKey: 'writes',
  rotateKey: 'writes',
  balance: 'reads',
  findKey: 'reads',
  hasKeys: 'reads',
  findClaim: 'reads',
  owners: 'reads',
  listAccounts: 'reports',
  listKeys: 'reports',
  entries: 'reports',
  usage: 'reports',
  listPending: 'reports',
  totals: 'reports',
  auditPart: 'reports',
};

/** One operation's answer, or why it has none. `unavailable` says that the database failed, and not the operation. */
export type Outcome = { readonly value: unknown } | { readonly error: Error; readonly unavailable: boolean };

/** A thread's first message: it is open, or it cannot be, with the reason. */
export interface Opened {
  readonly failure: Error | undefined;
}

export interface WorkerData {
  readonly file: string;
  /** Marks reservations as made by this store. */
  readonly owner: string;
  /** Milliseconds to wait for a lock that another process holds. */
  readonly busyTimeout: number;
  /** Whether this is the thread for reports, which also audits. */
  readonly audits: boolean;
  /** Milliseconds within which the thread beats where the event loop does not; undefined: it never does. */
  readonly lease: number | undefined;
}
