/**
 * The SQL that keeps and reads roll-ups, in words that both databases know. A fold adds a range of numbers of
 * one log to the sums; a query adds what is beyond that range, so both together always equal the log.
 */
import { booked, bucketBounds, buckets, counted, errorOutcomes, figures } from './figures.ts';

export const logs = ['entries', 'calls'] as const;
export type Log = (typeof logs)[number];

/** Numbers beyond the fold that a query reads. More are left out, and counted as `behind`. */
export const longestTail = 50_000;

const errors = errorOutcomes.map((outcome) => `'${outcome}'`).join(', ');

function buildFlagSql(condition: string): string {
  return `CASE WHEN ${condition} THEN 1 ELSE 0 END`;
}

/** Which bucket a call is in; none without a first event. */
const bucketFlags = buckets.map((name, index) => {
  const from = bucketBounds[index - 1];
  const to = bucketBounds[index];
  const conditions = [
    ...(from === undefined ? [] : [`first_event >= ${from}`]),
    ...(to === undefined ? [] : [`first_event < ${to}`]),
  ];
  return `${buildFlagSql(conditions.join(' AND '))} AS ${name}`;
});

const callFigures = `
  1 AS calls, ${buildFlagSql(`outcome IN (${errors})`)} AS errors, input, output, cached, reasoning,
  ${buildFlagSql('cached > 0')} AS cache_hits, ${bucketFlags.join(', ')}`;

/** One row for each entry that counts, before it is summed up. */
export function buildEntriesSql(range: string): string {
  return `SELECT accounts.name AS account, coalesce(entries.key, '') AS key,
      coalesce(entries.model, '') AS model, coalesce(entries.provider, '') AS provider,
      entries.at AS at, revenue AS cost, coalesce(revenue - vendor, 0) AS margin,
      ${buildFlagSql("entries.kind = 'post'")} AS posts
    FROM entries JOIN accounts ON accounts.id = entries.account
    WHERE ${range} AND (revenue <> 0 OR vendor <> 0 OR entries.kind = 'post')`;
}

function buildCallsSql(range: string): string {
  return `SELECT account, key, model, provider, calls.ended AS at, ${callFigures} FROM calls WHERE ${range}`;
}

/** One row for each tag of a call. Entries have no tags, so the money is that of the call. */
function buildTagsSql(range: string): string {
  return `SELECT tag, calls.ended AS at, cost, margin, ${callFigures}
    FROM calls JOIN call_tags ON call_tags.number = calls.number WHERE ${range}`;
}

const columnsOf: Readonly<Record<Log, readonly string[]>> = {
  entries: booked,
  calls: [...counted, ...buckets],
};

/** What is not folded yet, as far as a query reads it. */
function buildBeyondSql(log: Log): string {
  const last = `(SELECT last FROM folds WHERE log = '${log}')`;
  return `${log}.number > ${last} AND ${log}.number <= ${last} + ${longestTail}`;
}

/** All figures of a select that has only some of them. */
function padFigures(columns: readonly string[]): string {
  return figures.map((figure) => (columns.includes(figure) ? figure : `0 AS ${figure}`)).join(', ');
}

/** Names each row by a dimension, and cuts its time to a unit; `where` narrows the columns of both logs. */
export interface TailQuery {
  readonly name: string;
  readonly unit: string;
  readonly where: string;
}

function buildTailSql(log: Log, { name, unit, where }: TailQuery): string {
  const tail = (log === 'entries' ? buildEntriesSql : buildCallsSql)(buildBeyondSql(log));
  return `SELECT ${name} AS name, at / ${unit} * ${unit} AS start, ${padFigures(columnsOf[log])}
    FROM (${tail}) AS ${log}_tail WHERE ${where}`;
}

export function buildTailsSql(query: TailQuery): string {
  return logs.map((log) => buildTailSql(log, query)).join(' UNION ALL ');
}

export function buildTagTailSql({ unit, where }: Omit<TailQuery, 'name'>): string {
  return `SELECT tag AS name, at / ${unit} * ${unit} AS start,
    ${padFigures(['cost', 'margin', ...columnsOf.calls])}
    FROM (${buildTagsSql(buildBeyondSql('calls'))}) AS tag_tail WHERE ${where}`;
}

/** All entries with money that are summed up already. */
export const foldedEntries = buildEntriesSql(
  "entries.number <= (SELECT last FROM folds WHERE log = 'entries')",
);

/** All entries with money that are beyond the roll-ups, for the audit. */
export const entriesBeyond = buildEntriesSql(
  "entries.number > (SELECT last FROM folds WHERE log = 'entries')",
);
