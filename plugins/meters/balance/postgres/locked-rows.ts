/**
 * Everything that the calls of a batch need, locked and read in one round trip. Accounts are locked first, in
 * the order of their ids, so that two batches never wait for each other. All else belongs to an account and
 * is read after its lock, by further statements: one that had itself waited for a lock would see the rest as
 * it was before.
 */
import { foundAccountOf, foundKeyOf, heldPendingOf, pastOf, type Pending } from '../call-rows.ts';
import { claimOf, progressOf, type Progress } from '../reservations.ts';
import { integer, text, type Row } from '../rows.ts';
import { pastCalls, payingAccounts, payingKeys } from '../sql/selects.ts';
import { statements } from '../sql/steps.ts';
import { Budgets, lockBudgets } from './budgets.ts';
import type { Query } from './connection.ts';

const sql = statements('found', {
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

function by<Value>(column: string, rows: readonly Row[], read: (row: Row) => Value): Map<string, Value> {
  return new Map(rows.map((row) => [text(row, column), read(row)]));
}

export type Found = Awaited<ReturnType<typeof find>>;

export async function find(query: Query, { accounts, keys, claims, tags, moments, calls }: Concerned) {
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
  const pending = by('call', pendingRows, (row): LockedPending => ({
    ...heldPendingOf(row),
    progress: progressOf(row),
  }));
  const gone = calls.filter((call) => !pending.has(call));
  const past = by('call', gone.length > 0 ? await query(sql.past, [gone]) : [], pastOf);
  const shares = [...pending.values(), ...past.values().map(({ held }) => held)].map(
    ({ budgets }) => budgets,
  );
  return {
    accounts: by('name', accountRows, foundAccountOf),
    keys: by('id', keyRows, foundKeyOf),
    pending,
    past,
    budgets: await Budgets.read(query, budgetRows, moments, shares),
    claims: by('name', claimRows, claimOf),
    numbers: numberRows.map((row) => integer(row, 'number')),
  };
}
