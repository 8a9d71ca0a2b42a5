/** The step that adds budgets, teams and the tags of keys. */
import { scopes } from '../budgets/budget.ts';
import { periodNames } from '../budgets/periods.ts';

export function budgetTables(oneOf: (column: string, values: readonly string[]) => string): string {
  return `
-- The names of the accounts above it, nearest first, as a JSON list.
ALTER TABLE accounts ADD COLUMN line text;
ALTER TABLE keys ADD COLUMN tags text;
-- The periods of budgets that a call counts in, as a JSON list: so their sums can be computed from the
-- entries.
ALTER TABLE entries ADD COLUMN budgets text;
ALTER TABLE pending ADD COLUMN budgets text;

CREATE TABLE budgets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope text NOT NULL CHECK (${oneOf('scope', scopes)}),
  subject text COLLATE "C" NOT NULL,
  per text NOT NULL CHECK (${oneOf('per', periodNames)}),
  zone text NOT NULL,
  allowed bigint NOT NULL,
  hard boolean NOT NULL,
  thresholds text NOT NULL,
  raises text NOT NULL DEFAULT '[]',
  created bigint NOT NULL,
  -- A deleted budget stays: calls that it counted may still end, and the audit needs it.
  deleted bigint
);
CREATE UNIQUE INDEX one_budget ON budgets (scope, subject, per) WHERE deleted IS NULL;

-- Kept beside the entries, since each reservation reads the current one; always recomputable from the
-- entries. Written with the lock of its budget.
CREATE TABLE budget_periods (
  budget bigint NOT NULL,
  start bigint NOT NULL,
  ends bigint NOT NULL,
  used bigint NOT NULL,
  pending bigint NOT NULL,
  warned integer NOT NULL,
  exhausted boolean NOT NULL,
  PRIMARY KEY (budget, start)
) WITH (fillfactor = 50);

CREATE TABLE budget_warnings (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  budget bigint NOT NULL,
  event text NOT NULL CHECK (${oneOf('event', ['threshold', 'exhausted'])}),
  threshold integer NOT NULL,
  used bigint NOT NULL,
  allowed bigint NOT NULL,
  start bigint NOT NULL,
  at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  -- When it is delivered or tried again; null once that is done.
  due bigint
);
CREATE INDEX due_warnings ON budget_warnings (due) WHERE due IS NOT NULL;
`;
}
