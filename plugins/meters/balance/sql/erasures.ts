/**
 * Erasing: names go in one transaction, and what calls left behind in many small ones, which can be repeated
 * and continued by any process. Entries stay; they know an account by its number and a key by its hash.
 */
import { addNoted, renameSums } from '../calls/sums.ts';
import { readErasure, type NewErasure } from '../erasures/records.ts';
import { readInteger, readText, readTexts, type Row } from '../rows.ts';
import { askRows, nameStatements, type Operations, type Steps } from './steps.ts';

const erasureRows = `SELECT erasures.*, accounts.name AS account_name
  FROM erasures LEFT JOIN accounts ON accounts.id = erasures.account`;

/** Stored calls of accounts or keys that are summed up. */
const buildCallsSql = (column: string): string => `
  SELECT number FROM calls WHERE ${column} = ANY($1::text[])
    AND NOT EXISTS (SELECT 1 FROM unsummed WHERE log = 'calls' AND unsummed.number = calls.number)
  LIMIT $2`;

const sql = nameStatements('erasures', {
  // Only one account moves or is renamed at a time.
  lock: 'SELECT pg_advisory_xact_lock(7461188902)',
  dropInvitationsTo: 'DELETE FROM invitations WHERE account IN (SELECT id FROM accounts WHERE name = $1)',
  dropInvitationsOf: 'DELETE FROM invitations WHERE name = $1 RETURNING id',
  account: 'SELECT id, pending FROM accounts WHERE name = $1 FOR NO KEY UPDATE',
  rename: "UPDATE accounts SET name = $2, state = 'closed', member_keys = NULL WHERE id = $1",
  // Names of accounts have no characters that JSON escapes.
  renameAbove: "UPDATE accounts SET line = replace(line, $1, $2) WHERE replace(line, $1, '') <> line",
  renameBudgets: "UPDATE budgets SET subject = $2 WHERE subject = $1 AND scope IN ('account', 'team')",
  // The version before continues these sums, by the names of its accounts.
  renameRollups: 'UPDATE rollups SET account = $2 WHERE account = $1',
  renameSeries: "UPDATE series SET name = $2 WHERE dimension = 'account' AND name = $1",
  keysOf: 'SELECT id FROM keys WHERE account = $1 ORDER BY id FOR NO KEY UPDATE',
  keysHeld: 'SELECT id FROM keys WHERE holder = $1 ORDER BY id FOR NO KEY UPDATE',
  blankKeys: `UPDATE keys SET name = '', holder = NULL, tags = NULL, disabled = true,
      deleted = coalesce(deleted, $2) WHERE id = ANY($1::text[])`,
  add: 'INSERT INTO erasures (id, account, former, keys, created) VALUES ($1, $2, $3, $4, $5)',
  running: `${erasureRows} WHERE ended IS NULL AND former = $1 AND (erasures.account IS NULL) = $2`,
  find: `${erasureRows} WHERE erasures.id = $1 AND ended IS NULL`,
  listRunning: `${erasureRows} WHERE ended IS NULL ORDER BY erasures.created LIMIT $1`,
  list: `${erasureRows} ORDER BY erasures.created DESC LIMIT $1`,
  callsOfAccounts: buildCallsSql('account'),
  callsOfKeys: buildCallsSql('key'),
  dropTags: 'DELETE FROM call_tags WHERE number = ANY($1::bigint[])',
  dropCalls: 'DELETE FROM calls WHERE number = ANY($1::bigint[])',
  count: 'UPDATE erasures SET erased = erased + $2 WHERE id = $1',
  claims: `
    SELECT claims.name, entries.account, entries.key FROM (
      SELECT name, call FROM claims WHERE name > $1 ORDER BY name LIMIT $2) AS claims
    LEFT JOIN entries ON entries.call = claims.call AND kind = 'reserve' AND attempts = 0
    ORDER BY claims.name`,
  dropClaims: 'DELETE FROM claims WHERE name = ANY($1::text[])',
  end: "UPDATE erasures SET ended = $2, former = NULL, keys = '[]' WHERE id = $1",
});

