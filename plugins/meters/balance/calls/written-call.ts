/** An ended call as a row of the table of calls: JSON texts that a thread takes as they are. */
import type { End } from '../../../../core/index.ts';
import { columnsOf } from '../../../shared/calls/columns.ts';
import { recordText, shortRecordText } from '../../../shared/calls/record.ts';

/** Characters of a record that are kept for days. Hostile calls can have longer ones. */
const longestRecord = 16_384;

/** Two texts, since joining them for every call would copy both. */
export type WrittenCall = readonly [columns: string, record: string];

/** Undefined for a call without a valid key: strangers must not fill the database. */
export function writeCall(end: End): WrittenCall | undefined {
  if (!end.exchange.principal) return undefined;
  const record = recordText(end);
  return [JSON.stringify(columnsOf(end)), record.length > longestRecord ? shortRecordText(end) : record];
}
