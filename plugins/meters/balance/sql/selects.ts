/** Rows that both databases read, for operations and audits. */

export const accountColumns = `name, accounts.id, created, total, used, pending, line, state, member_keys,
  accounts.postpaid, allowance_due, amount, per, mode, zone`;

export const accountTables = 'accounts LEFT JOIN account_terms terms ON terms.number = accounts.terms';

export const accountRows = `SELECT ${accountColumns} FROM ${accountTables}`;

export const termRows = 'SELECT * FROM account_terms ORDER BY number';

export const keyRows = `
  SELECT keys.*, root.used AS root_used, root.pending AS root_pending, accounts.name AS account_name,
    accounts.line AS account_line,
    coalesce(accounts.state, 'open') AS account_state
  FROM keys JOIN keys root ON root.id = keys.root LEFT JOIN accounts ON accounts.id = keys.account`;

export const entryRows = `
  SELECT entries.*, accounts.name AS account_name
  FROM entries JOIN accounts ON accounts.id = entries.account`;

export const pendingRows = `
  SELECT call, number, amount, pending.account AS owner, accounts.name AS account_name
  FROM pending LEFT JOIN accounts ON accounts.id = pending.account`;
