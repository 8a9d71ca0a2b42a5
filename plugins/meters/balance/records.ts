/** Turns rows of the tables into what the store returns, whatever database they come from. */
import type { PendingRow } from './audit-report.ts';
import { count, flag, integer, maybe, namedTexts, text, texts, word, type Row } from './rows.ts';
import {
  accountStates,
  creditSources,
  entryKinds,
  type AccountRecord,
  type Balance,
  type ClaimRecord,
  type Consumption,
  type Entry,
  type KeyRecord,
  type OwnerRecord,
  type PendingRecord,
  type Progress,
  type StoredOutcome,
  type Totals,
  type UsageGroup,
  type UsageRow,
} from './store.ts';

/** Milliseconds. */
export const dayLength = 24 * 60 * 60 * 1000;

export function balanceOf(row: Row): Balance {
  return { total: integer(row, 'total'), used: integer(row, 'used'), pending: integer(row, 'pending') };
}

export function accountOf(row: Row): AccountRecord {
  return {
    ...balanceOf(row),
    name: text(row, 'name'),
    line: maybe(row, 'line', texts) ?? [],
    state: word(accountStates)(row, 'state'),
    created: count(row, 'created'),
  };
}

/** Reads a row of a key, joined with its root and its account. */
export function keyOf(row: Row): KeyRecord {
  return {
    id: text(row, 'id'),
    hash: text(row, 'hash'),
    lastFour: text(row, 'last_four'),
    name: text(row, 'name'),
    kind: word(['user', 'operator'])(row, 'kind'),
    account: maybe(row, 'account_name', text),
    spendCap: maybe(row, 'spend_cap', integer),
    models: maybe(row, 'models', texts),
    expires: maybe(row, 'expires', count),
    callsPerMinute: maybe(row, 'calls_per_minute', count),
    tags: maybe(row, 'tags', texts) ?? [],
    readOnly: flag(row, 'read_only'),
    disabled: flag(row, 'disabled'),
    accountState: maybe(row, 'account_state', word(accountStates)) ?? 'open',
    created: count(row, 'created'),
    used: integer(row, 'root_used'),
    pending: integer(row, 'root_pending'),
    rotatedTo: maybe(row, 'rotated_to', text),
  };
}

const flags = ['recovered', 'late', 'suspect'] as const;

/** Reads a row of an entry, joined with its account and the entry that reserved. */
export function entryOf(row: Row): Entry {
  const noted = text(row, 'flags').split(' ');
  return {
    number: count(row, 'number'),
    kind: word(entryKinds)(row, 'kind'),
    account: text(row, 'account_name'),
    at: count(row, 'at'),
    credits: integer(row, 'credits'),
    available: integer(row, 'available'),
    reserved: integer(row, 'reserved'),
    revenue: integer(row, 'revenue'),
    call: maybe(row, 'call_id', text),
    key: maybe(row, 'key', text),
    reservation: maybe(row, 'reservation', count),
    source: maybe(row, 'source', word(creditSources)),
    author: maybe(row, 'author', text),
    reference: maybe(row, 'reference', text),
    reason: maybe(row, 'reason', text),
    basis: maybe(row, 'basis', word(['usage', 'estimate', 'none'])),
    ...consumedOf(row),
    usage: maybe(row, 'usage', text),
    costs: maybe(row, 'costs', text),
    vendor: maybe(row, 'vendor', integer),
    budgets: maybe(row, 'budgets', text),
    flags: flags.filter((each) => noted.includes(each)),
  };
}

export function progressOf(row: Row): Progress {
  return {
    id: text(row, 'call'),
    sent: flag(row, 'sent'),
    delivered: count(row, 'delivered'),
    owed: integer(row, 'owed'),
    ...consumedOf(row),
    usage: text(row, 'usage'),
    costs: text(row, 'costs'),
  };
}

function consumedOf(row: Row): Omit<Consumption, 'usage' | 'costs'> {
  return {
    model: maybe(row, 'model', text),
    provider: maybe(row, 'provider', text),
    price: maybe(row, 'price', text),
    input: count(row, 'input'),
    output: count(row, 'output'),
    attempts: count(row, 'attempts'),
  };
}

/** Reads a row of a pending reservation, joined with its account. */
export function pendingOf(row: Row): PendingRecord {
  return {
    call: text(row, 'call'),
    account: text(row, 'account_name'),
    key: text(row, 'key'),
    amount: integer(row, 'amount'),
    owner: text(row, 'owner'),
    created: count(row, 'created'),
    sent: flag(row, 'sent'),
    delivered: count(row, 'delivered'),
  };
}

export function pendingRowOf(row: Row): PendingRow {
  return {
    call: text(row, 'call'),
    number: count(row, 'number'),
    account: text(row, 'account_name'),
    amount: integer(row, 'amount'),
  };
}

export function ownerOf(row: Row): OwnerRecord {
  return {
    owner: text(row, 'owner'),
    beat: count(row, 'beat'),
    lease: count(row, 'lease'),
    pending: count(row, 'pending'),
  };
}

function outcomeOf(row: Row): StoredOutcome | undefined {
  const { body } = row;
  if (!(body instanceof Uint8Array)) return undefined;
  return {
    status: count(row, 'status'),
    headers: namedTexts(row, 'headers'),
    body: new Uint8Array(body),
    whole: flag(row, 'whole'),
  };
}

export function claimOf(row: Row): ClaimRecord {
  return {
    name: text(row, 'name'),
    fingerprint: text(row, 'fingerprint'),
    expires: count(row, 'expires'),
    call: text(row, 'call'),
    state: word(['running', 'done'])(row, 'state'),
    outcome: outcomeOf(row),
  };
}

/** The value of a column that a report is grouped by. A day is selected as its number since 1970. */
function groupOf(row: Row, group: UsageGroup): string {
  const column = `group_${group}`;
  if (group !== 'day') return text(row, column);
  return new Date(count(row, column) * dayLength).toISOString().slice(0, 'YYYY-MM-DD'.length);
}

/** Reads a row of a usage report; `by` names the columns it was grouped by. */
export function usageOf(row: Row, by: readonly UsageGroup[]): UsageRow {
  return {
    ...Object.fromEntries(by.map((group) => [group, groupOf(row, group)])),
    calls: count(row, 'calls'),
    input: count(row, 'input'),
    output: count(row, 'output'),
    cost: integer(row, 'cost'),
    vendor: integer(row, 'vendor'),
  };
}

export function totalsOf(row: Row): Totals {
  return {
    accounts: count(row, 'accounts'),
    keys: count(row, 'keys'),
    pendingCalls: count(row, 'calls'),
    pendingAmount: integer(row, 'amount'),
    oldestPending: maybe(row, 'oldest', count),
  };
}
