/** What both stores read of a call before it is decided. */
import type { Nano } from '../../../core/index.ts';
import type { Minute, Past } from './decisions.ts';
import { readCount, readFlag, readInteger, readOptional, readText, readTexts, type Row } from './rows.ts';

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
  /** What is left of its cap; undefined if it has none. */
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

export function readFoundAccount(row: Row): FoundAccount {
  return {
    id: readInteger(row, 'id'),
    available: readInteger(row, 'available'),
    line: readOptional(row, 'line', readTexts) ?? [],
  };
}

export function readFoundKey(row: Row): FoundKey {
  return {
    root: readText(row, 'root'),
    left: readOptional(row, 'left_of_cap', readInteger),
    rate: readOptional(row, 'calls_per_minute', readCount),
    minute: { began: readCount(row, 'minute'), calls: readCount(row, 'calls') },
  };
}

function readHeld(row: Row): Held {
  return {
    call: readText(row, 'call'),
    number: readInteger(row, 'number'),
    account: readInteger(row, 'account'),
    key: readOptional(row, 'key', readText),
    root: readOptional(row, 'root', readText),
    budgets: readOptional(row, 'budgets', readText),
  };
}

export function readPending(row: Row): Pending {
  return {
    ...readHeld(row),
    amount: readInteger(row, 'amount'),
    claim: readOptional(row, 'claim', readText),
  };
}

export function readPast(row: Row): PastCall {
  return {
    held: readHeld(row),
    kind: readText(row, 'kind'),
    flags: readText(row, 'flags'),
    posted: readInteger(row, 'posted'),
    isAdjusted: readFlag(row, 'adjusted'),
  };
}
