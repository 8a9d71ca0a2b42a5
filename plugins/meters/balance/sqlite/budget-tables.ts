/** The step that adds budgets, teams and the tags of keys. */
export const budgetTables = `
-- The names of the accounts above it, nearest first, as a JSON list.
ALTER TABLE accounts ADD COLUMN line TEXT;
ALTER TABLE keys ADD COLUMN tags TEXT;
-- The periods of budgets that a call counts in, as a JSON list: so their sums can be computed from the
-- entries.
ALTER TABLE entries ADD COLUMN budgets TEXT;
ALTER TABLE pending ADD COLUMN budgets TEXT;

CREATE TABLE budgets (
  id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,
  subject TEXT NOT NULL,
  per TEXT NOT NULL,
  zone TEXT NOT NULL,
  allowed INTEGER NOT NULL,
  hard INTEGER NOT NULL,
  thresholds TEXT NOT NULL,
  raises TEXT NOT NULL DEFAULT '[]',
  created INTEGER NOT NULL,
  -- A deleted budget stays: calls that it counted may still end, and the audit needs it.
  deleted INTEGER
) STRICT;
CREATE UNIQUE INDEX one_budget ON budgets (scope, subject, per) WHERE deleted IS NULL;

-- Kept beside the entries, since each reservation reads the current one; always recomputable from the
-- entries.
CREATE TABLE budget_periods (
  budget INTEGER NOT NULL,
  start INTEGER NOT NULL,
  ends INTEGER NOT NULL,
  used INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  warned INTEGER NOT NULL,
  exhausted INTEGER NOT NULL,
  PRIMARY KEY (budget, start)
) STRICT, WITHOUT ROWID;

CREATE TABLE budget_warnings (
  id INTEGER PRIMARY KEY,
  budget INTEGER NOT NULL,
  event TEXT NOT NULL,
  threshold INTEGER NOT NULL,
  used INTEGER NOT NULL,
  allowed INTEGER NOT NULL,
  start INTEGER NOT NULL,
  at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  -- When it is delivered or tried again; null once that is done.
  due INTEGER
) STRICT;
CREATE INDEX due_warnings ON budget_warnings (due) WHERE due IS NOT NULL;
`;
