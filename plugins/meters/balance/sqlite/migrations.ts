/** The steps that make the tables; `PRAGMA user_version` holds a file's version. */
import { buildAllTables, type Dialect } from '../sql/tables.ts';
import type { Migrations } from '../versions.ts';

const dialect: Dialect = {
  // A number is never used again, even if the last rows are deleted.
  identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  integer: 'INTEGER',
  small: 'INTEGER',
  flag: 'INTEGER',
  text: 'TEXT',
  sorted: 'TEXT',
  bytes: 'BLOB',
  table: ' STRICT',
  keyed: ' STRICT, WITHOUT ROWID',
  buildFill: () => '',
  buildCheck: () => '',
  ofAccount: ' REFERENCES accounts (id)',
  entryColumns: '',
  indexes: '',
  buildGuard: (table, rows) => `
CREATE TRIGGER ${rows}_stay BEFORE UPDATE ON ${table}
  BEGIN SELECT RAISE(ABORT, '${rows} are never changed'); END;
CREATE TRIGGER ${rows}_remain BEFORE DELETE ON ${table}
  BEGIN SELECT RAISE(ABORT, '${rows} are never deleted'); END;`,
};

/** Version 11 stored the call of a reserve entry only. */
const fillCalls = `
DROP TRIGGER entries_stay;
UPDATE entries SET call = made.call FROM entries made
  WHERE entries.call IS NULL AND made.number = entries.reservation;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
  BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;`;

export const migrations: Migrations = { first: 11, steps: [buildAllTables(dialect), fillCalls] };
