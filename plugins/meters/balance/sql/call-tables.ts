/** The tables of stored calls and roll-ups. */
import { amountParts, booked, buckets, buildCounted, figures, formerKinds } from '../calls/figures.ts';
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

const formerFigures = [...booked, 'calls', 'errors', ...Object.keys(formerKinds), 'cache_hits', ...buckets];

/**
 * The sums of the version before, which it continues while both versions run. Nothing of this version reads
 * them after it has opened a ledger first; they go with the next release.
 */
export function buildRollupTables({ integer, sorted: text, keyed }: Dialect): string {
  const sums = formerFigures.map((figure) => `${figure} ${integer} NOT NULL DEFAULT 0`).join(',\n  ');
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

/** Columns of a primary key: their names, those in the version before, and whether they are numbers. */
type KeyColumns = readonly (readonly [name: string, former: string, isNumber?: true])[];

const hourlyKey: KeyColumns = [
  ['account', 'account'],
  ['key', 'key'],
  ['hour', 'hour', true],
  ['model', 'model'],
  ['provider', 'provider'],
];
const summedKey: KeyColumns = [
  ['dimension', 'dimension'],
  ['step', 'unit', true],
  ['start', 'start', true],
  ['name', 'name'],
];

/** A table of sums, one of uses beside it, and what the version before kept, each kind in its own column. */
function buildSumTables(
  table: string,
  former: string,
  key: KeyColumns,
  { integer, sorted, keyed }: Dialect,
): string {
  const columns = key
    .map(([name, , isNumber]) => `${name} ${isNumber ? integer : sorted} NOT NULL,`)
    .join('\n  ');
  const names = key.map(([name]) => name).join(', ');
  const formerNames = key.map(([, name]) => name).join(', ');
  const sums = figures.map((figure) => `${figure} ${integer} NOT NULL DEFAULT 0`).join(',\n  ');
  const uses = Object.entries(formerKinds).map(
    ([column, kind]) => `
INSERT INTO ${table}_uses (${names}, kind, amount)
  SELECT ${formerNames}, '${kind}', ${column} * ${amountParts} FROM ${former} WHERE ${column} <> 0;`,
  );
  return `
CREATE TABLE ${table} (
  ${columns}
  ${sums},
  PRIMARY KEY (${names})
)${keyed};
-- How much of each kind was used, in thousandths.
CREATE TABLE ${table}_uses (
  ${columns}
  kind ${sorted} NOT NULL,
  amount ${integer} NOT NULL,
  PRIMARY KEY (${names}, kind)
)${keyed};
INSERT INTO ${table} (${names}, ${figures.join(', ')})
  SELECT ${formerNames}, ${figures.join(', ')} FROM ${former};${uses.join('')}`;
}

/** Notes what the version before has not summed up. */
function buildNoteBeyond(log: string, condition = ''): string {
  return `
INSERT INTO unsummed (log, number)
  SELECT '${log}', number FROM ${log}
  WHERE number > (SELECT last FROM folds WHERE log = '${log}')${condition};`;
}

/**
 * The sums, made from those of the version before and from what it has not summed up. Triggers note entries
 * and calls in `unsummed`, also those that the version before writes.
 */
export function buildSums(dialect: Dialect): string {
  const { integer, sorted, keyed, buildNote } = dialect;
  return `
CREATE TABLE unsummed (
  log ${sorted} NOT NULL, number ${integer} NOT NULL, PRIMARY KEY (log, number))${keyed};
${buildSumTables('hourly', 'rollups', hourlyKey, dialect)}
${buildSumTables('summed', 'series', summedKey, dialect)}
${buildNoteBeyond('entries', ` AND (${buildCounted('entries')})`)}
${buildNoteBeyond('calls')}
${buildNote('entries', buildCounted)}
${buildNote('calls')}`;
}
