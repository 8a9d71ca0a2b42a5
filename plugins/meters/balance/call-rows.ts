/** What is read of a call before it is decided. */
import type { Minute } from './decisions.ts';
import {
  allowNull,
  createReader,
  pickColumn,
  readCount,
  readFlag,
  readInteger,
  readList,
  readText,
  type RecordOf,
  type Row,
} from './rows.ts';

const accountFields = {
  id: readInteger,
  available: readInteger,
  /** The accounts above it. */
  line: readList,
};
/** An account before this transaction changes anything. */
export type FoundAccount = RecordOf<typeof accountFields>;
export const readFoundAccount = createReader(accountFields);

const keyFields = {
  root: readText,
  /** What is left of its cap; undefined if it has none. */
  left: pickColumn('left_of_cap', allowNull(readInteger)),
  /** How many calls it may make in a minute, if that is limited, and how many it has made. */
  rate: pickColumn('calls_per_minute', allowNull(readCount)),
  minute: (row: Row): Minute => ({ began: readCount(row, 'minute'), calls: readCount(row, 'calls') }),
};
/** A key before this transaction changes anything. */
export type FoundKey = RecordOf<typeof keyFields>;
export const readFoundKey = createReader(keyFields);

const heldFields = {
  call: readText,
  number: readInteger,
  account: readInteger,
  key: allowNull(readText),
  root: allowNull(readText),
  /** The periods of budgets that it counts in. */
  budgets: allowNull(readText),
};
/** The reservation that an entry ends or follows. */
export type Held = RecordOf<typeof heldFields>;

const pendingFields = { ...heldFields, amount: readInteger, claim: allowNull(readText) };
/** A reservation that is pending. */
export type Pending = RecordOf<typeof pendingFields>;
export const readPending = createReader(pendingFields);

const pastFields = {
  ...heldFields,
  kind: readText,
  flags: readText,
  /** What has been posted for it so far. */
  posted: readInteger,
  isAdjusted: pickColumn('adjusted', readFlag),
};
/** A reservation that has ended. */
export type PastCall = RecordOf<typeof pastFields>;
export const readPast = createReader(pastFields);
