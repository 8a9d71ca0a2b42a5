/**
 * The ordered steps that make the tables: `PRAGMA user_version` counts those a file has seen, and a step is never
 * changed once released.
 */
import { firstTables } from './first-tables.ts';
import { journalTables } from './journal-tables.ts';
import { minuteColumns } from './minute-columns.ts';

export const migrations: readonly string[] = [firstTables, journalTables, minuteColumns];
