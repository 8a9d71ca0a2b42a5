/**
 * What operators change later: the state of an account, deleted keys, and the log of their own actions, which
 * only grows.
 */
import type { AccountState, StateChanged } from './accounts.ts';
import { count, reader, text, type RecordOf } from './rows.ts';

const actionFields = {
  number: count,
  at: count,
  /** An operator key's id, `operator-secret`, or `cli:` and the name of the system's user. */
  author: text,
  /** The route or the verb. */
  action: text,
  /** What it was done to, as in the path or the arguments. */
  subject: text,
  /** The body or the options, as JSON text; never a secret. */
  detail: text,
};
/** One change that an operator made. */
export type ActionRecord = RecordOf<typeof actionFields>;
export type Action = Omit<ActionRecord, 'number'>;
export const actionOf = reader(actionFields);

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
