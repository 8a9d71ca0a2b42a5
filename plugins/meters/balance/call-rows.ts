/** What both stores read of a call before it is decided. */
import type { Nano } from '../../../core/index.ts';
import type { Minute, Past } from './decisions.ts';
import { count, flag, integer, maybe, text, texts, type Row } from './rows.ts';

/** An account before this transaction changes anything. */
export interface FoundAccount {
  readonly id: bigint;
  readonly available: Nano;
  /** The accounts above it. */
  readonly line: readonly string[];
}

/** A key before this transaction changes anything. */
export interface FoundKey {
  readonly root: string;
  /** What is left of its cap; undefined where it has none. */
  readonly left: Nano | undefined;
  /** How many calls it may make in a minute, if that is limited, and how many it has made. */
  readonly rate: number | undefined;
  readonly minute: Minute;
}

/** The reservation that an entry ends or follows. */
export interface Held {
  readonly call: string;
  readonly number: bigint;
  readonly account: bigint;
  readonly key: string | undefined;
  readonly root: string | undefined;
  /** The periods of budgets that it counts in. */
  readonly budgets: string | undefined;
}

/** A reservation that is pending. */
export interface Pending extends Held {
  readonly amount: Nano;
  readonly claim: string | undefined;
}

/** A reservation that has ended. */
export interface PastCall extends Past {
  readonly held: Held;
}

export function foundAccountOf(row: Row): FoundAccount {
  return {
    id: integer(row, 'id'),
    available: integer(row, 'available'),
    line: maybe(row, 'line', texts) ?? [],
  };
}

export function foundKeyOf(row: Row): FoundKey {
  return {
    root: text(row, 'root'),
    left: maybe(row, 'left_of_cap', integer),
    rate: maybe(row, 'calls_per_minute', count),
    minute: { began: count(row, 'minute'), calls: count(row, 'calls') },
  };
}

function heldOf(row: Row): Held {
  return {
    call: text(row, 'call'),
    number: integer(row, 'number'),
    account: integer(row, 'account'),
    key: maybe(row, 'key', text),
    root: maybe(row, 'root', text),
    budgets: maybe(row, 'budgets', text),
  };
}

export function heldPendingOf(row: Row): Pending {
  return { ...heldOf(row), amount: integer(row, 'amount'), claim: maybe(row, 'claim', text) };
}

export function pastOf(row: Row): PastCall {
  return {
    held: heldOf(row),
    kind: text(row, 'kind'),
    flags: text(row, 'flags'),
    posted: integer(row, 'posted'),
    isAdjusted: flag(row, 'adjusted'),
  };
}
