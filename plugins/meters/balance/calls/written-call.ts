/** An ended call as a row of the table of calls: JSON text, made once, that the database reads as it is. */
import type { End } from '../../../../core/index.ts';
import { columnsOf } from '../../../shared/calls/columns.ts';
import { recordText, shortRecordText } from '../../../shared/calls/record.ts';

/** Characters of a record that are kept for days. Hostile calls can have longer ones. */
const longestRecord = 16_384;

/** Undefined for a call without a valid key: strangers must not fill the database. */
export function writeCall(end: End): string | undefined {
  if (!end.exchange.principal) return undefined;
  const record = recordText(end);
  const body = record.length > longestRecord ? shortRecordText(end) : record;
  return `${JSON.stringify(columnsOf(end)).slice(0, -1)},"body":${body}}`;
}
