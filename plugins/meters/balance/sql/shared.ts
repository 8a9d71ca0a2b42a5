/** All operations that both databases run, by their names. */
import { closeGaps, findGaps } from '../calls/rollup-repair.ts';
import type { Answer, Argument, Operation, OperationName } from '../operations.ts';
import * as accounts from './accounts.ts';
import * as budgets from './budgets.ts';
import * as calls from './calls.ts';
import { findClaim, sweep } from './claims.ts';
import * as kept from './kept.ts';
import * as reports from './reports.ts';
import type { Steps } from './steps.ts';

const all = {
  ...accounts,
  ...budgets,
  ...calls,
  ...kept,
  ...reports,
  closeGaps,
  findClaim,
  findGaps,
  sweep,
};

export type SharedName = keyof typeof all;
export type SharedOperation<Name extends OperationName> = (argument: Argument<Name>) => Steps<Answer<Name>>;

export const shared: { readonly [Name in SharedName]: SharedOperation<Name> } = all;

export const sharedNames = Object.keys(shared).filter((name): name is SharedName => name in shared);

export function isSharedOperation(operation: Operation): operation is Operation<SharedName> {
  return operation.name in shared;
}
