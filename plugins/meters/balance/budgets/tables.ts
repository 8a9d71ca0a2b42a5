/** The step of both databases that adds budgets, teams and the tags of keys. */
import type { Dialect } from '../later-tables.ts';
import { scopes } from './budget.ts';
import { periodNames } from './periods.ts';

export function budgetTables(dialect: Dialect): string {
  const { identity, integer, small, flag, text, sorted, table, busy, oneOf } = dialect;
  return `
-- The names of the accounts above it, nearest first, as a JSON list.
ALTER TABLE accounts ADD COLUMN line ${text};
ALTER TABLE keys ADD COLUMN tags ${text};
-- The periods of budgets that a call counts in, as a JSON list: so their sums can be computed from the
-- entries.
ALTER TABLE entries ADD COLUMN budgets ${text};
ALTER TABLE pending ADD COLUMN budgets ${text};

CREATE TABLE budgets (
  id ${identity},
  scope ${text} NOT NULL${oneOf('scope', scopes)},
  subject ${sorted} NOT NULL,
  per ${text} NOT NULL${oneOf('per', periodNames)},
  zone ${text} NOT NULL,
  allowed ${integer} NOT NULL,
  hard ${flag} NOT NULL,
  thresholds ${text} NOT NULL,
  raises ${text} NOT NULL DEFAULT '[]',
  created ${integer} NOT NULL,
  -- A deleted budget stays: calls that it counted may still end, and the audit needs it.
  deleted ${integer}
)${table};
CREATE UNIQUE INDEX one_budget ON budgets (scope, subject, per) WHERE deleted IS NULL;

-- Kept beside the entries, since each reservation reads the current one; always recomputable from the
-- entries. Written with the lock of its budget.
CREATE TABLE budget_periods (
  budget ${integer} NOT NULL,
  start ${integer} NOT NULL,
  ends ${integer} NOT NULL,
  used ${integer} NOT NULL,
  pending ${integer} NOT NULL,
  warned ${small} NOT NULL,
  exhausted ${flag} NOT NULL,
  PRIMARY KEY (budget, start)
)${busy};

CREATE TABLE budget_warnings (
  id ${identity},
  budget ${integer} NOT NULL,
  event ${text} NOT NULL${oneOf('event', ['threshold', 'exhausted'])},
  threshold ${small} NOT NULL,
  used ${integer} NOT NULL,
  allowed ${integer} NOT NULL,
  start ${integer} NOT NULL,
  at ${integer} NOT NULL,
  attempts ${small} NOT NULL DEFAULT 0,
  -- When it is delivered or tried again; null once that is done.
  due ${integer}
)${table};
CREATE INDEX due_warnings ON budget_warnings (due) WHERE due IS NOT NULL;
`;
}
