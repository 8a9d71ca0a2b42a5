/** Where allowances are counted: in this process, or in a PostgreSQL; while that is out of reach, in this process again. */
import { Allowance } from './allowance.ts';

export interface StoreOptions {
  readonly window: number;
  readonly url: string | undefined;
}

export interface AllowanceStore {
  /** `kind` tells one sort of allowance from another: its name stands in the database. */
  allowance(kind: string, limit: number): Allowance;
  close(): Promise<void>;
}

/** Connections to the database: its answers are short. */
const connections = 4;
const table = 'tollgate_rate_limits';

/** Loads what it needs when it is needed: most gateways limit nothing. */
export async function openAllowances({ window, url }: StoreOptions): Promise<AllowanceStore> {
  const { RateLimiterMemory, RateLimiterPostgres } = await import('rate-limiter-flexible');
  const memory = (kind: string, limit: number) => new RateLimiterMemory({ keyPrefix: kind, points: limit, duration: window });
  if (url === undefined) return { allowance: (kind, limit) => new Allowance(memory(kind, limit)), close: async () => undefined };
  const { Pool } = await import('pg');
  const pool = new Pool({ connectionString: url, max: connections, connectionTimeoutMillis: 2000 });
  // A connection that breaks while it is idle tells it here, and would end the process if nobody listened.
  pool.on('error', () => undefined);
  await pool.query(`CREATE TABLE IF NOT EXISTS ${table} (key varchar(255) PRIMARY KEY, points integer NOT NULL DEFAULT 0, expire bigint)`);
  return {
    allowance: (kind, limit) =>
      new Allowance(new RateLimiterPostgres({ storeClient: pool, tableName: table, tableCreated: true, keyPrefix: kind, points: limit, duration: window, insuranceLimiter: memory(kind, limit) })),
    close: () => pool.end(),
  };
}
