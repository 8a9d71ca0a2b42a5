/**
 * What operators change later: the state of an account, deleted keys, and the log of their own actions, which
 * only grows.
 */
import type { AccountState, StateChanged } from './accounts.ts';
import { report, write } from './definitions.ts';
import { count, text, type Row } from './rows.ts';

export interface StateChange {
  readonly account: string;
  readonly state: AccountState;
}

export interface KeyDeletion {
  readonly id: string;
  readonly at: number;
}

/** One change that an operator made. */
export interface Action {
  readonly at: number;
  /** An operator key's id, `operator-secret`, or `cli:` and the name of the system's user. */
  readonly author: string;
  /** The route or the verb. */
  readonly action: string;
  /** What it was done to, as in the path or the arguments. */
  readonly subject: string;
  /** The body or the options, as JSON text; never a secret. */
  readonly detail: string;
}

export interface ActionRecord extends Action {
  readonly number: number;
}

export const correctionOperations = {
  /** Opens, disables or closes an account. */
  setAccountState: write<(change: StateChange) => StateChanged>(),
  /** Deletes a key: it is refused and no longer listed. Its entries stay. False if there is no such key. */
  deleteKey: write<(deletion: KeyDeletion) => boolean>(),
  /** Adds to the log of operators' actions. */
  recordAction: write<(action: Action) => void>(),
  /** The log, newest first, before the number `before`. */
  listActions:
    report<
      (query: { readonly before?: number | undefined; readonly limit: number }) => readonly ActionRecord[]
    >(),
};

/** Whether the answer of an operation says that it changed anything. */
export function isChange(answer: unknown): boolean {
  const status = typeof answer === 'object' && answer !== null && 'status' in answer ? answer.status : answer;
  return status === true || ['changed', 'moved', 'credited', 'created'].includes(String(status));
}

/** Why an account cannot take a state; undefined if it can. */
export function refuseState(
  current: AccountState,
  pending: bigint,
  state: AccountState,
): StateChanged | undefined {
  if (current === 'closed' && state !== 'closed') return 'closed';
  return state === 'closed' && pending > 0n ? 'held' : undefined;
}

export function actionOf(row: Row): ActionRecord {
  return {
    number: count(row, 'number'),
    at: count(row, 'at'),
    author: text(row, 'author'),
    action: text(row, 'action'),
    subject: text(row, 'subject'),
    detail: text(row, 'detail'),
  };
}
