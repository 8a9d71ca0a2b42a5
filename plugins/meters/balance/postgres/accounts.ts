/** Accounts and keys, with what they have and what they may do. */
import { accountStates, isFitting, isTooMuch, type StateChanged } from '../accounts.ts';
import { refuseState, type KeyDeletion, type StateChange } from '../corrections.ts';
import { accountOf, balanceOf, keyOf } from '../records.ts';
import { integer, text, word } from '../rows.ts';
import type {
  AccountRecord,
  Balance,
  Credit,
  Credited,
  KeyChanges,
  KeyRecord,
  NewKey,
  Page,
  Rotation,
  Store,
} from '../store.ts';
import { statements, type Query } from './connection.ts';

const keyRows = `
  SELECT keys.*, root.used AS root_used, root.pending AS root_pending, accounts.name AS account_name,
    accounts.state AS account_state
  FROM keys JOIN keys root ON root.id = keys.root LEFT JOIN accounts ON accounts.id = keys.account`;

const sql = statements('accounts', {
  balance: 'SELECT total, used, pending FROM accounts WHERE name = $1',
  addAccount: 'INSERT INTO accounts (name, created) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id',
  accounts: `
    SELECT name, created, total, used, pending, line, state FROM accounts WHERE name > $1
    ORDER BY name LIMIT $2`,
  lockAccount: 'SELECT id, total, pending, state FROM accounts WHERE name = $1 FOR NO KEY UPDATE',
  setState: 'UPDATE accounts SET state = $2 WHERE name = $1',
  deleteKey: 'UPDATE keys SET deleted = $2, disabled = true WHERE id = $1 AND deleted IS NULL RETURNING id',
  creditByReference: 'SELECT account, available FROM entries WHERE reference = $1',
  addCredit: `
    WITH credited AS (UPDATE accounts SET total = total + $2 WHERE id = $1)
    INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, source, reference,
      reason, author, input, output, attempts, flags)
    VALUES (nextval('entry_numbers'), 'credit', $1, $5, -$2::bigint, $2, 0, 0, $3, $4, $6, $7, 0, 0, 0, '')`,
  addKey: `
    INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute,
      created, tags, read_only, root)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $1)`,
  // The id is the start of the hash, so one index finds both.
  key: `${keyRows} WHERE keys.id = left($1, 16) AND keys.hash = $1 AND keys.deleted IS NULL`,
  anyKey: 'SELECT id FROM keys LIMIT 1',
  keys: `${keyRows} WHERE keys.id > $1 AND keys.deleted IS NULL ORDER BY keys.id LIMIT $2`,
  keysOfAccount: `${keyRows}
    WHERE accounts.name = $3 AND keys.id > $1 AND keys.deleted IS NULL
    ORDER BY keys.id LIMIT $2`,
  keysWanted: `${keyRows}
    WHERE (keys.id = $4 OR keys.last_four = $4) AND ($3::text IS NULL OR accounts.name = $3) AND keys.id > $1
      AND keys.deleted IS NULL
    ORDER BY keys.id LIMIT $2`,
  changeKey: `
    UPDATE keys SET
      name = coalesce(change.name, keys.name),
      disabled = coalesce(change.disabled, keys.disabled),
      tags = coalesce(change.tags, keys.tags),
      spend_cap = CASE WHEN 'spend_cap' = ANY($3::text[]) THEN change.spend_cap ELSE keys.spend_cap END,
      models = CASE WHEN 'models' = ANY($3::text[]) THEN change.models ELSE keys.models END,
      expires = CASE WHEN 'expires' = ANY($3::text[]) THEN change.expires ELSE keys.expires END,
      calls_per_minute = CASE WHEN 'calls_per_minute' = ANY($3::text[])
        THEN change.calls_per_minute ELSE keys.calls_per_minute END
    FROM json_populate_record(NULL::keys, $2) change WHERE keys.id = $1 AND keys.deleted IS NULL
    RETURNING keys.id`,
  rotate: `
    INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute,
      created, tags, read_only, root)
    SELECT $2, $3, $4, name, kind, account, spend_cap, models, expires, calls_per_minute, $5, tags,
      read_only, root FROM keys
    WHERE id = $1 AND rotated_to IS NULL AND deleted IS NULL FOR NO KEY UPDATE RETURNING id`,
  rotated: 'UPDATE keys SET rotated_to = $2, expires = least(expires, $3) WHERE id = $1',
});

export async function balance(query: Query, name: string): Promise<Balance | undefined> {
  const [row] = await query(sql.balance, [name]);
  return row && balanceOf(row);
}

