/**
 * SQLite ledgers for tests: in a folder that is deleted with them, and with a separate connection to read
 * them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqlite, type SqliteOptions } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Books, OpenedStore } from '../contract/books.ts';
import { makeFolder } from '../support/folder.ts';
import { selectAccounts, selectEntries, toBooks } from './read-books.ts';

/** Lets a test change a ledger's file as the store never would. */
export function withDatabase<Result>(file: string, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file, { readBigInts: true, timeout: 60_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Holds a file's write lock, as another process might; the returned function releases it. */
export function lock(file: string): () => void {
  // The ledger itself may be writing.
  const database = new DatabaseSync(file, { timeout: 60_000 });
  database.exec('BEGIN IMMEDIATE');
  return () => database.close();
}

export function readBooks(file: string): Books {
  return withDatabase(file, (database) =>
    toBooks(database.prepare(selectEntries).all(), database.prepare(selectAccounts).all()),
  );
}

/** A ledger that a test can change as the store never would. */
export interface OpenedLedger extends OpenedStore {
  run(sql: string): Promise<unknown>;
  /** The rows of a statement, their values in the order of the columns. */
  query(sql: string): Promise<unknown[][]>;
}

export interface OpenedFile extends OpenedLedger {
  readonly file: string;
}

export async function openTemporary(options: Omit<SqliteOptions, 'file'> = {}): Promise<OpenedFile> {
  const file = join(makeFolder(), 'ledger.db');
  const store = await openSqlite({ file, ...options });
  return {
    store,
    file,
    another: () => openSqlite({ file }),
    books: async () => readBooks(file),
    run: async (sql) => withDatabase(file, (database) => database.exec(sql)),
    query: async (sql) =>
      withDatabase(file, (database) =>
        database
          .prepare(sql)
          .all()
          .map((row) => Object.values(row)),
      ),
    dispose: () => store.close(),
  };
}

/** Counts the commits in a file's write-ahead log: frames of its current round that end a transaction. */
export function countCommits(file: string): number {
  const log = readFileSync(`${file}-wal`);
  const [headerLength, frameHeaderLength, pageSize] = [32, 24, log.readUInt32BE(8)];
  const salts = log.subarray(16, 24);
  let commits = 0;
  for (let at = headerLength; at + frameHeaderLength <= log.length; at += frameHeaderLength + pageSize) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    if (log.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return commits;
}
