/** What the store asks of one connection: statements whose plans the server keeps, and what a failure of one means. */
import { DatabaseError, type ClientBase } from 'pg';
import type { Row } from '../rows.ts';

/** A statement; the server keeps the plan of one that has a name. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** Sends a statement; the answer is its rows. */
export type Query = (statement: Statement, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** A statement failed, or its connection: told apart from what goes wrong in the store itself. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
  /** The SQLSTATE; undefined where the server could not answer. */
  readonly code: string | undefined;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.code = cause instanceof DatabaseError ? cause.code : undefined;
  }
}

export function queryOn(client: ClientBase): Query {
  return async ({ name, text }, values = []) => {
    try {
      const { rows } = await client.query<Row>({ ...(name !== undefined && { name }), text, values: [...values] });
      return rows;
    } catch (error) {
      throw new QueryError(error);
    }
  };
}

/** The statements of a table, each named by its place in it. */
export function statements<const Name extends string>(prefix: string, texts: Readonly<Record<Name, string>>): Readonly<Record<Name, Statement>>;
export function statements(prefix: string, texts: Readonly<Record<string, string>>): Record<string, Statement> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, { name: `${prefix} ${name}`, text }]));
}

/**
 * What a failure of a transaction says: that an operation broke a rule, that it would have written a name twice, that
 * it met another transaction, or that the database cannot be used.
 */
export type Fault = 'own' | 'clash' | 'conflict' | 'database';

const uniqueViolation = '23505';

export function faultOf(error: unknown): Fault {
  if (!(error instanceof QueryError)) return 'own';
  const { code } = error;
  if (code === uniqueViolation) return 'clash';
  if (code?.startsWith('40')) return 'conflict';
  return code?.startsWith('22') || code?.startsWith('23') ? 'own' : 'database';
}
