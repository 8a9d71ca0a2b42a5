/**
 * Locks and reads everything that the calls of a batch need, in one round trip. Accounts are locked first,
 * in the order of their ids, so that two batches never wait for each other. All else belongs to an account
 * and is read after its lock, by further statements: a statement that itself waited for a lock would read
 * the rest as it was before the wait.
 */
import { readFoundAccount, readFoundKey, readPending, readPast, type Pending } from '../call-rows.ts';
import { readClaim, readProgress, type Progress } from '../reservations.ts';
import { readInteger, readText, type Row } from '../rows.ts';
import { pastCalls, payingAccounts, payingKeys } from '../sql/selects.ts';
import { nameStatements } from '../sql/steps.ts';
import { Budgets, lockBudgets } from './budgets.ts';
import type { Query } from './connection.ts';

const sql = nameStatements('found', {
  lockAccounts: `
    ${payingAccounts} WHERE id IN (
      SELECT id FROM accounts WHERE name = ANY($1::text[])
      UNION SELECT account FROM entries WHERE kind = 'reserve' AND call = ANY($2::text[]))
    ORDER BY id FOR NO KEY UPDATE`,
  keys: `${payingKeys} WHERE keys.id = ANY($1::text[])`,
  pending: 'SELECT * FROM pending WHERE call = ANY($1::text[])',
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

/** A reservation that is pending, and how far its call has come. */
export type LockedPending = Pending & { readonly progress: Progress };

function mapRows<Value>(column: string, rows: readonly Row[], read: (row: Row) => Value): Map<string, Value> {
  return new Map(rows.map((row) => [readText(row, column), read(row)]));
}

export type Found = Awaited<ReturnType<typeof lockRows>>;

export async function lockRows(query: Query, { accounts, keys, claims, tags, moments, calls }: Concerned) {
  // Numbers for one entry for each reservation and at most two for each end, since an overage is an entry
  // too.
  const entries = accounts.length + 2 * calls.length;
  const [accountRows, budgetRows, keyRows, pendingRows, claimRows, numberRows] = await Promise.all([
    query(sql.lockAccounts, [accounts, calls]),
    lockBudgets(query, { accounts, keys, tags, calls }),
    keys.length > 0 ? query(sql.keys, [keys]) : [],
    calls.length > 0 ? query(sql.pending, [calls]) : [],
    claims.length > 0 ? query(sql.claims, [claims]) : [],
    query(sql.numbers, [entries]),
  ]);
  const pending = mapRows('call', pendingRows, (row): LockedPending => ({
    ...readPending(row),
    progress: readProgress(row),
  }));
  const gone = calls.filter((call) => !pending.has(call));
  const past = mapRows('call', gone.length > 0 ? await query(sql.past, [gone]) : [], readPast);
  const shares = [...pending.values(), ...past.values().map(({ held }) => held)].map(
    ({ budgets }) => budgets,
  );
  return {
    accounts: mapRows('name', accountRows, readFoundAccount),
    keys: mapRows('id', keyRows, readFoundKey),
    pending,
    past,
    budgets: await Budgets.readBudgets(query, budgetRows, moments, shares),
    claims: mapRows('name', claimRows, readClaim),
    numbers: numberRows.map((row) => readInteger(row, 'number')),
  };
}
