/**
 * What operators change later: the state of an account, deleted keys, and the log of their own actions, which
 * only grows.
 */
import type { AccountState, StateChanged } from './accounts.ts';
import * as rows from './rows.ts';

const actionFields = {
  number: rows.readCount,
  at: rows.readCount,
  /** An operator key's id, `operator-secret`, or `cli:` and the name of the system's user. */
  author: rows.readText,
  /** The route or the verb. */
  action: rows.readText,
  /** What the action changed, as in the path or the arguments. */
  subject: rows.readText,
  /** The body or the options, as JSON text; never a secret. */
  detail: rows.readText,
};
/** One change that an operator made. */
export type ActionRecord = rows.RecordOf<typeof actionFields>;
export type Action = Omit<ActionRecord, 'number'>;
export const readAction = rows.createReader(actionFields);

/** Whether the result of an operation means that it changed anything. */
export function isChange(answer: unknown): boolean {
  const status = typeof answer === 'object' && answer !== null && 'status' in answer ? answer.status : answer;
  return status === true || ['changed', 'moved', 'credited', 'created'].includes(String(status));
}

/** Why an account cannot take a state; undefined if it can. */
export function findStateRefusal(
  current: AccountState,
  pending: bigint,
  state: AccountState,
): StateChanged | undefined {
  if (current === 'closed' && state !== 'closed') return 'closed';
  return state === 'closed' && pending > 0n ? 'held' : undefined;
}
