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

const callParties = ['account', 'key', 'model', 'provider', 'protocol'];

/** One row for each ended call, written behind it and deleted after the retention. Nothing depends on it. */
export const callTables = `
CREATE TABLE calls (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  call text COLLATE "C" NOT NULL UNIQUE,
  started bigint NOT NULL,
  ended bigint NOT NULL,
  account text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  -- What the client wrote, and the model and provider of the last attempt.
  asked text COLLATE "C",
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  protocol text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  stream bigint NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  code text COLLATE "C",
  status bigint NOT NULL,
  first_event bigint,
  duration bigint NOT NULL,
  attempts bigint NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  cached bigint NOT NULL,
  reasoning bigint NOT NULL,
  cost bigint NOT NULL,
  margin bigint NOT NULL DEFAULT 0,
  basis text COLLATE "C" NOT NULL,
  flags text COLLATE "C" NOT NULL,
  tags text COLLATE "C" NOT NULL,
  -- The record as JSON: attempts, losses, routing and timing.
  body text COLLATE "C" NOT NULL
) /* STRICT */;
CREATE INDEX calls_by_end ON calls (ended, number);
CREATE INDEX calls_with_errors ON calls (ended, number) WHERE outcome IN ('failed', 'cut', 'refused');
CREATE INDEX calls_by_outcome ON calls (outcome, ended, number);
CREATE INDEX calls_by_cost ON calls (cost, ended, number);
${callParties.map((name) => `CREATE INDEX calls_of_${name} ON calls (${name}, ended, number);`).join('\n')}

-- Each tag of a call as name:value.
CREATE TABLE call_tags (
  tag text COLLATE "C" NOT NULL,
  ended bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (tag, ended, number)
) /* STRICT, WITHOUT ROWID */;
CREATE INDEX tags_of_call ON call_tags (number);`;

const formerFigures = [...booked, 'calls', 'errors', ...Object.keys(formerKinds), 'cache_hits', ...buckets];

const formerSums = formerFigures.map((figure) => `${figure} bigint NOT NULL DEFAULT 0`).join(',\n  ');

/**
 * The sums of the version before, which it continues while both versions run. Nothing of this version reads
 * them after it has opened a ledger first; they go with the next release.
 */
export const formerTables = `
CREATE TABLE rollups (
  account text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  hour bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  ${formerSums},
  PRIMARY KEY (account, key, hour, model, provider)
) /* STRICT, WITHOUT ROWID */;

-- The same sums by one dimension, so that an overview reads few rows.
CREATE TABLE series (
  dimension text COLLATE "C" NOT NULL,
  unit bigint NOT NULL,
  start bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  ${formerSums},
  PRIMARY KEY (dimension, unit, start, name)
) /* STRICT, WITHOUT ROWID */;

-- How far each log is summed up. PostgreSQL takes numbers before it commits them: up to \`safe\` no number
-- can still appear; up to \`next\` none can once all transactions before \`horizon\` have ended.
CREATE TABLE folds (
  log text COLLATE "C" PRIMARY KEY,
  last bigint NOT NULL DEFAULT 0,
  safe bigint NOT NULL DEFAULT 0,
  next bigint NOT NULL DEFAULT 0,
  horizon bigint NOT NULL DEFAULT 0
) /* STRICT, WITHOUT ROWID */;
INSERT INTO folds (log) VALUES ('entries'), ('calls');`;

/** A table of sums. `counts` is a JSON object of the counts that are not 0. */
function buildSumTable(name: string, key: Readonly<Record<string, string>>): string {
  return `
CREATE TABLE ${name} (
  ${Object.entries(key)
    .map(([column, type]) => `${column} ${type} NOT NULL,`)
    .join('\n  ')}
  ${[...booked, 'calls'].map((figure) => `${figure} bigint NOT NULL DEFAULT 0,`).join('\n  ')}
  counts text NOT NULL DEFAULT '{}',
  PRIMARY KEY (${Object.keys(key).join(', ')})
) /* STRICT, WITHOUT ROWID */;`;
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

/** Makes a trigger that notes what is inserted into a log, if the condition on its row holds. */
export type BuildNote = (log: string, buildCondition?: (row: string) => string) => string;

/**
 * The sums, made from those of the version before and from what it has not summed up. Triggers note entries
 * and calls in `unsummed`, also those that the version before writes. Sums of parties are found by time,
 * provider and model, or by account or key: those indexes only change when a row is added.
 */
export function buildSums(buildNote: BuildNote): string {
  const [integer, sorted] = ['bigint', 'text COLLATE "C"'];
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
  log text COLLATE "C" NOT NULL, number bigint NOT NULL, PRIMARY KEY (log, number)
) /* STRICT, WITHOUT ROWID */;
${buildSumTable('party_sums', { step: integer, start: integer, ...parties })}
CREATE INDEX party_sums_of_account ON party_sums (account, start);
CREATE INDEX party_sums_of_key ON party_sums (key, start);
${buildSumTable('series_sums', { dimension: sorted, step: integer, start: integer, name: sorted })}
${copies.join('')}
${buildNoteBeyond('entries', ` AND (${buildCounted('entries')})`)}
${buildNoteBeyond('calls')}
${buildNote('entries', buildCounted)}
${buildNote('calls')}`;
}
