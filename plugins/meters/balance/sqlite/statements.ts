/** Statements on one SQLite connection, and the operations that both databases share. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Row } from '../rows.ts';
import type { Asked, Statement, Steps } from '../sql/steps.ts';

/** What SQLite spells otherwise, or does not know and does not need: it locks the whole file and not rows. */
const spellings: readonly (readonly [postgres: RegExp, sqlite: string])[] = [
  [/(?:\sORDER BY id)?\sFOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?| COLLATE "C"|::bigint/g, ''],
  [
    /nextval\('entry_numbers'\) AS number FROM generate_series\(1, (\$\d+)::integer\)/g,
    'coalesce(max(number), 0) + 1 AS number FROM entries WHERE $1 > 0',
  ],
  [/nextval\('\w+'\)|pg_advisory_xact_lock\(\d+\)/g, 'NULL'],
  [/\(extract\(epoch FROM clock_timestamp\(\)\) \* 1000\)/g, "CAST(unixepoch('subsec') * 1000 AS INTEGER)"],
  [/json_array_elements(?:_text)?\(([\w.]+)::json\)/g, 'json_each($1)'],
  [/\$(\d+)/g, '?$1'],
];

/** A list as PostgreSQL takes it. */
const list = /= ANY\((\$\d+)::text\[\]\)/g;

function toSqlite(text: string, isShort: boolean): string {
  const listed = text.replaceAll(list, isShort ? '= $1' : 'IN (SELECT value FROM json_each($1))');
  return spellings.reduce((spelled, [postgres, sqlite]) => spelled.replaceAll(postgres, sqlite), listed);
}

/** What `selectRecords` selects, and what names it in a statement that has more tables. */
const selected = /SELECT ([\w,\s]+) FROM json_populate_recordset\(NULL::\w+, \$1\)/;
const joined = /(?:\sFROM|,) \(SELECT [\w,\s]+ FROM json_populate_recordset\([^)]+\)\) (\w+)/;

interface Prepared {
  readonly made: StatementSync;
  /** The fields of the records that it is run for, one by one. */
  readonly columns: readonly string[];
}

function toBound(value: unknown): SQLInputValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return Number(value);
  return value instanceof Uint8Array ? value : null;
}

/** A short list is bound as its only item, or as null, which equals nothing. */
function toBoundList(value: unknown, isShort: boolean): SQLInputValue {
  if (!Array.isArray(value)) return toBound(value);
  return isShort ? toBound(value[0]) : JSON.stringify(value);
}

export class Statements {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  /** By the names of the statements: for short lists, and for long ones. */
  readonly #forShort = new Map<string, Prepared>();
  readonly #forLong = new Map<string, Prepared>();

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
      step = steps.next(asked.map((each) => (each.onlyLocks ? [] : this.#runOne(each, isAnswered))));
    }
    return step.value;
  }

  #runOne({ statement, values, records }: Asked, isAnswered: boolean): readonly Row[] {
    // Most calls are alone in their commit. Reading their lists by `json_each` takes a sixth of its time.
    const isShort = values.every((value) => !Array.isArray(value) || value.length <= 1);
    const { made, columns } = this.#prepareStatement(statement, isShort);
    const run = (bound: SQLInputValue[]): Row[] => {
      if (isAnswered) return made.all(...bound);
      // This is cheaper.
      made.run(...bound);
      return [];
    };
    if (!records) return run(values.map((value) => toBoundList(value, isShort)));
    return records.flatMap((record) => run(columns.map((column) => toBound(Reflect.get(record, column)))));
  }

  #prepareStatement({ name, text }: Statement, isShort: boolean): Prepared {
    const cache = isShort ? this.#forShort : this.#forLong;
    const known = name === undefined ? undefined : cache.get(name);
    if (known) return known;
    const columns = selected.exec(text)?.[1]?.split(/,\s+/) ?? [];
    const [table, alias] = joined.exec(text) ?? [];
    const places = columns.map((_, index) => `?${index + 1}`);
    const spelled =
      table === undefined
        ? text.replace(selected, `VALUES (${places.join(', ')})`)
        : columns.reduce(
            (changed, column, index) =>
              changed.replaceAll(new RegExp(`\\b${alias}\\.${column}\\b`, 'g'), `?${index + 1}`),
            text.replace(table, ''),
          );
    const made = this.#database.prepare(toSqlite(spelled, isShort));
    const prepared = { made, columns };
    if (name !== undefined) cache.set(name, prepared);
    return prepared;
  }
}
