/**
 * PostgreSQL ledgers for tests: in a database that is dropped with them, and with a separate connection to
 * read them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { typeParsers } from '../../plugins/meters/balance/postgres/connection.ts';
import { openPostgres, type PostgresOptions } from '../../plugins/meters/balance/postgres/open.ts';
import type { Row } from '../../plugins/meters/balance/rows.ts';
import type { Books } from '../contract/books.ts';
import { findServer, openDatabase } from '../support/database.ts';
import { createDatabase } from '../support/postgres.ts';
import { openTemporary, type OpenedLedger } from './ledger-file.ts';
import { selectAccounts, selectEntries, toBooks } from './read-books.ts';

/** Lets a test change a database as the store never would. */
export async function queryDatabase(
  url: string,
  statement: string,
  values: unknown[] = [],
): Promise<readonly Row[]> {
  const client = new Client({
    connectionString: url,
    types: typeParsers,
    options: '-c search_path=tollgate',
  });
  await client.connect();
  try {
    const { rows } = await client.query<Row>(statement, values);
    return rows;
  } finally {
    await client.end();
  }
}

async function readBooks(url: string): Promise<Books> {
  return toBooks(await queryDatabase(url, selectEntries), await queryDatabase(url, selectAccounts));
}

export interface OpenedDatabase extends OpenedLedger {
  readonly url: string;
}

let template: Promise<string> | undefined;

/** Makes a database with an empty ledger, and returns its name. It ends with the server. */
async function makeTemplate(): Promise<string> {
  const { url } = await createDatabase(await findServer());
  const store = await openPostgres({ url });
  await store.close();
  return new URL(url).pathname.slice(1);
}

/** A new ledger. It is a copy, since to make its tables takes PostgreSQL 0.1 s of processor time. */
export async function openFresh(options: Omit<PostgresOptions, 'url'> = {}): Promise<OpenedDatabase> {
  template ??= makeTemplate();
  const { url, drop } = await openDatabase(await template);
  const store = await openPostgres({ url, ...options });
  return {
    store,
    url,
    another: () => openPostgres({ url, ...options }),
    books: () => readBooks(url),
    run: (sql) => queryDatabase(url, sql),
    query: async (sql) => (await queryDatabase(url, sql)).map((row) => Object.values(row)),
    async dispose() {
      await store.close();
      await drop();
    },
  };
}

/** A ledger in each database, for tests of both. */
export const ledgers = [
  ['SQLite', openTemporary],
  ['PostgreSQL', openFresh],
] as const;

/** Resolves once so many wait for a lock that someone else holds. */
export async function waitForLocks(url: string, count: number): Promise<void> {
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  while ((await queryDatabase(url, waiting)).length < count) await sleep(20);
}

export interface Holder {
  /** Locks an account's row, and waits for it if someone else has it. */
  take(name: string): Promise<void>;
  takeKey(id: string): Promise<void>;
  /** Takes the number of an entry that is never written. */
  takeNumber(): Promise<void>;
  /** Writes an entry of this number, and commits. */
  post(number: number, revenue: bigint): Promise<void>;
  /** Keeps everyone from writing to a table. */
  freeze(table: string): Promise<void>;
  release(): Promise<void>;
}

/** A client in the middle of a transaction, like a machine that stopped there. */
export async function startHolder(url: string): Promise<Holder> {
  const client = new Client({ connectionString: url });
  await client.connect();
  // Of two that wait for each other the database ends the one that looks first: never this one.
  await client.query("SET deadlock_timeout = '1d'");
  await client.query('BEGIN');
  return {
    async take(name) {
      await client.query('SELECT FROM tollgate.accounts WHERE name = $1 FOR UPDATE', [name]);
    },
    async takeKey(id) {
      await client.query('SELECT FROM tollgate.keys WHERE id = $1 FOR UPDATE', [id]);
    },
    async takeNumber() {
      await client.query("SELECT pg_current_xact_id(), nextval('tollgate.entry_numbers')");
    },
    async post(number, revenue) {
      await client.query(
        `INSERT INTO tollgate.entries (number, kind, account, at, credits, available, reserved, revenue, call,
          reservation, model, input, output, attempts, flags)
        SELECT $1, 'post', id, 1, 0, -$2::bigint, 0, $2, 'late', -$1::bigint, 'house/model', 0, 0, 1, ''
        FROM tollgate.accounts LIMIT 1`,
        [number, revenue],
      );
      await client.query('COMMIT');
    },
    async freeze(table) {
      await client.query(`LOCK TABLE tollgate.${table} IN SHARE MODE`);
    },
    release: () => client.end(),
  };
}
