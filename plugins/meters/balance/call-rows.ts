/** What is read of a call before it is decided. */
import type { Minute } from './decisions.ts';
import * as rows from './rows.ts';

const accountFields = {
  id: rows.readInteger,
  available: rows.readInteger,
  /** The accounts above it. */
  line: rows.readList,
};
/** An account before this transaction changes anything. */
export type FoundAccount = rows.RecordOf<typeof accountFields>;
export const readFoundAccount = rows.createReader(accountFields);

const keyFields = {
  root: rows.readText,
  /** What is left of its cap; undefined if it has none. */
  left: rows.pickColumn('left_of_cap', rows.allowNull(rows.readInteger)),
  /** How many calls it may make in a minute, if that is limited, and how many it has made. */
  rate: rows.pickColumn('calls_per_minute', rows.allowNull(rows.readCount)),
  minute: (row: rows.Row): Minute => ({
    began: rows.readCount(row, 'minute'),
    calls: rows.readCount(row, 'calls'),
  }),
};
/** A key before this transaction changes anything. */
export type FoundKey = rows.RecordOf<typeof keyFields>;
export const readFoundKey = rows.createReader(keyFields);

const heldFields = {
  call: rows.readText,
  number: rows.readInteger,
  account: rows.readInteger,
  key: rows.allowNull(rows.readText),
  root: rows.allowNull(rows.readText),
  /** The periods of budgets that it counts in. */
  budgets: rows.allowNull(rows.readText),
};
/** The reservation that an entry ends or follows. */
export type Held = rows.RecordOf<typeof heldFields>;

const pendingFields = { ...heldFields, amount: rows.readInteger, claim: rows.allowNull(rows.readText) };
/** A reservation that is pending. */
export type Pending = rows.RecordOf<typeof pendingFields>;
export const readPending = rows.createReader(pendingFields);

const pastFields = {
  ...heldFields,
  kind: rows.readText,
  flags: rows.readText,
  /** What has been posted for it so far. */
  posted: rows.readInteger,
  isAdjusted: rows.pickColumn('adjusted', rows.readFlag),
};
/** A reservation that has ended. */
export type PastCall = rows.RecordOf<typeof pastFields>;
export const readPast = rows.createReader(pastFields);
