/** All operations that both databases run, by their names. */
import type { Answer, Operation } from '../operations.ts';
import { accounts } from './accounts.ts';
import { budgets } from './budgets.ts';
import { calls } from './calls.ts';
import { findClaim, sweep } from './claims.ts';
import { kept } from './kept.ts';
import { owners } from './owners.ts';
import { pluginTables } from './plugin-tables.ts';
import { reports } from './reports.ts';
import type { Steps, StepsOf } from './steps.ts';

const all = {
  ...accounts,
  ...budgets,
  ...calls,
  ...kept,
  ...owners,
  ...reports,
  ...pluginTables,
  findClaim,
  sweep,
};

export type SharedName = keyof typeof all;

const shared: { readonly [Name in SharedName]: StepsOf<Name> } = all;

export function isSharedOperation(operation: Operation): operation is Operation<SharedName> {
  return operation.name in shared;
}

/** Runs an operation for the store of an owner. */
export function runShared<Name extends SharedName>(
  { name, argument }: Operation<Name>,
  owner: string,
): Steps<Answer<Name>> {
  const run: StepsOf<Name> = shared[name];
  return run(argument, owner);
}
