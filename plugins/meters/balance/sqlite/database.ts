/** Opens a ledger file so that a commit is on disk when it returns, and brings its tables up to date. */
import { DatabaseSync } from 'node:sqlite';
import { buildSums, type BuildNote } from '../sql/call-tables.ts';
import { addedColumns, expansion, guarded, needsTables, tables } from '../sql/tables.ts';

/** `PRAGMA user_version` holds it. */
const knownVersion = 12;

/** What SQLite spells otherwise in the tables, or does not need. */
const spellings: readonly (readonly [postgres: RegExp, sqlite: string])[] = [
  // A number is never used again, even if the last rows are deleted.
  [/\bbigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY/g, 'INTEGER PRIMARY KEY AUTOINCREMENT'],
  [/ COLLATE "C"| WITH \(fillfactor = \d+\)|\/\* | \*\//g, ''],
  [/\b(?:bigint|integer|boolean)\b/g, 'INTEGER'],
  [/\btext\b/g, 'TEXT'],
  [/\bbytea\b/g, 'BLOB'],
];

/** A line of a table without the check at its end, unless that has a name. */
function dropCheck(line: string): string {
  const at = line.startsWith('  CONSTRAINT') ? -1 : line.indexOf(' CHECK (');
  return at < 0 ? line : line.slice(0, at) + (line.endsWith(',') ? ',' : '');
}

function toSqlite(text: string): string {
  const lines = text.split('\n').filter((line) => !line.includes(' xid8 '));
  return spellings.reduce(
    (spelled, [postgres, sqlite]) => spelled.replaceAll(postgres, sqlite),
    lines.map(dropCheck).join('\n'),
  );
}

const buildNote: BuildNote = (log, buildCondition) => `
CREATE TRIGGER IF NOT EXISTS ${log}_are_noted AFTER INSERT ON ${log}
  ${buildCondition ? `WHEN ${buildCondition('NEW')}` : ''}
  BEGIN INSERT INTO unsummed (log, number) VALUES ('${log}', NEW.number); END;`;

function buildGuard([table, rows]: readonly [table: string, rows: string]): string {
  return `
CREATE TRIGGER ${rows}_stay BEFORE UPDATE ON ${table}
  BEGIN SELECT RAISE(ABORT, '${rows} are never changed'); END;
CREATE TRIGGER ${rows}_remain BEFORE DELETE ON ${table}
  BEGIN SELECT RAISE(ABORT, '${rows} are never deleted'); END;`;
}

/**
 * Kilobytes of the file that each connection may cache. Calls only touch the ends of tables, since ids are in
 * order of time. A larger cache would fill with every page ever written, so memory would grow with the books.
 */
const cached = 1000;

/** Throws if the file cannot be opened, is not a database, or was written by a newer version. */
export function openDatabase(file: string, busyTimeout: number): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: busyTimeout, readBigInts: true });
  try {
    keepLog(database, performance.now() + busyTimeout);
    database.exec(
      `PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${cached}; ` +
        'PRAGMA wal_autocheckpoint = 4000;',
    );
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite's result code, without its extended bits; undefined for an error that is not SQLite's. */
export function getResultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined;
}

const busy = 5;
const pause = 10;

/**
 * Switches the file to its write-ahead log. Two processes that switch a new file at the same time fail
 * without waiting, so this retries.
 */
function keepLog(database: DatabaseSync, deadline: number): void {
  for (;;) {
    try {
      return database.exec('PRAGMA journal_mode = WAL');
    } catch (error) {
      if (getResultCode(error) !== busy || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause);
    }
  }
}

function hasSums(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'series_sums'").get() !== undefined;
}

/** SQLite cannot add a column only if it is missing. */
function addColumns(database: DatabaseSync): void {
  const names = database.prepare('SELECT name FROM pragma_table_info(?)');
  for (const [table, columns] of Object.entries(addedColumns)) {
    const known = new Set(names.all(table).map(({ name }) => name));
    for (const [column, type] of Object.entries(columns))
      if (!known.has(column)) database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${toSqlite(type)}`);
  }
}

/** Runs in one transaction, since another process may be opening the same new file. */
function migrate(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
    const isNew = needsTables(version, knownVersion);
    if (isNew) {
      const guards = Object.entries(guarded).map(buildGuard);
      database.exec(`${toSqlite(tables)} ${guards.join('')} PRAGMA user_version = ${knownVersion}`);
    }
    addColumns(database);
    database.exec(toSqlite(expansion));
    if (!hasSums(database)) database.exec(toSqlite(buildSums(buildNote)));
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
