/**
 * The steps that make the tables, in order. `PRAGMA user_version` counts those a file has been through, and a step is
 * never changed once it is released.
 */
import { firstTables } from './first-tables.ts';
import { journalTables } from './journal-tables.ts';
import { minuteColumns } from './minute-columns.ts';

export const migrations: readonly string[] = [firstTables, journalTables, minuteColumns];
