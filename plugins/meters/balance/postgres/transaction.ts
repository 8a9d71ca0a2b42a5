/** Runs the operations of one turn in one transaction. */
import type { Client } from 'pg';
import { runWrites, type Write } from '../sql/shared.ts';
import { nameStatements } from '../sql/steps.ts';
import { createQuery, runSteps, type Query } from './connection.ts';

const sql = nameStatements('batch', { begin: 'BEGIN', commit: 'COMMIT', rollback: 'ROLLBACK' });

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
    const answers = await runSteps(query, runWrites(owner, operations));
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
