/**
 * All operations that both databases run. The writes of one turn run in the order of their requests and in
 * one transaction: reservations and ends that follow one another are decided together, and rarer operations
 * are run one by one.
 */
import { isChange, type Answer, type NameIn, type Operation } from '../operations.ts';
import type { ExtendRequest, ReserveRequest } from '../store.ts';
import { accounts } from './accounts.ts';
import { budgets } from './budgets.ts';
import { decideCalls, type CallBatch } from './call-batch.ts';
import { calls } from './calls.ts';
import { erasures } from './erasures.ts';
import { invitations } from './invitations.ts';
import { kept } from './kept.ts';
import { names } from './names.ts';
import { owners } from './owners.ts';
import { pluginTables } from './plugin-tables.ts';
import { reports } from './reports.ts';
import type { Steps, StepsOf } from './steps.ts';
import { terms } from './terms.ts';

const all = {
  ...accounts,
  ...budgets,
  ...calls,
  ...erasures,
  ...invitations,
  ...kept,
  ...names,
  ...owners,
  ...reports,
  ...pluginTables,
  ...terms,
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

/** An operation that writes. */
export type Write = Operation<NameIn<'writes'>>;
type Call = Operation<'reserve' | 'extend' | 'settle'>;
type Seldom = Operation<Exclude<NameIn<'writes'>, Call['name']>>;

function isCall(operation: Write): operation is Call {
  return operation.name === 'reserve' || operation.name === 'extend' || operation.name === 'settle';
}

function decideCall(batch: CallBatch, { name, argument }: Call): unknown {
  if (name === 'reserve') return batch.reserve(argument);
  return name === 'extend' ? batch.extend(argument) : batch.settle(argument);
}

function runCalls(owner: string, operations: readonly Call[]): Steps<unknown[]> {
  const paying: (ReserveRequest | ExtendRequest)[] = [];
  const claims: string[] = [];
  const held: string[] = [];
  for (const { name, argument } of operations) {
    if (name !== 'settle') paying.push(argument);
    if (name !== 'reserve') held.push(argument.id);
    else if (argument.claim) claims.push(argument.claim.name);
  }
  const concerned = {
    accounts: [...new Set(paying.map(({ account }) => account))],
    keys: [...new Set(paying.map(({ key }) => key))],
    claims,
    tags: paying.flatMap(({ tags = [] }) => tags),
    moments: paying.map(({ at }) => at),
    calls: held,
  };
  return decideCalls(owner, concerned, (batch) =>
    operations.map((operation) => decideCall(batch, operation)),
  );
}

function* runSeldom(owner: string, operation: Seldom): Steps<unknown> {
  const { action } = operation;
  const answer = yield* runShared(operation, owner);
  if (action && isChange(answer)) yield* runShared({ name: 'recordAction', argument: action }, owner);
  return answer;
}

/** Returns the results, in the order of the operations. */
export function* runWrites(owner: string, operations: readonly Write[]): Steps<unknown[]> {
  const answers: unknown[] = [];
  while (answers.length < operations.length) {
    const rest = operations.slice(answers.length);
    const other = rest.findIndex((each) => !isCall(each));
    const calls = rest.slice(0, other < 0 ? rest.length : other).filter(isCall);
    if (calls.length > 0) for (const answer of yield* runCalls(owner, calls)) answers.push(answer);
    const next = rest[calls.length];
    if (next && !isCall(next)) answers.push(yield* runSeldom(owner, next));
  }
  return answers;
}
