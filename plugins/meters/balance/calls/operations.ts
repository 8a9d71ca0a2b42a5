/** The operations of a store on ended calls and their roll-ups, a part of the one table in `store.ts`. */
import type { Nano } from '../../../../core/index.ts';
import { report, upkeep } from '../definitions.ts';
import type { MinuteQuery, MinuteRow, OverviewQuery, OverviewRow } from './overview.ts';
import type { CallQuery, CallRow, Folded, FoldRequest, StoredCall, SweepRequest } from './records.ts';

export const callOperations = {
  /** Stores ended calls, as JSON text. A call is stored once. */
  addCalls: upkeep<(batch: { readonly text: string }) => void>(),
  /** Adds up to `limit` numbers of each log to the roll-ups; says whether there are no more at the moment. */
  fold: upkeep<(request: FoldRequest) => Folded>(),
  /** Deletes up to `limit` calls that ended before a time, and old roll-ups. Returns how many calls. */
  sweepCalls: upkeep<(request: SweepRequest) => number>(),
  /** Stored calls, newest first. */
  listCalls: report<(query: CallQuery) => readonly CallRow[]>(),
  /** A stored call with its record; undefined if there is none. */
  storedCall: report<(id: string) => StoredCall | undefined>(),
  /** Roll-ups and what is beyond them, by one dimension and step. */
  overview: report<(query: OverviewQuery) => readonly OverviewRow[]>(),
  /** How many numbers of both logs are beyond the roll-ups. */
  behind: report<() => number>(),
  /** What an account was charged in some hours, for days that begin within an hour of UTC. */
  chargedByMinute: report<(query: MinuteQuery) => readonly MinuteRow[]>(),
  /** What an account was credited before a time, less what was taken back. */
  creditedBefore: report<(asked: { readonly account: string; readonly at: number }) => Nano>(),
};
