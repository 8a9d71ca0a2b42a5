/**
 * Finds accounts, keys, calls and tags by what people type of their names, and reads when and how the calls
 * of a tag ran. Indexes find the rows, and each query reads a bounded number of them.
 */
import { readCount, readOptional, readText, type Row } from '../rows.ts';
import { askRows, nameStatements, type Operations, type Steps } from './steps.ts';

/** Rows that are read for names that contain a text: no index finds these. */
const mostLooked = 10_000;
/** Characters of a call's id from which on it is searched for. */
const shortestCall = 4;
/** The tag of agents' sessions, which people name without it. */
const sessionTag = 'session:';
/** Follows all texts that begin with another one. */
const last = '\u{10ffff}';

/** Statements for names that begin with a text, in their order, and for names that contain it. */
function buildNameSql(table: 'accounts' | 'keys', column: string, condition: string) {
  const word = 'lower(name COLLATE "C")';
  return nameStatements(`names of ${table}`, {
    starts: `SELECT ${column} AS found FROM ${table}
      WHERE ${condition} AND ${word} >= $1 AND ${word} < $2 ORDER BY ${word} LIMIT $3`,
    contains: `SELECT ${column} AS found
      FROM (SELECT * FROM ${table} WHERE ${condition} LIMIT ${mostLooked}) AS looked
      WHERE ${word} LIKE $1 ESCAPE '!' LIMIT $2`,
  });
}

const named = {
  accounts: buildNameSql('accounts', 'name', '0 = 0'),
  keys: buildNameSql('keys', 'id', 'deleted IS NULL'),
};

const sql = nameStatements('names', {
  keysById: `SELECT id AS found FROM keys
    WHERE deleted IS NULL AND (last_four = $1 OR (id >= $1 AND id < $2)) LIMIT $3`,
  calls: 'SELECT call AS found FROM calls WHERE call >= $1 AND call < $2 ORDER BY call LIMIT $3',
  // From one tag to the next, since a tag may have a million calls.
  tags: `
    WITH RECURSIVE known (tag) AS (
      SELECT min(tag) FROM call_tags WHERE tag >= $1 AND tag < $2
      UNION ALL
      SELECT (SELECT min(tag) FROM call_tags WHERE tag > known.tag AND tag < $2)
      FROM known WHERE known.tag IS NOT NULL)
    SELECT tag AS found FROM known WHERE tag IS NOT NULL LIMIT $3`,
  uses: `
    SELECT id AS key, coalesce(
      (SELECT max(ended) FROM calls WHERE calls.key = keys.id),
      (SELECT max(start) FROM party_sums WHERE party_sums.key = keys.id)) AS at
    FROM keys WHERE id = ANY($1::text[])`,
  tagged: `
    SELECT wanted.value AS tag,
      (SELECT calls.started FROM call_tags JOIN calls ON calls.number = call_tags.number
        WHERE call_tags.tag = wanted.value ORDER BY call_tags.ended, call_tags.number LIMIT 1) AS first,
      CAST((SELECT json_agg(json_build_object('ended', ended, 'call', call, 'account', account, 'key', key,
          'model', model, 'provider', provider, 'client', body::json -> 'client',
          'losses', body::json -> 'losses', 'tries', body::json -> 'tries'))
        FROM (
          SELECT calls.* FROM call_tags JOIN calls ON calls.number = call_tags.number
          WHERE call_tags.tag = wanted.value
          ORDER BY call_tags.ended DESC, call_tags.number DESC LIMIT $2) AS newest) AS text) AS calls
    FROM json_array_elements_text($1::json) AS wanted`,
});

function toFound(rows: readonly Row[]): string[] {
  return rows.map((row) => readText(row, 'found'));
}

function* findWords(table: keyof typeof named, text: string, limit: number): Steps<string[]> {
  const word = text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const found = toFound(yield* askRows(named[table].starts, word, word + last, limit));
  if (found.length === limit || word === '') return found;
  const within = `%${word.replaceAll(/[!%_]/g, '!$&')}%`;
  const others = toFound(yield* askRows(named[table].contains, within, limit));
  return [...new Set([...found, ...others])].slice(0, limit);
}

function* findTags(text: string, limit: number): Steps<string[]> {
  return toFound(yield* askRows(sql.tags, text, text + last, limit));
}

/** What is found by a text, of each kind: accounts, calls and tags by their names, and keys by their ids. */
export interface FoundNames {
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly calls: readonly string[];
  readonly tags: readonly string[];
}

/** The newest calls of a tag as JSON, the newest first, and when its first one started. */
export interface TaggedCalls {
  readonly tag: string;
  readonly first: number | undefined;
  readonly calls: string;
}

export const names = {
  *findNames({ text, limit }) {
    const byId = text === '' ? [] : yield* askRows(sql.keysById, text, text + last, limit);
    const keys = [...toFound(byId), ...(yield* findWords('keys', text, limit))];
    const calls = text.length < shortestCall ? [] : yield* askRows(sql.calls, text, text + last, limit);
    const tags = [...(yield* findTags(text, limit)), ...(yield* findTags(sessionTag + text, limit))];
    return {
      accounts: yield* findWords('accounts', text, limit),
      keys: [...new Set(keys)].slice(0, limit),
      calls: toFound(calls),
      tags: [...new Set(tags)].slice(0, limit),
    };
  },
  *findLastUses(ids) {
    return (yield* askRows(sql.uses, ids)).map((row) => ({
      key: readText(row, 'key'),
      at: readOptional(row, 'at', readCount),
    }));
  },
  *listTagged({ tags, limit }) {
    return (yield* askRows(sql.tagged, JSON.stringify(tags), limit)).map((row) => ({
      tag: readText(row, 'tag'),
      first: readOptional(row, 'first', readCount),
      calls: readOptional(row, 'calls', readText) ?? '[]',
    }));
  },
} satisfies Partial<Operations>;
