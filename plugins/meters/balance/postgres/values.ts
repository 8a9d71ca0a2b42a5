/**
 * How values cross between PostgreSQL and the store: integers as BigInt, many rows as one JSON parameter.
 */
import { types, type CustomTypesConfig } from 'pg';

const wholeNumbers: readonly number[] = [types.builtins.INT2, types.builtins.INT4, types.builtins.INT8];

export const typeParsers: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    wholeNumbers.includes(oid) && format !== 'binary' ? BigInt : types.getTypeParser(oid, format),
};

/** For `json_populate_recordset`: a column that is not named is null. */
export function encodeRecords(rows: readonly object[]): string {
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}
