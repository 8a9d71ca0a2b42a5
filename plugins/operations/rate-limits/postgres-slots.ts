/**
 * Concurrent calls of all processes that share a PostgreSQL. The running calls of a key or account are one
 * row, each with the process that runs it, so that one statement can decide. Each process writes heartbeats;
 * calls of a dead process are not counted. While the database cannot be reached, each process counts for
 * itself.
 */
import { randomUUID } from 'node:crypto';
import { MemorySlots, type Slots } from './slots.ts';

/** Seconds without a heartbeat after which a process is dead, and milliseconds between two heartbeats. */
const lease = 15;
const beat = 4000;

export const slotTables = `
  CREATE TABLE IF NOT EXISTS tollgate_limited_processes (
    process text PRIMARY KEY, until timestamptz NOT NULL
  );
  CREATE TABLE IF NOT EXISTS tollgate_limited_calls (name text PRIMARY KEY, running jsonb NOT NULL);
  DELETE FROM tollgate_limited_processes WHERE until < now() - interval '1 day';
`;

const live = `
  UPDATE tollgate_limited_processes SET until = now() + make_interval(secs => ${lease}) WHERE process = $1`;

const enlist = `
  INSERT INTO tollgate_limited_processes VALUES ($1, now() + make_interval(secs => ${lease}))`;

/** The row is locked before the condition is checked, so the second of two calls at once sees the first. */
const take = `
  INSERT INTO tollgate_limited_calls AS party VALUES ($1, jsonb_build_object($2::text, $3::text))
  ON CONFLICT (name) DO UPDATE SET running = jsonb_build_object($2::text, $3::text) || (
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(party.running)
    WHERE value #>> '{}' IN (SELECT process FROM tollgate_limited_processes WHERE until > now()))
  WHERE (
    SELECT count(*) FROM jsonb_each_text(party.running)
    WHERE value IN (SELECT process FROM tollgate_limited_processes WHERE until > now())) < $4`;

const give = `UPDATE tollgate_limited_calls SET running = running - $2::text WHERE name = $1`;

/** The part of `pg`'s pool that is used here. */
interface Database {
  query(text: string, values: readonly unknown[]): Promise<{ readonly rowCount: number | null }>;
}

interface Given {
  readonly name: string;
  readonly call: string;
}

export class PostgresSlots implements Slots {
  readonly #pool: Database;
  readonly #process = randomUUID();
  readonly #insurance = new MemorySlots();
  /** Places that were given back while the database could not be reached. */
  #owed: Given[] = [];
  #beating: NodeJS.Timeout | undefined;

  private constructor(pool: Database) {
    this.#pool = pool;
  }

  static async open(pool: Database): Promise<PostgresSlots> {
    const slots = new PostgresSlots(pool);
    await pool.query(enlist, [slots.#process]);
    // Started only now: if the database cannot be opened, nothing would stop it.
    slots.#beating = setInterval(() => void slots.#beat(), beat).unref();
    return slots;
  }

  async take(name: string, limit: number, call: string, holder: number): Promise<boolean> {
    try {
      const { rowCount } = await this.#pool.query(take, [name, call, this.#process, limit]);
      return rowCount === 1;
    } catch {
      return this.#insurance.take(name, limit, call, holder);
    }
  }

  async give(name: string, call: string): Promise<void> {
    if (this.#insurance.give(name, call)) return;
    await this.#pool.query(give, [name, call]).catch(() => void this.#owed.push({ name, call }));
  }

  /** Gives back everything that this process holds. */
  async close(): Promise<void> {
    clearInterval(this.#beating);
    await this.#pool
      .query('DELETE FROM tollgate_limited_processes WHERE process = $1', [this.#process])
      .catch(() => undefined);
  }

  async #beat(): Promise<void> {
    try {
      const { rowCount } = await this.#pool.query(live, [this.#process]);
      if (rowCount === 0) await this.#pool.query(enlist, [this.#process]);
    } catch {
      return;
    }
    for (const { name, call } of this.#owed.splice(0)) await this.give(name, call);
  }
}
