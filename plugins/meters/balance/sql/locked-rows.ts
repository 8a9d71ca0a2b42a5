/**
 * Locks and reads everything that the calls of a batch need, in one round trip. Accounts are locked first,
 * in the order of their ids, so that two batches never wait for each other. All else belongs to an account
 * and is read after its lock, by further statements: a statement that itself waited for a lock would read
 * the rest as it was before the wait.
 */
import type { Sheet } from '../budgets/sheet.ts';
import {
  readFoundAccount,
  readFoundKey,
  readPending,
  readPast,
  type FoundAccount,
  type FoundKey,
  type PastCall,
  type Pending,
} from '../call-rows.ts';
import { readClaim, type ClaimRecord } from '../reservations.ts';
import { readInteger, readText, type Row } from '../rows.ts';
import { findAnyBudget, lockBudgets, readSheet } from './call-budgets.ts';
import { ask, askAll, nameStatements, type Steps } from './steps.ts';

/** What an account has, and what is left of a key's limits, before a call is decided. */
const payingAccounts = 'SELECT id, name, total - used - pending AS available, line FROM accounts';
const payingKeys = `
  SELECT keys.id, keys.root, keys.spend_cap - root.used - root.pending AS left_of_cap,
    keys.calls_per_minute, root.minute, root.calls
  FROM keys JOIN keys root ON root.id = keys.root`;

/** Reservations that have ended. Each entry is found by an index that has its condition. */
const pastCalls = `
  SELECT made.call, made.number, made.account, made.key, made.budgets, keys.root, ended.kind, ended.flags,
    ended.revenue + coalesce(overage.revenue, 0) AS posted, adjustment.number IS NOT NULL AS adjusted
  FROM entries made
    JOIN entries ended ON ended.reservation = made.number
      AND (ended.kind = 'post' OR ended.kind = 'void' OR ended.kind = 'expire')
    LEFT JOIN entries overage ON overage.reservation = made.number AND overage.kind = 'overage'
    LEFT JOIN entries adjustment ON adjustment.reservation = made.number AND adjustment.kind = 'adjustment'
    LEFT JOIN keys ON keys.id = made.key
  WHERE made.kind = 'reserve'`;

const sql = nameStatements('found', {
  lockAccounts: `
    SELECT id FROM accounts WHERE id IN (
      SELECT id FROM accounts WHERE name = ANY($1::text[])
      UNION ALL SELECT account FROM entries WHERE kind = 'reserve' AND call = ANY($2::text[]))
    ORDER BY id FOR NO KEY UPDATE`,
  accounts: `${payingAccounts} WHERE name = ANY($1::text[])`,
  keys: `${payingKeys} WHERE keys.id = ANY($1::text[])`,
  pending: `
    SELECT call, number, account, key, root, amount, claim, budgets FROM pending
    WHERE call = ANY($1::text[])`,
  claims: 'SELECT * FROM claims WHERE name = ANY($1::text[])',
  numbers: "SELECT nextval('entry_numbers') AS number FROM generate_series(1, $1::integer)",
  // Of an extended reservation, the last row has the call's end.
  past: `${pastCalls} AND made.call = ANY($1::text[]) ORDER BY made.number`,
});

/** What has to be read before anything can be decided. */
export interface Concerned {
  /** Of calls that want to reserve: accounts by name, keys by id, claims by name, and when they began. */
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly claims: readonly string[];
  readonly tags: readonly string[];
  readonly moments: readonly number[];
  /** Ids of calls that want to end, or to reserve more. */
  readonly calls: readonly string[];
}

function mapRows<Value>(
  column: string,
  rows: readonly Row[] = [],
  read: (row: Row) => Value,
): Map<string, Value> {
  return new Map(rows.map((row) => [readText(row, column), read(row)]));
}

/** SQLite returns only the first number, since the others follow it. */
function listNumbers(rows: readonly Row[] = [], count: number): bigint[] {
  const numbers = rows.map((row) => readInteger(row, 'number'));
  for (let last = numbers.at(-1) ?? 0n; numbers.length < count;) numbers.push((last += 1n));
  return numbers;
}

export interface Found {
  readonly accounts: ReadonlyMap<string, FoundAccount>;
  readonly keys: ReadonlyMap<string, FoundKey>;
  readonly pending: Map<string, Pending>;
  readonly past: Map<string, PastCall>;
  readonly sheet: Sheet;
  readonly claims: Map<string, ClaimRecord>;
  /** The numbers of new entries. */
  readonly numbers: readonly bigint[];
}

export function* lockRows({ accounts, keys, claims, tags, moments, calls }: Concerned): Steps<Found> {
  // Numbers for one entry for each reservation and at most two for each end, since an overage is an entry
  // too. An extension needs two.
  const entries = moments.length + 2 * calls.length;
  const [, accountRows, anyBudget, keyRows, pendingRows, claimRows, numberRows] = yield* askAll([
    { ...ask(sql.lockAccounts, accounts, calls), onlyLocks: true },
    ask(sql.accounts, accounts),
    findAnyBudget,
    ask(sql.keys, keys),
    ask(sql.pending, calls),
    ask(sql.claims, claims),
    ask(sql.numbers, entries),
  ]);
  const pending = mapRows('call', pendingRows, readPending);
  const gone = calls.filter((call) => !pending.has(call));
  const [pastRows, budgetRows = []] = yield* askAll([
    ask(sql.past, gone),
    ...(anyBudget?.length ? [lockBudgets({ accounts, keys, tags, calls })] : []),
  ]);
  const past = mapRows('call', pastRows, readPast);
  const shares = [...pending.values(), ...past.values()].map(({ budgets }) => budgets);
  return {
    accounts: mapRows('name', accountRows, readFoundAccount),
    keys: mapRows('id', keyRows, readFoundKey),
    pending,
    past,
    sheet: yield* readSheet(budgetRows, moments, shares),
    claims: mapRows('name', claimRows, readClaim),
    numbers: listNumbers(numberRows, entries),
  };
}
