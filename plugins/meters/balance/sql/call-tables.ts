/** The tables of stored calls and roll-ups. */
import { figures } from '../calls/figures.ts';
import type { Dialect } from './tables.ts';

/** One row for each ended call, written behind it and deleted after the retention. Nothing depends on it. */
export function buildCallTables({ identity, integer, sorted: text, table, keyed }: Dialect): string {
  const parties = ['account', 'key', 'model', 'provider', 'protocol'];
  return `
CREATE TABLE calls (
  number ${identity},
  call ${text} NOT NULL UNIQUE,
  started ${integer} NOT NULL,
  ended ${integer} NOT NULL,
  account ${text} NOT NULL,
  key ${text} NOT NULL,
  -- What the client wrote, and the model and provider of the last attempt.
  asked ${text},
  model ${text} NOT NULL,
  provider ${text} NOT NULL,
  protocol ${text} NOT NULL,
  operation ${text} NOT NULL,
  stream ${integer} NOT NULL,
  outcome ${text} NOT NULL,
  code ${text},
  status ${integer} NOT NULL,
  first_event ${integer},
  duration ${integer} NOT NULL,
  attempts ${integer} NOT NULL,
  input ${integer} NOT NULL,
  output ${integer} NOT NULL,
  cached ${integer} NOT NULL,
  reasoning ${integer} NOT NULL,
  cost ${integer} NOT NULL,
  margin ${integer} NOT NULL DEFAULT 0,
  basis ${text} NOT NULL,
  flags ${text} NOT NULL,
  tags ${text} NOT NULL,
  -- The record as JSON: attempts, losses, routing and timing.
  body ${text} NOT NULL
)${table};
CREATE INDEX calls_by_end ON calls (ended, number);
CREATE INDEX calls_with_errors ON calls (ended, number) WHERE outcome IN ('failed', 'cut', 'refused');
CREATE INDEX calls_by_outcome ON calls (outcome, ended, number);
CREATE INDEX calls_by_cost ON calls (cost, ended, number);
${parties.map((name) => `CREATE INDEX calls_of_${name} ON calls (${name}, ended, number);`).join('\n')}

-- Each tag of a call as name:value.
CREATE TABLE call_tags (
  tag ${text} NOT NULL,
  ended ${integer} NOT NULL,
  number ${integer} NOT NULL,
  PRIMARY KEY (tag, ended, number)
)${keyed};
CREATE INDEX tags_of_call ON call_tags (number);`;
}

/** Sums of calls and entries, up to the numbers that `folds` says. */
export function buildRollupTables({ integer, sorted: text, keyed }: Dialect): string {
  const sums = figures.map((figure) => `${figure} ${integer} NOT NULL DEFAULT 0`).join(',\n  ');
  return `
CREATE TABLE rollups (
  account ${text} NOT NULL,
  key ${text} NOT NULL,
  hour ${integer} NOT NULL,
  model ${text} NOT NULL,
  provider ${text} NOT NULL,
  ${sums},
  PRIMARY KEY (account, key, hour, model, provider)
)${keyed};

-- The same sums by one dimension, so that an overview reads few rows.
CREATE TABLE series (
  dimension ${text} NOT NULL,
  unit ${integer} NOT NULL,
  start ${integer} NOT NULL,
  name ${text} NOT NULL,
  ${sums},
  PRIMARY KEY (dimension, unit, start, name)
)${keyed};

-- How far each log is summed up. PostgreSQL takes numbers before it commits them: up to \`safe\` no number
-- can still appear; up to \`next\` none can once all transactions before \`horizon\` have ended.
CREATE TABLE folds (
  log ${text} PRIMARY KEY,
  last ${integer} NOT NULL DEFAULT 0,
  safe ${integer} NOT NULL DEFAULT 0,
  next ${integer} NOT NULL DEFAULT 0,
  horizon ${integer} NOT NULL DEFAULT 0
)${keyed};
INSERT INTO folds (log) VALUES ('entries'), ('calls');`;
}
