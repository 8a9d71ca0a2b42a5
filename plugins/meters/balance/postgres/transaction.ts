/**
 * Runs the operations of one turn in one transaction, in the order of their requests. Reservations and
 * ends that follow one another are done together; rarer operations are done one by one.
 */
import type { Client } from 'pg';
import { isChange } from '../corrections.ts';
import type { Answer, Argument, NameIn, Operation, OperationName } from '../operations.ts';
import { isSharedOperation, type SharedName } from '../sql/shared.ts';
import { nameStatements } from '../sql/steps.ts';
import { CallBatch } from './call-batch.ts';
import { createQuery, runShared, type Query } from './connection.ts';
import { beat, expire, recover } from './owners.ts';

const sql = nameStatements('batch', {
  begin: 'BEGIN',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  // Only one account moves at a time, or two moves could make a cycle together.
  moving: 'SELECT pg_advisory_xact_lock(7461188902)',
});

type CallName = 'reserve' | 'settle';
type Seldom = Exclude<NameIn<'writes'>, CallName>;
/** An operation that writes. */
export type Write = Operation<NameIn<'writes'>>;
type Handler<Name extends OperationName> = (
  query: Query,
  argument: Argument<Name>,
  owner: string,
) => Promise<Answer<Name>>;

const handlers: { readonly [Name in Exclude<Seldom, SharedName>]: Handler<Name> } = { beat, recover, expire };

function isCall(operation: Write): operation is Operation<CallName> {
  return operation.name === 'reserve' || operation.name === 'settle';
}

async function runCalls(
  query: Query,
  owner: string,
  operations: readonly Operation<CallName>[],
): Promise<unknown[]> {
  const reserves = operations.flatMap((operation) =>
    operation.name === 'reserve' ? [operation.argument] : [],
  );
  const batch = await CallBatch.readBatch(query, owner, {
    accounts: reserves.map(({ account }) => account),
    keys: reserves.map(({ key }) => key),
    claims: reserves.flatMap(({ claim }) => claim?.name ?? []),
    tags: reserves.flatMap(({ tags = [] }) => tags),
    moments: reserves.map(({ at }) => at),
    calls: operations.flatMap((operation) => (operation.name === 'settle' ? [operation.argument.id] : [])),
  });
  const answers = operations.map((operation) =>
    operation.name === 'reserve'
      ? batch.calls.reserve(operation.argument)
      : batch.calls.settle(operation.argument),
  );
  batch.sendWrites();
  return answers;
}

async function runOwn<Name extends keyof typeof handlers>(
  query: Query,
  owner: string,
  { name, argument }: Operation<Name>,
): Promise<unknown> {
  const handler: Handler<Name> = handlers[name];
  return handler(query, argument, owner);
}

async function runOne(query: Query, owner: string, operation: Operation<Seldom>): Promise<unknown> {
  if (operation.name === 'moveAccount') await query(sql.moving);
  const { action } = operation;
  const answer = await (isSharedOperation(operation)
    ? runShared(query, operation)
    : runOwn(query, owner, operation));
  if (action && isChange(answer)) await runShared(query, { name: 'recordAction', argument: action });
  return answer;
}

async function runAll(query: Query, owner: string, operations: readonly Write[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  while (answers.length < operations.length) {
    const rest = operations.slice(answers.length);
    const other = rest.findIndex((each) => !isCall(each));
    const calls = rest.slice(0, other < 0 ? rest.length : other).filter(isCall);
    if (calls.length > 0) for (const answer of await runCalls(query, owner, calls)) answers.push(answer);
    const next = rest[calls.length];
    if (next && !isCall(next)) answers.push(await runOne(query, owner, next));
  }
  return answers;
}

/** A transaction failed before its COMMIT was sent, so the database rolls it back in any case. */
export class Undone extends Error {
  override readonly name = 'Undone';

  constructor(cause: unknown) {
    super('the transaction was undone', { cause });
  }
}

/**
 * Returns the results, in the order of the operations. Throws the first failure, as `Undone` if no COMMIT
 * was sent: everything sent after it fails only because of it.
 */
export async function runTransaction(
  client: Client,
  owner: string,
  operations: readonly Write[],
): Promise<unknown[]> {
  const send = createQuery(client);
  const sent: Promise<unknown>[] = [];
  // Statements are sent without waiting for the results of earlier ones; all results are awaited at the
  // end.
  const query: Query = (statement, values) => {
    const answer = send(statement, values);
    answer.catch(() => undefined);
    sent.push(answer);
    return answer;
  };
  void query(sql.begin);
  let isEnding = false;
  try {
    const answers = await runAll(query, owner, operations);
    isEnding = true;
    void query(sql.commit);
    await Promise.all(sent);
    return answers;
  } catch (error) {
    const ends = await Promise.allSettled(sent);
    // After a COMMIT that already ended the transaction this is only a warning.
    await send(sql.rollback).catch(() => undefined);
    const first: unknown = ends.find((end) => end.status === 'rejected')?.reason ?? error;
    throw isEnding ? first : new Undone(first);
  }
}
