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

export const migrations: Migrations = { first: 11, steps: [buildAllTables(dialect)] };
