/**
 * Operations that both databases run. Each is a generator that yields statements and receives their rows.
 * So SQLite runs it synchronously on its thread, and PostgreSQL asynchronously over a connection. The
 * statements are PostgreSQL's. `sqlite/statements.ts` leaves out the words that SQLite does not know and
 * need not know.
 */
import type { Answer, Argument, StoreOperationName } from '../operations.ts';
import type { Row } from '../rows.ts';

/** A statement. If it has a name, the database caches its plan. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

export type Value = string | number | bigint | boolean | Uint8Array | null;

export interface Asked {
  readonly statement: Statement;
  readonly values: readonly Value[];
}

export type Steps<Answer> = Generator<Asked, Answer, readonly Row[]>;

/** The store's operations as such generators; a database runs some of them in its own way. */
export type StepsOf<Name extends StoreOperationName> = (argument: Argument<Name>) => Steps<Answer<Name>>;
export type Operations = { readonly [Name in StoreOperationName]: StepsOf<Name> };

/** Runs a statement. Undefined is stored as null. */
export function* askRows(
  statement: Statement,
  ...values: readonly (Value | undefined)[]
): Steps<readonly Row[]> {
  return yield { statement, values: values.map((value) => value ?? null) };
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
