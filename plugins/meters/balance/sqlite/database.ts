/** Opens a ledger file so that a commit is on disk when it returns, and brings its tables up to date. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrations } from './migrations.ts';

/** Throws where the file cannot be opened, is no database, or was written by a newer version. */
export function openDatabase(file: string, busyTimeout: number): DatabaseSync {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file, { timeout: busyTimeout, readBigInts: true });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32000;');
  migrate(database);
  return database;
}

/** Inside one transaction, since another process may be opening the same new file. */
function migrate(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > migrations.length) throw new Error(`it has version ${version} and this program knows up to ${migrations.length}: it was written by a newer one`);
    for (const step of migrations.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
