/** Rows that both databases read, for operations and audits. */

export const accountRows = 'SELECT name, created, total, used, pending, line, state FROM accounts';

export const keyRows = `
  SELECT keys.*, root.used AS root_used, root.pending AS root_pending, accounts.name AS account_name,
    coalesce(accounts.state, 'open') AS account_state
  FROM keys JOIN keys root ON root.id = keys.root LEFT JOIN accounts ON accounts.id = keys.account`;

export const entryRows = `
  SELECT entries.*, accounts.name AS account_name
  FROM entries JOIN accounts ON accounts.id = entries.account`;

export const pendingRows = `
  SELECT call, number, amount, accounts.name AS account_name
  FROM pending LEFT JOIN accounts ON accounts.id = pending.account`;

/** What an account has, and what is left of a key's limits, before a call is decided. */
export const payingAccounts = 'SELECT id, name, total - used - pending AS available, line FROM accounts';
export const payingKeys = `
  SELECT keys.id, keys.root, keys.spend_cap - root.used - root.pending AS left_of_cap,
    keys.calls_per_minute, root.minute, root.calls
  FROM keys JOIN keys root ON root.id = keys.root`;

/** Reservations that have ended. Each entry is found by an index that has its condition. */
export const pastCalls = `
  SELECT made.call, made.number, made.account, made.key, made.budgets, keys.root, ended.kind, ended.flags,
    ended.revenue + coalesce(overage.revenue, 0) AS posted, adjustment.number IS NOT NULL AS adjusted
  FROM entries made
    JOIN entries ended ON ended.reservation = made.number
      AND (ended.kind = 'post' OR ended.kind = 'void' OR ended.kind = 'expire')
    LEFT JOIN entries overage ON overage.reservation = made.number AND overage.kind = 'overage'
    LEFT JOIN entries adjustment ON adjustment.reservation = made.number AND adjustment.kind = 'adjustment'
    LEFT JOIN keys ON keys.id = made.key
  WHERE made.kind = 'reserve'`;
