/**
 * Runs the writes of one turn, in the order of their requests and in one transaction. Reservations and ends
 * that follow one another are decided together; rarer operations are run one by one.
 */
import { isChange } from '../corrections.ts';
import type { NameIn, Operation } from '../operations.ts';
import { decideCalls } from './call-batch.ts';
import { runShared } from './shared.ts';
import type { Steps } from './steps.ts';

/** An operation that writes. */
export type Write = Operation<NameIn<'writes'>>;
type Call = Operation<'reserve' | 'settle'>;
type Seldom = Operation<Exclude<NameIn<'writes'>, Call['name']>>;

function isCall(operation: Write): operation is Call {
  return operation.name === 'reserve' || operation.name === 'settle';
}

function runCalls(owner: string, operations: readonly Call[]): Steps<unknown[]> {
  const reserves = operations.flatMap((operation) =>
    operation.name === 'reserve' ? [operation.argument] : [],
  );
  const concerned = {
    accounts: [...new Set(reserves.map(({ account }) => account))],
    keys: [...new Set(reserves.map(({ key }) => key))],
    claims: reserves.flatMap(({ claim }) => claim?.name ?? []),
    tags: reserves.flatMap(({ tags = [] }) => tags),
    moments: reserves.map(({ at }) => at),
    calls: operations.flatMap((operation) => (operation.name === 'settle' ? [operation.argument.id] : [])),
  };
  return decideCalls(owner, concerned, (batch) =>
    operations.map((operation) =>
      operation.name === 'reserve' ? batch.reserve(operation.argument) : batch.settle(operation.argument),
    ),
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
