/** Statements on one SQLite connection, and the operations that both databases share. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { TableFault } from '../operations.ts';
import type { Row } from '../rows.ts';
import { isEmpty, listSubjects, type Asked, type Statement, type Steps } from '../sql/steps.ts';
import { getResultCode } from './database.ts';

/** What SQLite spells otherwise, or does not know and does not need: it locks the whole file and not rows. */
const spellings: readonly (readonly [postgres: RegExp, sqlite: string])[] = [
  [/(?:\sORDER BY id)?\sFOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?| COLLATE "C"|::bigint/g, ''],
  [
    /nextval\('entry_numbers'\) AS number FROM generate_series\(1, (\$\d+)::integer\)/g,
    'coalesce(max(number), 0) + 1 AS number FROM entries WHERE $1 > 0',
  ],
  [/nextval\('\w+'\)|pg_advisory_xact_lock\(\d+\)/g, 'NULL'],
  [/\(extract\(epoch FROM clock_timestamp\(\)\) \* 1000\)/g, "CAST(unixepoch('subsec') * 1000 AS INTEGER)"],
  [/json_(?:array_elements|each)(?:_text)?\(([\w.$]+)::json\)/g, 'json_each($1)'],
  [/\bjson_agg\(/g, 'json_group_array('],
  [/\bjson_build_(array|object)\(/g, 'json_$1('],
  [/::json\b/g, ''],
  [/\$(\d+)/g, '?$1'],
];

/** A list as PostgreSQL takes it. A statement about nothing else runs for each item, which is faster. */
const list = /= ANY\((\$\d+)::(?:text|bigint)\[\]\)/g;

function toSqlite(text: string): string {
  const isAboutItems = !text.includes('$2');
  const listed = text.replaceAll(list, isAboutItems ? '= $1' : 'IN (SELECT value FROM json_each($1))');
  return spellings.reduce((spelled, [postgres, sqlite]) => spelled.replaceAll(postgres, sqlite), listed);
}

/** What `selectRecords` selects, and what names it in a statement that has more tables. */
const selected = /SELECT ((?:(?!SELECT )[\w,\s])+) FROM json_populate_recordset\(NULL::\w+, \$1\)/;
const joined = /(?:\sFROM|,) \(SELECT [\w,\s]+ FROM json_populate_recordset\([^()]+\)\) (\w+)/;

/**
 * Result codes of faults that lie in a statement: it cannot be understood, a value or text is too long, a
 * constraint breaks, a type or the number of values is wrong.
 */
const statementFaults: ReadonlySet<number> = new Set([1, 18, 19, 20, 25]);

interface Prepared {
  readonly made: StatementSync;
  /** The fields of the records that it is run for, one by one. */
  readonly columns: readonly string[];
}

function toBound(value: unknown): SQLInputValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return Number(value);
  if (Array.isArray(value)) return JSON.stringify(value);
  return value instanceof Uint8Array ? value : null;
}

export class Statements {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  /** By the names of the statements. */
  readonly #prepared = new Map<string, Prepared>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
  }

  /** Runs what writes; nothing is written if it throws. */
  runTransaction<Result>(work: () => Result): Result {
    try {
      this.#begin.run();
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  run<Answer>(steps: Steps<Answer>): Answer {
    let step = steps.next();
    while (!step.done) {
      const { asked, isAnswered } = step.value;
      step = steps.next(
        asked.map((each) => {
          if (each.onlyLocks || isEmpty(each)) return [];
          const { plugin } = each.statement;
          return plugin === undefined
            ? this.#runOne(each, isAnswered)
            : this.#runPlugins(plugin, each, isAnswered);
        }),
      );
    }
    return step.value;
  }

  #runPlugins(plugin: string, asked: Asked, isAnswered: boolean): readonly Row[] {
    try {
      return this.#runOne(asked, isAnswered);
    } catch (error) {
      const code = getResultCode(error);
      const isDatabases = code !== undefined && !statementFaults.has(code);
      throw isDatabases || !(error instanceof Error) ? error : new TableFault(plugin, error);
    }
  }

  #runOne(asked: Asked, isAnswered: boolean): readonly Row[] {
    const { made, columns } = this.#prepareStatement(asked.statement);
    const { values, records } = asked;
    const items = listSubjects(asked);
    const rows: Row[] = [];
    const run = (bound: SQLInputValue[]): void => {
      // This is cheaper than to ask for no rows.
      if (!isAnswered) made.run(...bound);
      else for (const row of made.all(...bound)) rows.push(row);
    };
    if (records) for (const record of records) run(columns.map((column) => toBound(record[column])));
    else if (items) for (const item of items) run([toBound(item)]);
    else run(values.map(toBound));
    return rows;
  }

  #prepareStatement({ name, text }: Statement): Prepared {
    const known = name === undefined ? undefined : this.#prepared.get(name);
    if (known) return known;
    const columns = selected.exec(text)?.[1]?.split(/,\s+/) ?? [];
    const [table, alias] = joined.exec(text) ?? [];
    const spelled =
      table === undefined
        ? // Node looks up the name of each `?1`, and none of a `?`.
          text.replace(selected, `VALUES (${columns.map(() => '?').join(', ')})`)
        : columns.reduce(
            (changed, column, index) =>
              changed.replaceAll(new RegExp(`\\b${alias}\\.${column}\\b`, 'g'), `?${index + 1}`),
            text.replace(table, ''),
          );
    const made = this.#database.prepare(toSqlite(spelled));
    const prepared = { made, columns };
    if (name !== undefined) this.#prepared.set(name, prepared);
    return prepared;
  }
}
