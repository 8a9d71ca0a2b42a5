/** The rows that both operations and audits read. */

export const accountRows = 'SELECT name, created, total, used, pending, line, state FROM accounts';

export const keyRows = `
  SELECT keys.*, root.used AS root_used, root.pending AS root_pending, accounts.name AS account_name,
    coalesce(accounts.state, 'open') AS account_state
  FROM keys JOIN keys root ON root.id = keys.root LEFT JOIN accounts ON accounts.id = keys.account`;

/** SQLite stores a call's id with its reservation only. */
export const entryRows = `
  SELECT entries.*, accounts.name AS account_name, coalesce(entries.call, made.call) AS call_id
  FROM entries JOIN accounts ON accounts.id = entries.account
    LEFT JOIN entries made ON made.number = entries.reservation`;

export const pendingRows = `
  SELECT call, number, amount, accounts.name AS account_name
  FROM pending LEFT JOIN accounts ON accounts.id = pending.account`;
