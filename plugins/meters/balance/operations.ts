/** What crosses between the event loop and the ledger's threads: operations of the store by name, in groups. */
import type { AuditReport } from './audit.ts';
import type { Store } from './store.ts';

interface Operations extends Omit<Store, 'owner' | 'health' | 'close' | 'audit'> {
  /** Audits as much as takes a moment; undefined: there is more. */
  auditPart(): Promise<AuditReport | undefined>;
}
export type OperationName = keyof Operations;
export type Argument<Name extends OperationName> = Parameters<Operations[Name]>[0];
export type Answer<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>;

/** The store's operations as a thread has them: each done when it returns. */
export type Handlers = { readonly [Name in OperationName]: (argument: Argument<Name>) => Answer<Name> };

export type Operation<Name extends OperationName = OperationName> = { [One in Name]: { readonly name: One; readonly argument: Argument<One> } }[Name];

/**
 * Writing operations travel together and share a transaction; quick reads need none and do not wait for it. What
 * reads much has a thread of its own, since nothing can be written while the first one reads.
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

/** One operation's answer, or why it has none; `unavailable` where the database and not the operation was at fault. */
export type Outcome = { readonly value: unknown } | { readonly error: Error; readonly unavailable: boolean };

/** A thread's first message: that it is open, or why it cannot be. */
export interface Opened {
  readonly failure: Error | undefined;
}

export interface WorkerData {
  readonly file: string;
  /** Marks the reservations of this store. */
  readonly owner: string;
  /** Milliseconds to wait for a lock that another process holds. */
  readonly busyTimeout: number;
  /** Whether it is the thread for reports, which also audits. */
  readonly audits: boolean;
}
