/** The tables of stored calls and roll-ups. */
import {
  amountParts,
  booked,
  buckets,
  buildCounted,
  formerKinds,
  joinNames,
  longSteps,
  namePair,
  pairs,
} from '../calls/figures.ts';
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

/** A table of sums. `counts` is a JSON object of the counts that are not 0. */
function buildSumTable(name: string, key: Readonly<Record<string, string>>, dialect: Dialect): string {
  const { integer, text, keyed } = dialect;
  return `
CREATE TABLE ${name} (
  ${Object.entries(key)
    .map(([column, type]) => `${column} ${type} NOT NULL,`)
    .join('\n  ')}
  ${[...booked, 'calls'].map((figure) => `${figure} ${integer} NOT NULL DEFAULT 0,`).join('\n  ')}
  counts ${text} NOT NULL DEFAULT '{}',
  PRIMARY KEY (${Object.keys(key).join(', ')})
)${keyed};`;
}

/** What the columns of the version before say, as `counts`. */
function buildCountsSql(): string {
  const uses = Object.entries(formerKinds).map(([column, kind]) => [`${column} * ${amountParts}`, kind]);
  const counts = [...uses, ...['errors', 'cache_hits', ...buckets].map((name) => [name, name])];
  const members = counts.map(
    ([sum, name]) => `CASE WHEN ${sum} <> 0 THEN ',"${name}":' || (${sum}) ELSE '' END`,
  );
  return `'{' || substr(${members.join(' || ')}, 2) || '}'`;
}

/** Copies what the version before has summed up, in steps of a length. */
function buildCopySql(table: string, columns: Readonly<Record<string, string>>, former = 'rollups'): string {
  const key = Object.entries(columns).map(([column, value]) => `${value} AS ${column}`);
  const sums = formerFigures.map((figure) => `CAST(sum(${figure}) AS bigint) AS ${figure}`);
  const names = [...Object.keys(columns), ...booked, 'calls'].join(', ');
  return `
INSERT INTO ${table} (${names}, counts) SELECT ${names}, ${buildCountsSql()}
  FROM (SELECT ${[...key, ...sums].join(', ')} FROM ${former}
    GROUP BY ${key.map((_, index) => index + 1).join(', ')}) AS sums;`;
}

/** Notes what the version before has not summed up. */
function buildNoteBeyond(log: string, condition = ''): string {
  return `
INSERT INTO unsummed (log, number)
  SELECT '${log}', number FROM ${log}
  WHERE number > (SELECT last FROM folds WHERE log = '${log}')${condition} ON CONFLICT DO NOTHING;`;
}

/**
 * The sums, made from those of the version before and from what it has not summed up. Triggers note entries
 * and calls in `unsummed`, also those that the version before writes. Sums of parties are found by time,
 * provider and model, or by account or key: those indexes only change when a row is added.
 */
export function buildSums(dialect: Dialect): string {
  const { integer, sorted, keyed, buildNote } = dialect;
  const parties = { provider: sorted, model: sorted, account: sorted, key: sorted };
  const names = Object.fromEntries(Object.keys(parties).map((name) => [name, name]));
  const ofSeries = { dimension: 'dimension', step: 'unit', start: 'start', name: 'name' };
  const copies = [
    buildCopySql('series_sums', ofSeries, 'series'),
    ...longSteps.flatMap((step) => {
      const times = { step: `${step}`, start: `hour / ${step} * ${step}` };
      return [
        buildCopySql('party_sums', { ...times, ...names }),
        ...pairs.map(([of, by]) => {
          const [dimension, name] = [`'${namePair(of, by)}'`, joinNames(`${of} || '`, `' || ${by}`)];
          return buildCopySql('series_sums', { dimension, ...times, name });
        }),
      ];
    }),
  ];
  return `
CREATE TABLE IF NOT EXISTS unsummed (
  log ${sorted} NOT NULL, number ${integer} NOT NULL, PRIMARY KEY (log, number))${keyed};
${buildSumTable('party_sums', { step: integer, start: integer, ...parties }, dialect)}
CREATE INDEX party_sums_of_account ON party_sums (account, start);
CREATE INDEX party_sums_of_key ON party_sums (key, start);
${buildSumTable('series_sums', { dimension: sorted, step: integer, start: integer, name: sorted }, dialect)}
${copies.join('')}
${buildNoteBeyond('entries', ` AND (${buildCounted('entries')})`)}
${buildNoteBeyond('calls')}
${buildNote('entries', buildCounted)}
${buildNote('calls')}`;
}
