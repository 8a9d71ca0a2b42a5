/**
 * One connection of the store: its address, the schema that holds the ledger's tables, short timeouts,
 * statements whose plans the server caches, and the meaning of their failures.
 */
import {
  DatabaseError,
  type ClientBase,
  types,
  type ClientConfig,
  type CustomTypesConfig,
  type PoolConfig,
} from 'pg';
import { GatewayError } from '../../../../core/index.ts';
import { TableFault } from '../operations.ts';
import type { Row } from '../rows.ts';
import { isEmpty, type Statement, type Steps } from '../sql/steps.ts';
import { schema } from './migrations.ts';

const wholeNumbers: readonly number[] = [types.builtins.INT2, types.builtins.INT4, types.builtins.INT8];

/** Integers are BigInt. */
export const typeParsers: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    wholeNumbers.includes(oid) && format !== 'binary' ? BigInt : types.getTypeParser(oid, format),
};

export interface Address {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
}

/**
 * Milliseconds. The server gives up before the client does, so that the client learns how its statement
 * ended.
 */
const timeouts = { connect: 3000, statement: 3000, idleInTransaction: 2000, answer: 4000 };

/**
 * Gives `sslmode` in the address the meaning that PostgreSQL documents, which `pg` does only if the address
 * asks for it. Otherwise `pg` treats `require` as `verify-full` and prints a warning with each command.
 */
function followLibpq(url: string): string {
  const address = new URL(url);
  const mode = address.searchParams.get('sslmode');
  // PostgreSQL has no `no-verify`. `pg` would verify if it were asked to follow PostgreSQL.
  if (mode !== null && mode !== 'no-verify') address.searchParams.set('uselibpqcompat', 'true');
  return address.href;
}

function buildConfig({ url }: Address, more = ''): ClientConfig {
  const address = new URL(followLibpq(url));
  const stated = address.searchParams.get('options');
  address.searchParams.set('options', `${stated ?? ''} -c search_path=${schema}${more}`.trim());
  return {
    connectionString: address.href,
    types: typeParsers,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    connectionTimeoutMillis: timeouts.connect,
    statement_timeout: timeouts.statement,
    query_timeout: timeouts.answer,
    idle_in_transaction_session_timeout: timeouts.idleInTransaction,
  };
}

/** For changing the tables, which may take long. */
export function buildMigrationConfig(address: Address): ClientConfig {
  return {
    ...buildConfig(address),
    application_name: 'tollgate migrations',
    statement_timeout: 0,
    query_timeout: 0,
    idle_in_transaction_session_timeout: 0,
  };
}

/**
 * Once the tables have statistics, PostgreSQL would plan the statements of each call again: a call took 1.3
 * times as long (`test/bench/RESULTS.md`).
 */
const planOnce = ' -c plan_cache_mode=force_generic_plan';

/**
 * For the one connection that writes: it sends statements without waiting for the results of earlier ones.
 */
export function buildWriterConfig(
  address: Address,
  owner: string,
): ClientConfig & { readonly application_name: string } {
  // The server keeps only 63 bytes of it.
  const name = `tollgate ${owner}`.slice(0, 63);
  return { ...buildConfig(address, planOnce), application_name: name, pipeline: true };
}

export function buildReaderConfig(address: Address, connections: number): PoolConfig {
  return {
    ...buildConfig(address),
    application_name: 'tollgate reads',
    // The statements of one step travel together.
    pipeline: true,
    max: connections,
    idleTimeoutMillis: 30_000,
  };
}

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
  return cause instanceof Error && 'code' in cause && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE');
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
