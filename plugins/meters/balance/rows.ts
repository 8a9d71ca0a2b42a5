/**
 * Reads columns of a database's rows by the types of the tables. Both databases return integers as BigInt.
 * It avoids zod, which would take 5 MB of the writing thread's memory.
 */
export type Row = Readonly<Record<string, unknown>>;
type Read<Value> = (row: Row, column: string) => Value;

/** The fields of a record by name, each with what reads it; `lastFour` is in the column `last_four`. */
type Fields = Readonly<Record<string, Read<unknown>>>;
/** The record that these fields describe. */
export type RecordOf<Shape extends Fields> = { readonly [Name in keyof Shape]: ReturnType<Shape[Name]> };

export function toColumn(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Reads records with these fields. */
export function createReader<const Shape extends Fields>(fields: Shape): (row: Row) => RecordOf<Shape> {
  const columns = Object.entries(fields).map(([name, read]) => ({ name, column: toColumn(name), read }));
  // A copy with all fields takes half as long as an object to which they are added one by one.
  const empty: Readonly<Record<string, unknown>> = Object.fromEntries(
    columns.map(({ name }) => [name, null]),
  );
  return (row) => {
    const record = { ...empty };
    for (const { name, column, read } of columns) record[name] = read(row, column);
    // TypeScript cannot follow each name to the type of its field through a loop.
    return record as RecordOf<Shape>;
  };
}

/** The names of fields. */
export function listFields<Shape extends Fields>(fields: Shape): (keyof Shape & string)[] {
  return Object.keys(fields);
}

export function readInteger(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value !== 'bigint') throw new TypeError(`column ${column} holds no integer`);
  return value;
}

/** An integer that is not money: a time, a count, a number. */
export function readCount(row: Row, column: string): number {
  return Number(readInteger(row, column));
}

export function readText(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

/** A boolean, which is 1 or 0 in a database that has none. */
export function readFlag(row: Row, column: string): boolean {
  const value = row[column];
  return typeof value === 'boolean' ? value : readInteger(row, column) === 1n;
}

/** One of the values that a column may hold. */
export function matchWord<const Known extends string>(known: readonly Known[]): Read<Known> {
  return (row, column) => {
    const found = known.find((each) => each === row[column]);
    if (found === undefined) throw new TypeError(`column ${column} holds an unknown value`);
    return found;
  };
}

/** What `read` returns for a column; undefined if the column is null. */
export function readOptional<Value>(row: Row, column: string, read: Read<Value>): Value | undefined {
  return row[column] === null ? undefined : read(row, column);
}

/** A field that may be null. */
export function allowNull<Value>(read: Read<Value>): Read<Value | undefined> {
  return (row, column) => readOptional(row, column, read);
}

/** A field whose column has another name. */
export function pickColumn<Value>(column: string, read: Read<Value>): Read<Value> {
  return (row) => read(row, column);
}

export function readBytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} holds no bytes`);
  return new Uint8Array(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A list of texts, stored as JSON. */
export function readTexts(row: Row, column: string): readonly string[] {
  const value: unknown = JSON.parse(readText(row, column));
  if (!Array.isArray(value) || !value.every(isText))
    throw new TypeError(`column ${column} holds no list of texts`);
  return value;
}

/** The same, where an empty list is null. */
export function readList(row: Row, column: string): readonly string[] {
  return readOptional(row, column, readTexts) ?? [];
}

/** An object, stored as JSON. */
export function readObject(row: Row, column: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(readText(row, column));
  if (typeof value !== 'object' || value === null) throw new TypeError(`column ${column} holds no object`);
  return { ...value };
}

/** Texts by their names, stored as JSON. */
export function readNamedTexts(row: Row, column: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(readObject(row, column)).map(([name, each]) => {
      if (!isText(each)) throw new TypeError(`column ${column} holds under ${name} what is no text`);
      return [name, each];
    }),
  );
}
