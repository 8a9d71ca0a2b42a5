/**
 * The terms of accounts, and the allowances that are credited by them. A credit, the note that its period was
 * credited and the time of the next one are written together, while the account is locked.
 */
import { isTooMuch } from '../accounts.ts';
import { formatDate } from '../budgets/periods.ts';
import * as rows from '../rows.ts';
import {
  changeTerms,
  computeRest,
  findDuePeriod,
  longestWait,
  readTerms,
  type Allowance,
  type LastAllowance,
} from '../terms.ts';
import { writeCredit } from './accounts.ts';
import type { FoundAccount } from './locked-rows.ts';
import { askRows, nameStatements, type Operations, type Steps } from './steps.ts';

const isDue = "(allowance_due <= $1 OR allowance_due > $2) AND state = 'open'";

const sql = nameStatements('terms', {
  lock: 'SELECT id FROM accounts WHERE name = $1 FOR NO KEY UPDATE',
  // Read after the lock: a statement that waits for it would read the terms as they were before.
  account: `
    SELECT accounts.id, name, line, state, total, used + pending AS spent, allowance_due, accounts.postpaid,
      amount, per, mode, zone
    FROM accounts LEFT JOIN account_terms terms ON terms.number = accounts.terms WHERE accounts.id = $1`,
  limits: `
    SELECT id FROM budgets WHERE deleted IS NULL AND hard
      AND (scope IN ('account', 'team') AND subject = $1 OR scope = 'team' AND subject = ANY($2::text[]))
    LIMIT 1`,
  numbers: "SELECT nextval('entry_numbers') AS number FROM generate_series(1, $1::integer)",
  addTerms: `
    INSERT INTO account_terms (account, since, at, postpaid, amount, per, mode, zone)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING number`,
  setTerms: 'UPDATE accounts SET terms = $2, postpaid = $3 WHERE id = $1',
  setDue: 'UPDATE accounts SET allowance_due = $2 WHERE id = $1',
  last: 'SELECT entry, amount, spent FROM allowances WHERE account = $1 ORDER BY entry DESC LIMIT 1',
  same: 'SELECT entry FROM allowances WHERE account = $1 AND period = $2',
  corrected: `
    SELECT CAST(coalesce(sum(credits), 0) AS bigint) AS amount FROM entries
    WHERE account = $1 AND credits <> 0 AND credits > 0 AND number > $2`,
  addAllowance: `
    INSERT INTO allowances (account, period, entry, amount, spent) VALUES ($1, $2, $3, $4, $5)`,
  isDue: `SELECT id FROM accounts WHERE ${isDue} LIMIT 1`,
  due: `SELECT id FROM accounts WHERE ${isDue} ORDER BY id LIMIT $3 FOR NO KEY UPDATE`,
});

const readLast = rows.createReader({
  entry: rows.readInteger,
  amount: rows.readInteger,
  spent: rows.readInteger,
}) satisfies (row: rows.Row) => LastAllowance;

const readHeld = rows.createReader({
  name: rows.readText,
  line: rows.readList,
  state: rows.readText,
  total: rows.readInteger,
  spent: rows.readInteger,
  due: rows.pickColumn('allowance_due', rows.allowNull(rows.readCount)),
});
type HeldAccount = ReturnType<typeof readHeld>;

/** Takes back what is left of the last allowance, and returns how much that is. */
function* takeBack(id: bigint, held: HeldAccount, period: number, at: number): Steps<bigint> {
  const [row] = yield* askRows(sql.last, id);
  if (!row) return 0n;
  const last = readLast(row);
  const [corrected] = yield* askRows(sql.corrected, id, last.entry);
  const rest = computeRest(last, held, corrected ? rows.readInteger(corrected, 'amount') : 0n);
  const reason = 'what was left of the last allowance';
  // The version before knows no other words for these kinds.
  const kind = { kind: 'adjustment', author: 'allowance', reason } as const;
  if (rest > 0n) yield* writeCredit(id, { ...kind, amount: -rest, period, at });
  return rest;
}

/** Credits an account, which is locked, unless the period of this moment was credited. */
function* creditAllowance(id: bigint, at: number): Steps<boolean> {
  const [row] = yield* askRows(sql.account, id);
  if (!row) return false;
  const [held, { allowance }] = [readHeld(row), readTerms(row)];
  const { due, total, spent } = held;
  if (due !== undefined && at < due && due - at <= longestWait) return false;
  if (!allowance) {
    yield* askRows(sql.setDue, id, undefined);
    return false;
  }
  const { start, ends, isTaken } = findDuePeriod(allowance, due, at);
  yield* askRows(sql.setDue, id, ends);
  const { amount, mode } = allowance;
  if (isTaken || (yield* askRows(sql.same, id, start)).length > 0) return false;
  const back = mode === 'reset' ? yield* takeBack(id, held, start, at) : 0n;
  // An account that can hold no more is credited again once it can.
  if (isTooMuch(total - back, amount)) return false;
  const reason = describePeriod(allowance, start);
  const entry = yield* writeCredit(id, { kind: 'bonus', amount, reason, period: start, at });
  yield* askRows(sql.addAllowance, id, start, entry, amount, spent);
  return true;
}

/** `for the month from 2026-12-01 (Europe/Berlin)` */
function describePeriod({ per, zone }: Allowance, start: number): string {
  return `for the ${per} from ${formatDate(zone, start)} (${zone})`;
}

/** Credits those of the locked accounts that are due. Returns whether their rows have to be read again. */
export function* creditDue(
  accounts: ReadonlyMap<string, FoundAccount>,
  at: number | undefined,
): Steps<boolean> {
  let isChanged = false;
  for (const { id, due } of accounts.values()) {
    if (at === undefined || due === undefined || at < due) continue;
    yield* creditAllowance(id, at);
    isChanged = true;
  }
  return isChanged;
}

export const terms = {
  *setTerms({ account, changes, at }) {
    const [locked] = yield* askRows(sql.lock, account);
    const id = locked && rows.readInteger(locked, 'id');
    const [row] = id === undefined ? [] : yield* askRows(sql.account, id);
    if (id === undefined || !row) return 'not_found';
    const [{ name, line, state }, before] = [readHeld(row), readTerms(row)];
    if (state === 'closed') return 'closed';
    const after = changeTerms(before, changes);
    if (!after) return 'no_amount';
    const { postpaid, allowance } = after;
    if (postpaid && !before.postpaid && (yield* askRows(sql.limits, name, line)).length === 0)
      return 'no_budget';
    const [since] = yield* askRows(sql.numbers, 1);
    const { amount, per, mode, zone } = allowance ?? {};
    const from = since && rows.readInteger(since, 'number');
    const [added] = yield* askRows(sql.addTerms, id, from, at, postpaid, amount, per, mode, zone);
    yield* askRows(sql.setTerms, id, added && rows.readInteger(added, 'number'), postpaid);
    if (allowance) yield* creditAllowance(id, at);
    return 'changed';
  },
  *creditAllowances({ at, limit }) {
    let credited = 0;
    for (const row of yield* askRows(sql.due, at, at + longestWait, limit))
      if (yield* creditAllowance(rows.readInteger(row, 'id'), at)) credited += 1;
    return credited;
  },
  *hasDueAllowances({ at }) {
    return (yield* askRows(sql.isDue, at, at + longestWait)).length > 0;
  },
} satisfies Partial<Operations>;
