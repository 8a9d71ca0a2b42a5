/**
 * Operations that both databases run. Each is a generator that yields statements and receives their rows.
 * So SQLite runs it synchronously on its thread, and PostgreSQL asynchronously over a connection. The
 * statements are PostgreSQL's; `sqlite/statements.ts` spells them for SQLite.
 */
import type { Answer, Argument, StoreOperationName } from '../operations.ts';
import type { Row } from '../rows.ts';

/** A statement. If it has a name, the database caches its plan. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  /** The plugin whose tables it is about, and which answers for its failure. */
  readonly plugin?: string;
}

export type Value = string | number | bigint | boolean | Uint8Array | null | readonly string[];

export interface Asked {
  readonly statement: Statement;
  readonly values: readonly Value[];
  /** The rows of a statement with `selectRecords`, instead of values. */
  readonly records?: readonly Row[];
  /** It only locks its rows. SQLite locks the whole file, and skips it. */
  readonly onlyLocks?: boolean;
}

/** Statements that travel together. Without answers, the next ones need not wait for them. */
export interface Request {
  readonly asked: readonly Asked[];
  readonly isAnswered: boolean;
}

export type Steps<Answer> = Generator<Request, Answer, readonly (readonly Row[])[]>;

/** The store's operations as such generators; `owner` is the store's own. */
export type StepsOf<Name extends StoreOperationName> = (
  argument: Argument<Name>,
  owner: string,
) => Steps<Answer<Name>>;
export type Operations = { readonly [Name in StoreOperationName]: StepsOf<Name> };

/** Undefined is stored as null. */
export function ask(statement: Statement, ...values: readonly (Value | undefined)[]): Asked {
  return { statement, values: values.map((value) => value ?? null) };
}

/** A statement with `selectRecords`. */
export function askRecords(statement: Statement, records: readonly Row[]): Asked {
  return { statement, values: [], records };
}

/** What a statement is about one by one: its records, or the items of its only value. */
export function listSubjects({ values: [list, ...others], records }: Asked): readonly unknown[] | undefined {
  return records ?? (Array.isArray(list) && others.length === 0 ? list : undefined);
}

/** A statement about nothing is not run. */
export function isEmpty(asked: Asked): boolean {
  return listSubjects(asked)?.length === 0;
}

/** Runs statements that travel together; several only on the connection that writes. */
export function* askAll(asked: readonly Asked[]): Steps<readonly (readonly Row[])[]> {
  return asked.every(isEmpty) ? asked.map(() => []) : yield { asked, isAnswered: true };
}

/** Runs a statement. */
export function* askRows(
  statement: Statement,
  ...values: readonly (Value | undefined)[]
): Steps<readonly Row[]> {
  const [rows = []] = yield* askAll([ask(statement, ...values)]);
  return rows;
}

/** Writes within a transaction, without answers. A failure fails the transaction. */
export function* sendAll(asked: readonly Asked[]): Steps<void> {
  yield { asked, isAnswered: false };
}

/** Selects what a statement gets as records. SQLite runs the statement for each of them. */
export function selectRecords(table: string, columns: string): string {
  return `SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`;
}

/** The statements of a table. Each is named by its place in it. */
export function nameStatements<const Name extends string>(
  prefix: string,
  texts: Readonly<Record<Name, string>>,
) {
  const named = Object.entries<string>(texts).map(([name, text]) => [
    name,
    { name: `${prefix} ${name}`, text },
  ]);
  return Object.fromEntries(named) as Readonly<Record<Name, Statement>>;
}

/** The conditions that a query states, and the values of their parameters. */
export class Conditions {
  readonly values: Value[] = [];
  readonly texts: string[] = [];

  /** Conditions as `name =`, each with its value; those with an undefined value are left out. */
  constructor(stated: Readonly<Record<string, Value | undefined>> = {}) {
    for (const [condition, value] of Object.entries(stated)) this.add(condition, value);
  }

  addValue(value: Value): string {
    return `$${this.values.push(value)}`;
  }

  add(condition: string, value: Value | undefined): void {
    if (value !== undefined) this.texts.push(`${condition} ${this.addValue(value)}`);
  }

  get where(): string {
    return this.texts.length === 0 ? '' : `WHERE ${this.texts.join(' AND ')}`;
  }
}
