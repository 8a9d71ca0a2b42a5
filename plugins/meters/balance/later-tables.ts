/** The steps that both databases take after their first tables. */
import { budgetTables } from './budgets/tables.ts';
import { marginColumns } from './calls/margins.ts';
import { callTables } from './calls/tables.ts';
import { correctionTables } from './corrections.ts';
import { documentTable } from './documents.ts';

/** How a database spells what its tables need. */
export interface Dialect {
  /** A primary key of numbers, none of which is given twice. */
  readonly identity: string;
  readonly integer: string;
  readonly small: string;
  readonly flag: string;
  readonly text: string;
  /** Text in the order of its bytes. */
  readonly sorted: string;
  /**
   * What follows the columns: of any table, of one found by its primary key, and of one that changes often.
   */
  readonly table: string;
  readonly keyed: string;
  readonly busy: string;
  /** A check that a column holds one of some words, where the database makes it. */
  readonly oneOf: (column: string, words: readonly string[]) => string;
}

/** `guards` keep the log of operators' actions from changes. */
export function laterSteps(dialect: Dialect, guards: string): readonly string[] {
  const { flag, integer } = dialect;
  return [
    budgetTables(dialect),
    documentTable(dialect),
    callTables(dialect),
    `ALTER TABLE keys ADD COLUMN read_only ${flag} NOT NULL DEFAULT false`,
    // What vendors bill. Null: as much as was charged.
    `ALTER TABLE entries ADD COLUMN vendor ${integer}`,
    correctionTables(dialect) + guards,
    marginColumns(integer),
  ];
}
