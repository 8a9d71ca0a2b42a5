/** Options of connections: the address, the schema that holds the ledger's tables, and short timeouts. */
import { types, type ClientConfig, type CustomTypesConfig, type PoolConfig } from 'pg';
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
    max: connections,
    idleTimeoutMillis: 30_000,
  };
}
