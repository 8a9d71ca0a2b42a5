/**
 * Chooses where calls are counted: in this process, in the one that started it and other workers, or in a
 * PostgreSQL. While the database cannot be reached, this process counts again.
 */
import type { Workers } from '../../../core/index.ts';
import { followLibpq } from '../../shared/postgres-address.ts';
import { Allowance } from './allowance.ts';
import { Counter, type Counts } from './counter.ts';
import { PostgresSlots, slotTables } from './postgres-slots.ts';
import { MemorySlots, type Slots } from './slots.ts';
import { SupervisedCounter } from './supervised.ts';

export interface StoreOptions {
  readonly window: number;
  readonly url: string | undefined;
}

export interface Store {
  readonly counts: Counts;
  close(): Promise<void>;
}

/** Connections to the database. A few are enough, since its answers are short. */
const connections = 4;
const table = 'tollgate_rate_limits';
/**
 * Made in one transaction that locks: two processes that make the same table at once would make each other
 * fail.
 */
const tables = `
  SELECT pg_advisory_xact_lock(hashtext('${table}'));
  CREATE TABLE IF NOT EXISTS ${table} (
    key varchar(255) PRIMARY KEY, points integer NOT NULL DEFAULT 0, expire bigint
  );
  ${slotTables}`;

/** Imports what it needs only when called, since most gateways limit nothing. */
export async function createMemoryCounter(
  window: number,
  slots: Slots = new MemorySlots(),
): Promise<Counter> {
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  return new Counter(
    (keyPrefix, points) => new Allowance(new RateLimiterMemory({ keyPrefix, points, duration: window })),
    slots,
  );
}

export async function openStore({ window, url }: StoreOptions, workers: Workers): Promise<Store> {
  if (url !== undefined) return openPostgresStore(window, url);
  const own = await createMemoryCounter(window);
  return {
    counts: workers.several ? new SupervisedCounter(workers, window, own) : own,
    close: async () => undefined,
  };
}

async function openPostgresStore(window: number, url: string): Promise<Store> {
  const { RateLimiterMemory, RateLimiterPostgres } = await import('rate-limiter-flexible');
  const { Pool } = await import('pg');
  const pool = new Pool({
    connectionString: followLibpq(url),
    max: connections,
    connectionTimeoutMillis: 2000,
    query_timeout: 5000,
  });
  // A connection that breaks while idle emits `error`, which would end the process without a listener.
  pool.on('error', () => undefined);
  await pool.query(tables);
  const slots = await PostgresSlots.open(pool);
  const createAllowance = (keyPrefix: string, points: number): Allowance => {
    const limits = { keyPrefix, points, duration: window };
    const insuranceLimiter = new RateLimiterMemory(limits);
    return new Allowance(
      new RateLimiterPostgres({
        ...limits,
        storeClient: pool,
        tableName: table,
        tableCreated: true,
        insuranceLimiter,
      }),
    );
  };
  return {
    counts: new Counter(createAllowance, slots),
    async close() {
      await slots.close();
      await pool.end();
    },
  };
}
