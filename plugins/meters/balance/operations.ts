/** Operations as messages: their names and arguments, derived from the table in `store.ts`. */
import { randomBytes } from 'node:crypto';
import type { AuditReport } from './audit.ts';
import type { Action } from './books.ts';
import { operations, defineReport, type Methods, type QueueName, type Store } from './store.ts';

/** The store's operations, and two that only SQLite's threads have. */
const all = {
  ...operations,
  /** Audits for a moment and returns; undefined: there is more to audit. */
  auditPart: defineReport<() => AuditReport | undefined>(),
  /** What the auditor knows, for another thread to continue with. */
  getAuditState: defineReport<() => Uint8Array>(),
};

type All = Methods<typeof all>;
export type OperationName = keyof All;
export type StoreOperationName = keyof typeof operations;
export type Argument<Name extends OperationName> = Parameters<All[Name]>[0];
export type Answer<Name extends OperationName> = Awaited<ReturnType<All[Name]>>;

/** The names of the operations that wait in one queue. */
export type NameIn<Queue extends QueueName> = {
  [Name in StoreOperationName]: (typeof operations)[Name]['queue'] extends Queue ? Name : never;
}[StoreOperationName];

export type Operation<Name extends OperationName = OperationName> = {
  [One in Name]: {
    readonly name: One;
    readonly argument: Argument<One>;
    /**
     * The operator's action behind the operation. It is logged in the same transaction if anything
     * changes.
     */
    readonly action?: Action;
  };
}[Name];

export function getQueue(name: OperationName): QueueName {
  return all[name].queue;
}

export function isWrite(operation: Operation): operation is Operation<NameIn<'writes'>> {
  return getQueue(operation.name) === 'writes';
}

type StoreOperation = Operation<StoreOperationName>;

/**
 * Makes the methods of a store that passes every operation to `ask`. TypeScript cannot follow one name to the
 * types of its argument and its answer through a loop, hence the two casts; the callers are checked against
 * `Store`.
 */
function createMethods(ask: (operation: StoreOperation) => Promise<unknown>): Methods<typeof operations> {
  const methods = Object.keys(operations).map((name) => [
    name,
    (argument: unknown) => ask({ name, argument } as StoreOperation),
  ]);
  return Object.fromEntries(methods) as Methods<typeof operations>;
}

type Ask = (operation: StoreOperation) => Promise<unknown>;

/** Whether the result of an operation means that it changed anything. */
export function isChange(answer: unknown): boolean {
  const status = typeof answer === 'object' && answer !== null && 'status' in answer ? answer.status : answer;
  return status === true || ['changed', 'moved', 'credited', 'created'].includes(String(status));
}

/** Adds an operator's action to the first of several operations that changes anything. */
function recordOnce(ask: Ask, action: Action): Ask {
  let isRecorded = false;
  return async (operation) => {
    if (isRecorded || !isWrite(operation)) return ask(operation);
    const answer = await ask({ ...operation, action });
    isRecorded = isChange(answer);
    return answer;
  };
}

async function sumUp({ addCalls }: Pick<Store, 'addCalls'>): Promise<void> {
  while (!(await addCalls({ calls: [] })).isDone);
}

/** A store that passes every operation to `ask`, and its members that are no operations. */
export function createStore(ask: Ask, rest: Omit<Store, keyof typeof operations | 'withAction'>): Store {
  const methods = createMethods(ask);
  const store: Store = {
    ...methods,
    ...rest,
    async sumCalls(query) {
      // If nothing can be written, what was summed up before is better than nothing.
      await sumUp(methods).catch(() => undefined);
      return methods.sumCalls(query);
    },
    withAction: (action) => ({ ...store, ...createMethods(recordOnce(ask, action)) }),
  };
  return store;
}

/** A statement of a plugin failed, and not the database. All that its operation wrote is undone. */
export class TableFault extends Error {
  override readonly name = 'TableFault';
  readonly plugin: string;

  constructor(plugin: string, cause: Error) {
    super(`a statement of the plugin with the tables "${plugin}" failed: ${cause.message}`, { cause });
    this.plugin = plugin;
  }
}

/**
 * One operation's result or failure. `unavailable`: the database failed, not the operation. `plugin`: the
 * error is a `TableFault`, whose class is lost between threads.
 */
export type Outcome =
  | { readonly value: unknown }
  | { readonly error: Error; readonly unavailable: boolean; readonly plugin?: string | undefined };

export function buildFailure(
  error: Error,
  unavailable: boolean,
): Extract<Outcome, { readonly error: Error }> {
  return { error, unavailable, plugin: error instanceof TableFault ? error.plugin : undefined };
}

/** A thread's first message: it is open, or why it cannot open. */
export interface Opened {
  readonly failure: Error | undefined;
}

export interface WorkerData {
  /** The version of the gateway that starts the thread. */
  readonly version: string;
  readonly file: string;
  /** Marks reservations as made by this store. */
  readonly owner: string;
  /** Milliseconds to wait for a lock that another process holds. */
  readonly busyTimeout: number;
  /** Whether this is the thread for reports, which also audits. */
  readonly audits: boolean;
  /** What the auditor of an earlier thread knew. */
  readonly audited: Uint8Array | undefined;
  /** Milliseconds within which the thread beats if the event loop does not; undefined: it never does. */
  readonly lease: number | undefined;
}

/** A name for a store's reservations; every process has another. */
export function createOwner(): string {
  return `${process.pid}-${randomBytes(6).toString('hex')}`;
}