function* eraseKeyNames(rows: readonly Row[], at: number): Steps<string[]> {
  const keys = rows.map((row) => readText(row, 'id'));
  if (keys.length > 0) yield* askRows(sql.blankKeys, keys, at);
  return keys;
}

function* eraseHolder(holder: string, { id, at }: NewErasure): Steps<boolean> {
  const invited = yield* askRows(sql.dropInvitationsOf, holder);
  const keys = yield* eraseKeyNames(yield* askRows(sql.keysHeld, holder), at);
  if (keys.length === 0 && invited.length === 0) return false;
  yield* askRows(sql.add, id, undefined, holder, JSON.stringify(keys), at);
  return true;
}

function* eraseAccount(account: string, { id, at }: NewErasure): Steps<'created' | 'not_found' | 'held'> {
  yield* askRows(sql.lock);
  const [row] = yield* askRows(sql.account, account);
  if (!row) return 'not_found';
  if (readInteger(row, 'pending') > 0n) return 'held';
  const number = readInteger(row, 'id');
  const neutral = `erased-${number}`;
  yield* askRows(sql.dropInvitationsTo, account);
  const keys = yield* eraseKeyNames(yield* askRows(sql.keysOf, number), at);
  yield* askRows(sql.rename, number, neutral);
  yield* askRows(sql.renameAbove, JSON.stringify(account), JSON.stringify(neutral));
  for (const rename of [sql.renameBudgets, sql.renameRollups, sql.renameSeries])
    yield* askRows(rename, account, neutral);
  yield* askRows(sql.add, id, number, account, JSON.stringify(keys), at);
  return 'created';
}

/** Deletes outcomes that are stored for idempotency keys, among the next claims. */
function* eraseClaims({
  account,
  keys,
  after,
  limit,
}: Readonly<{ account: unknown; keys: readonly string[]; after: string; limit: number }>): Steps<{
  isDone: boolean;
  after: string;
}> {
  const rows = yield* askRows(sql.claims, after, limit);
  const known = new Set<unknown>(keys);
  const wanted = rows.filter((row) => (account === null ? known.has(row.key) : row.account === account));
  const names = wanted.map((row) => readText(row, 'name'));
  if (names.length > 0) yield* askRows(sql.dropClaims, names);
  const last = rows.at(-1);
  return { isDone: rows.length < limit, after: last ? readText(last, 'name') : after };
}

export const erasures = {
  *beginErasure(erasure) {
    const { id, account, holder = '' } = erasure;
    const isAccount = account !== undefined;
    const status = isAccount ? yield* eraseAccount(account, erasure) : yield* eraseHolder(holder, erasure);
    if (status === 'held') return { status };
    if (status === 'created' || status === true) return { status: 'created', id };
    const [running] = yield* askRows(sql.running, account ?? holder, !isAccount);
    return running ? { status: 'running', id: readText(running, 'id') } : { status: 'not_found' };
  },
  *eraseSome({ id, after, limit, at }) {
    const [row] = yield* askRows(sql.find, id);
    if (!row) return { isDone: true, after };
    const { account, former = '', keys } = readErasure(row);
    // What is not summed up yet would be lost for the sums.
    if (!(yield* addNoted())) return { isDone: false, after };
    const found =
      account === undefined
        ? yield* askRows(sql.callsOfKeys, keys, limit)
        : yield* askRows(sql.callsOfAccounts, [account, former], limit);
    const numbers = found.map((call) => String(readInteger(call, 'number')));
    if (numbers.length > 0) {
      yield* askRows(sql.dropTags, numbers);
      yield* askRows(sql.dropCalls, numbers);
      yield* askRows(sql.count, id, numbers.length);
    }
    const isRenamed = account === undefined || (yield* renameSums(former, { name: account, limit, at }));
    const claims = yield* eraseClaims({ account: row.account, keys: readTexts(row, 'keys'), after, limit });
    return { isDone: isRenamed && found.length < limit && claims.isDone, after: claims.after };
  },
  *endErasure({ id, at }) {
    yield* askRows(sql.end, id, at);
  },
  *listErasures({ running, limit }) {
    return (yield* askRows(running ? sql.listRunning : sql.list, limit)).map(readErasure);
  },
} satisfies Partial<Operations>;
