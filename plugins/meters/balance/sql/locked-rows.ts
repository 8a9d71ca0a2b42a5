/**
 * Locks and reads everything that the calls of a batch need, in one round trip. Accounts are locked first,
 * in the order of their ids, so that two batches never wait for each other. All else belongs to an account
 * and is read after its lock, by further statements: a statement that itself waited for a lock would read
 * the rest as it was before the wait.
 */
import type { Sheet } from '../budgets/sheet.ts';
import type { Minute } from '../decisions.ts';
import { readClaim, type ClaimRecord } from '../reservations.ts';
import * as rows from '../rows.ts';
import { findAnyBudget, lockBudgets, readSheet } from './budgets.ts';
import { ask, askAll, nameStatements, type Steps } from './steps.ts';

const readFoundAccount = rows.createReader({
  id: rows.readInteger,
  available: rows.readInteger,
  /** The accounts above it. */
  line: rows.readList,
  postpaid: rows.readFlag,
  /** When its allowance is credited next. */
  due: rows.pickColumn('allowance_due', rows.allowNull(rows.readCount)),
});
/** An account before this transaction changes anything. */
export type FoundAccount = ReturnType<typeof readFoundAccount>;

const readFoundKey = rows.createReader({
  root: rows.readText,
  /** What is left of its cap; undefined if it has none. */
  left: rows.pickColumn('left_of_cap', rows.allowNull(rows.readInteger)),
  /** How many calls it may make in a minute, if that is limited, and how many it has made. */
  rate: rows.pickColumn('calls_per_minute', rows.allowNull(rows.readCount)),
  minute: (row: rows.Row): Minute => ({
    began: rows.readCount(row, 'minute'),
    calls: rows.readCount(row, 'calls'),
  }),
});
/** A key before this transaction changes anything. */
export type FoundKey = ReturnType<typeof readFoundKey>;

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

const readPending = rows.createReader({
  ...heldFields,
  amount: rows.readInteger,
  claim: rows.allowNull(rows.readText),
});
/** A reservation that is pending. */
export type Pending = ReturnType<typeof readPending>;

const readPast = rows.createReader({
  ...heldFields,
  kind: rows.readText,
  flags: rows.readText,
  /** What has been posted for it so far. */
  posted: rows.readInteger,
  isAdjusted: rows.pickColumn('adjusted', rows.readFlag),
});
/** A reservation that has ended. */
export type PastCall = ReturnType<typeof readPast>;

/** What an account has, and what is left of a key's limits, before a call is decided. */
const payingAccounts = `
  SELECT id, name, total - used - pending AS available, line, postpaid, allowance_due FROM accounts`;
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
  found: readonly rows.Row[] = [],
  read: (row: rows.Row) => Value,
): Map<string, Value> {
  return new Map(found.map((row) => [rows.readText(row, column), read(row)]));
}

/** SQLite returns only the first number, since the others follow it. */
function listNumbers(found: readonly rows.Row[] = [], count: number): bigint[] {
  const numbers = found.map((row) => rows.readInteger(row, 'number'));
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
