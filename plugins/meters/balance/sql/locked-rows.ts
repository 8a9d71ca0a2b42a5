/**
 * Locks and reads everything that the calls of a batch need, in one round trip. Accounts are locked first,
 * in the order of their ids, so that two batches never wait for each other. All else belongs to an account
 * and is read after its lock, by further statements: a statement that itself waited for a lock would read
 * the rest as it was before the wait.
 */
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
import { findAnyBudget, lockBudgets, readBudgets, type Budgets } from './call-budgets.ts';
import { pastCalls, payingAccounts, payingKeys } from './selects.ts';
import { ask, askAll, nameStatements, type Steps } from './steps.ts';

const sql = nameStatements('found', {
  lockAccounts: `
    ${payingAccounts} WHERE id IN (
      SELECT id FROM accounts WHERE name = ANY($1::text[])
      UNION SELECT account FROM entries WHERE kind = 'reserve' AND call = ANY($2::text[]))
    ORDER BY id FOR NO KEY UPDATE`,
  keys: `${payingKeys} WHERE keys.id = ANY($1::text[])`,
  pending: `
    SELECT call, number, account, key, root, amount, claim, budgets FROM pending
    WHERE call = ANY($1::text[])`,
  claims: 'SELECT * FROM claims WHERE name = ANY($1::text[])',
  numbers: "SELECT nextval('entry_numbers') AS number FROM generate_series(1, $1::integer)",
  past: `${pastCalls} AND made.call = ANY($1::text[])`,
});

/** What has to be read before anything can be decided. */
export interface Concerned {
  /** Of calls that want to reserve: accounts by name, keys by id, claims by name. */
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly claims: readonly string[];
  readonly tags: readonly string[];
  readonly moments: readonly number[];
  /** Ids of calls that want to end. */
  readonly calls: readonly string[];
}

function mapRows<Value>(
  column: string,
  rows: readonly Row[] = [],
  read: (row: Row) => Value,
): Map<string, Value> {
  return new Map(rows.map((row) => [readText(row, column), read(row)]));
}

/** SQLite tells only the first number, since the others follow it. */
function listNumbers(rows: readonly Row[] = [], count: number): bigint[] {
  const numbers = rows.map((row) => readInteger(row, 'number'));
  const [first = 1n] = numbers;
  return Array.from({ length: count }, (_, place) => numbers[place] ?? first + BigInt(place));
}

export interface Found {
  readonly accounts: ReadonlyMap<string, FoundAccount>;
  readonly keys: ReadonlyMap<string, FoundKey>;
  readonly pending: Map<string, Pending>;
  readonly past: Map<string, PastCall>;
  readonly budgets: Budgets;
  readonly claims: Map<string, ClaimRecord>;
  /** The numbers of new entries. */
  readonly numbers: readonly bigint[];
}

export function* lockRows({ accounts, keys, claims, tags, moments, calls }: Concerned): Steps<Found> {
  // Numbers for one entry for each reservation and at most two for each end, since an overage is an entry
  // too.
  const entries = accounts.length + 2 * calls.length;
  const [accountRows, anyBudget, keyRows, pendingRows, claimRows, numberRows] = yield* askAll([
    ask(sql.lockAccounts, accounts, calls),
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
    budgets: yield* readBudgets(budgetRows, moments, shares),
    claims: mapRows('name', claimRows, readClaim),
    numbers: listNumbers(numberRows, entries),
  };
}
