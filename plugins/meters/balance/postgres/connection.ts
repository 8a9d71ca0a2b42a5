/**
 * One connection of the store: statements whose plans the server caches, and the meaning of their
 * failures.
 */
import { DatabaseError, type ClientBase } from 'pg';
import { GatewayError } from '../../../../core/index.ts';
import type { Row } from '../rows.ts';
import { isEmpty, type Statement, type Steps } from '../sql/steps.ts';
import { encodeRecords } from './values.ts';

/** SQLSTATEs of U+0000 in a text, as it is and as an escape in JSON. */
const unstorable = new Set<string | undefined>(['22021', '22P05']);

/** Sends a statement and returns its rows. */
export type Query = (statement: Statement, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** A statement or its connection failed. Errors of the store itself are of other classes. */
class QueryError extends Error {
  override readonly name = 'QueryError';
  /** The SQLSTATE; undefined if the server sent no reply. */
  readonly code: string | undefined;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.code = getCode(cause);
  }
}

/** The SQLSTATE of a failure, if the server sent one. */
export function getCode(error: unknown): string | undefined {
  return error instanceof DatabaseError || error instanceof QueryError ? error.code : undefined;
}

/**
 * Whether the server, or a proxy, ended the connection while statements were on their way to it. What it said
 * is lost then.
 */
export function isReset(error: unknown): boolean {
  const cause = error instanceof QueryError ? error.cause : error;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNRESET';
}

export function createQuery(client: ClientBase): Query {
  return async ({ name, text }, values = []) => {
    try {
      const { rows } = await client.query<Row>({
        ...(name !== undefined && { name }),
        text,
        values: [...values],
      });
      return rows;
    } catch (cause) {
      const error = new QueryError(cause);
      if (!unstorable.has(error.code)) throw error;
      throw new GatewayError('invalid_request', 'a text holds a character that cannot be stored, as U+0000', {
        cause,
      });
    }
  };
}

/** Runs an operation that both databases share. */
export async function runSteps<Answer>(query: Query, steps: Steps<Answer>): Promise<Answer> {
  let step = steps.next();
  while (!step.done) {
    const { asked, isAnswered } = step.value;
    const sent = asked.map((each) => {
      const { statement, values, records } = each;
      return isEmpty(each) ? [] : query(statement, records ? [encodeRecords(records)] : values);
    });
    step = steps.next(isAnswered ? await Promise.all(sent) : []);
  }
  return step.value;
}

/**
 * Why a transaction failed: an operation broke a rule (`own`), a name would have been written twice
 * (`clash`), it met another transaction (`conflict`), or the database cannot be used (`database`).
 */
export type Fault = 'own' | 'clash' | 'conflict' | 'database';

const uniqueViolation = '23505';

export function classifyFault(error: unknown): Fault {
  if (!(error instanceof QueryError)) return 'own';
  const { code } = error;
  if (code === uniqueViolation) return 'clash';
  if (code?.startsWith('40')) return 'conflict';
  return code?.startsWith('22') || code?.startsWith('23') ? 'own' : 'database';
}
