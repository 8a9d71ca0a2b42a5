/** Reads columns of rows as what the table says they are. */
import type { SQLOutputValue } from 'node:sqlite';

export type Row = Record<string, SQLOutputValue>;

export function integer(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value !== 'bigint') throw new TypeError(`column ${column} holds no integer`);
  return value;
}

/** An integer that is no amount of money: a time, a count, a place. */
export function count(row: Row, column: string): number {
  return Number(integer(row, column));
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

/** What `read` makes of a column; undefined where it is null. */
export function maybe<Value>(row: Row, column: string, read: (row: Row, column: string) => Value): Value | undefined {
  return row[column] === null ? undefined : read(row, column);
}
