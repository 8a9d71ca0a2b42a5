/**
 * One connection of the store: statements whose plans the server caches, and the meaning of their
 * failures.
 */
import { DatabaseError, type ClientBase } from 'pg';
import { GatewayError } from '../../../../core/index.ts';
import { TableFault } from '../operations.ts';
import type { Row } from '../rows.ts';
import { isEmpty, type Statement, type Steps } from '../sql/steps.ts';

/** SQLSTATEs of U+0000 in a text, as it is and as an escape in JSON. */
const unstorable = new Set<string | undefined>(['22021', '22P05']);

/** Sends a statement and returns its rows. */
export type Query = (statement: Statement, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** A statement or its connection failed. Errors of the store itself are of other classes. */
class QueryError extends Error {
  override readonly name = 'QueryError';
  /** The SQLSTATE; undefined if the server sent no reply. */
  readonly code: string | undefined;
  /** Whose statement it was, if it was a plugin's. */
  readonly plugin: string | undefined;

  constructor(cause: unknown, plugin?: string) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.code = getCode(cause);
    this.plugin = plugin;
  }
}

/**
 * Faults that lie in a statement: of its values (22), of constraints (23), of cardinality (21), of features
 * (0A), of its text or its rights (42).
 */
const statementFaults = /^(?:21|22|23|0A|42)/;
/** Faults that another try may not have: conflicts, deadlocks, waits that took too long. */
const passingFaults = /^(?:40|57014$|55P03$)/;

/** The fault of a plugin that was behind all tries; undefined if the fault is not certainly a plugin's. */
export function findTableFault(error: Error): TableFault | undefined {
  if (error instanceof TableFault) return error;
  const isPassing = error instanceof QueryError && passingFaults.test(error.code ?? '');
  return isPassing && error.plugin !== undefined ? new TableFault(error.plugin, error) : undefined;
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
  return async ({ name, text, plugin }, values = []) => {
    try {
      const { rows } = await client.query<Row>({
        ...(name !== undefined && { name }),
        text,
        values: [...values],
      });
      return rows;
    } catch (cause) {
      const error = new QueryError(cause, plugin);
      if (plugin !== undefined && statementFaults.test(error.code ?? '')) throw new TableFault(plugin, error);
      if (!unstorable.has(error.code)) throw error;
      throw new GatewayError('invalid_request', 'a text holds a character that cannot be stored, as U+0000', {
        cause,
      });
    }
  };
}

/** For `json_populate_recordset`: a column that is not named is null. */
function encodeRecords(rows: readonly object[]): string {
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
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