export async function createAccount(
  query: Query,
  { name, at }: { readonly name: string; readonly at: number },
): Promise<boolean> {
  const rows = await query(sql.addAccount, [name, at]);
  return rows.length > 0;
}

export async function listAccounts(
  query: Query,
  { after = '', limit }: Page,
): Promise<readonly AccountRecord[]> {
  const rows = await query(sql.accounts, [after, limit]);
  return rows.map(accountOf);
}

export async function setAccountState(
  query: Query,
  { account: name, state }: StateChange,
): Promise<StateChanged> {
  const [account] = await query(sql.lockAccount, [name]);
  if (!account) return 'not_found';
  const refusal = refuseState(word(accountStates)(account, 'state'), integer(account, 'pending'), state);
  if (refusal) return refusal;
  await query(sql.setState, [name, state]);
  return 'changed';
}

export async function deleteKey(query: Query, { id, at }: KeyDeletion): Promise<boolean> {
  return (await query(sql.deleteKey, [id, at])).length === 1;
}

export async function credit(query: Query, order: Credit): Promise<Credited> {
  const { account: name, amount, kind, reference, reason, author, at } = order;
  const [account] = await query(sql.lockAccount, [name]);
  if (!account) return 'not_found';
  if (!isFitting(order)) throw new RangeError(`a ${kind} cannot be ${amount}`);
  const [before] = reference === undefined ? [] : await query(sql.creditByReference, [reference]);
  if (before) {
    const isSame =
      integer(before, 'account') === integer(account, 'id') && integer(before, 'available') === amount;
    return isSame ? 'already_credited' : 'reference_taken';
  }
  if (isTooMuch(integer(account, 'total'), amount)) return 'too_much';
  await query(sql.addCredit, [
    integer(account, 'id'),
    amount,
    kind,
    reference ?? null,
    at,
    reason ?? null,
    author ?? null,
  ]);
  return 'credited';
}

export async function createKey(query: Query, key: NewKey): Promise<boolean> {
  const {
    id,
    hash,
    lastFour,
    name,
    kind,
    account,
    spendCap = null,
    models,
    expires = null,
    callsPerMinute = null,
    tags,
    readOnly,
    at,
  } = key;
  if ((account === undefined) !== (kind === 'operator'))
    throw new RangeError('user keys have an account, and operator keys have none');
  const [row] = account === undefined ? [] : await query(sql.lockAccount, [account]);
  if (account !== undefined && (!row || text(row, 'state') === 'closed')) return false;
  const owner = row ? integer(row, 'id') : null;
  await query(sql.addKey, [
    id,
    hash,
    lastFour,
    name,
    kind,
    owner,
    spendCap,
    models ? JSON.stringify(models) : null,
    expires,
    callsPerMinute,
    at,
    tags.length > 0 ? JSON.stringify(tags) : null,
    readOnly,
  ]);
  return true;
}

export async function findKey(query: Query, hash: string): Promise<KeyRecord | undefined> {
  const [row] = await query(sql.key, [hash]);
  return row && keyOf(row);
}

export async function hasKeys(query: Query): Promise<boolean> {
  return (await query(sql.anyKey, [])).length > 0;
}

type KeyList = Parameters<Store['listKeys']>[0];

export async function listKeys(
  query: Query,
  { after = '', limit, account, wanted }: KeyList,
): Promise<readonly KeyRecord[]> {
  if (wanted !== undefined)
    return (await query(sql.keysWanted, [after, limit, account ?? null, wanted])).map(keyOf);
  if (account !== undefined) return (await query(sql.keysOfAccount, [after, limit, account])).map(keyOf);
  return (await query(sql.keys, [after, limit])).map(keyOf);
}

export async function changeKey(
  query: Query,
  { id, changes }: { readonly id: string; readonly changes: KeyChanges },
): Promise<boolean> {
  const { name, disabled, spendCap, models, expires, callsPerMinute, tags } = changes;
  const columns = {
    name,
    disabled,
    spend_cap: spendCap?.toString(),
    models: models && JSON.stringify(models),
    expires,
    calls_per_minute: callsPerMinute,
    tags: tags && JSON.stringify(tags),
  };
  const limits = { spend_cap: spendCap, models, expires, calls_per_minute: callsPerMinute };
  const stated = Object.entries(limits).flatMap(([column, value]) => (value === undefined ? [] : [column]));
  const rows = await query(sql.changeKey, [id, JSON.stringify(columns), stated]);
  return rows.length > 0;
}

export async function rotateKey(query: Query, { id, until, key }: Rotation): Promise<boolean> {
  const rows = await query(sql.rotate, [id, key.id, key.hash, key.lastFour, key.at]);
  if (rows.length === 0) return false;
  await query(sql.rotated, [id, key.id, until]);
  return true;
}
