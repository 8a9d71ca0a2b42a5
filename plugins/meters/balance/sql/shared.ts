/** All operations that both databases run, by their names. */
import { repair } from '../calls/rollup-repair.ts';
import type { Operation } from '../operations.ts';
import { accounts } from './accounts.ts';
import { budgets } from './budgets.ts';
import { calls } from './calls.ts';
import { findClaim, sweep } from './claims.ts';
import { kept } from './kept.ts';
import { reports } from './reports.ts';
import type { StepsOf } from './steps.ts';

const all = {
  ...accounts,
  ...budgets,
  ...calls,
  ...kept,
  ...reports,
  ...repair,
  findClaim,
  sweep,
};

export type SharedName = keyof typeof all;

export const shared: { readonly [Name in SharedName]: StepsOf<Name> } = all;

export const sharedNames = Object.keys(shared).filter((name): name is SharedName => name in shared);

export function isSharedOperation(operation: Operation): operation is Operation<SharedName> {
  return operation.name in shared;
}
