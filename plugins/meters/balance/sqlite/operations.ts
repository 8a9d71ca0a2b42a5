/** What crosses between the event loop and the writer's thread: operations of the store by name, in groups. */
import type { Store } from '../store.ts';

type Operations = Omit<Store, 'close'>;
export type OperationName = keyof Operations;
export type Argument<Name extends OperationName> = Parameters<Operations[Name]>[0];
export type Answer<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>;

/** The store's operations as the thread has them: each done when it returns. */
export type Handlers = { readonly [Name in OperationName]: (argument: Argument<Name>) => Answer<Name> };

export type Operation<Name extends OperationName = OperationName> = { [One in Name]: { readonly name: One; readonly argument: Argument<One> } }[Name];

/** Writing operations travel together and share a transaction; reading ones need none and do not wait for it. */
export const lanes = ['reads', 'writes'] as const;
export type Lane = (typeof lanes)[number];

export const laneOf: Readonly<Record<OperationName, Lane>> = {
  reserve: 'writes',
  settle: 'writes',
  createAccount: 'writes',
  credit: 'writes',
  createKey: 'writes',
  disableKey: 'writes',
  balance: 'reads',
  findKey: 'reads',
  listKeys: 'reads',
};

export interface Group {
  readonly lane: Lane;
  readonly operations: readonly Operation[];
}

/** One operation's answer, or why it has none; `unavailable` where the database and not the operation was at fault. */
export type Outcome = { readonly value: unknown } | { readonly error: Error; readonly unavailable: boolean };

export interface Outcomes {
  readonly lane: Lane;
  /** In the order of the group's operations. */
  readonly outcomes: readonly Outcome[];
}

/** The thread's first message: that it is open, or why it cannot be. */
export interface Opened {
  readonly failure: Error | undefined;
}

export interface WriterData {
  readonly file: string;
  /** Marks the reservations of this process. */
  readonly owner: string;
  /** Milliseconds to wait for a lock that another process holds. */
  readonly busyTimeout: number;
}
