/** Accounts and keys: what they are, what they have and what they may do. */
import {
  fitsKind,
  isTooMuch,
  limitNames,
  readAccount,
  readBalance,
  readKey,
  type Credit,
  type LimitOrder,
} from '../accounts.ts';
import { units } from '../calls/figures.ts';
import { readCount, readInteger, readText, toColumn } from '../rows.ts';
import { accountColumns, accountRows, accountTables, keyRows } from './selects.ts';
import { askRows, Conditions, nameStatements, type Operations, type Steps, type Value } from './steps.ts';

const limitColumns = limitNames.map(toColumn);
/** What a key keeps when it gets a new secret. */
const keptColumns = ['root', 'name', 'kind', 'account', 'holder', 'tags', 'read_only', ...limitColumns];
const keyColumns = ['id', 'hash', 'last_four', 'created', ...keptColumns];

const sql = nameStatements('accounts', {
  balance: 'SELECT total, used, pending FROM accounts WHERE name = $1',
  addAccount: `
    INSERT INTO accounts (name, created) SELECT $1, $2
    WHERE $1 NOT LIKE 'erased-%'
      AND NOT EXISTS (SELECT 1 FROM erasures WHERE former = $1 AND account IS NOT NULL)
    ON CONFLICT DO NOTHING RETURNING id`,
  account: `${accountRows} WHERE name = $1`,
  accounts: `${accountRows} WHERE name > $1 ORDER BY name LIMIT $2`,
  lockAccount: 'SELECT id, total, pending, state FROM accounts WHERE name = $1 FOR NO KEY UPDATE',
  team: `
    SELECT ${accountColumns}, (
      SELECT CAST(coalesce(sum(posts), 0) AS bigint) FROM party_sums
      WHERE party_sums.account = accounts.name AND step = ${units['1d']}) AS calls
    FROM ${accountTables} WHERE name = $1 OR replace(line, $2, '') <> line ORDER BY name`,
  setMemberKeys: 'UPDATE accounts SET member_keys = $2 WHERE name = $1 RETURNING id',
  held: `SELECT count(*) AS number FROM keys
    WHERE account = $1 AND holder = $2 AND deleted IS NULL AND rotated_to IS NULL`,
  named: `SELECT id FROM keys
    WHERE account = $1 AND name = $2 AND deleted IS NULL AND rotated_to IS NULL LIMIT 1`,
  setState: `
    UPDATE accounts SET state = $2,
      allowance_due = CASE WHEN $2 = 'closed' THEN NULL ELSE allowance_due END
    WHERE name = $1`,
  deleteKey: 'UPDATE keys SET deleted = $2, disabled = true WHERE id = $1 AND deleted IS NULL RETURNING id',
  creditByReference: 'SELECT account, available FROM entries WHERE reference = $1',
  addCredit: `
    INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, source,
      reference, reason, author, period, input, output, attempts, flags)
    VALUES (nextval('entry_numbers'), 'credit', $1, $2, $3, $4, 0, 0, $5, $6, $7, $8, $9, 0, 0, 0, '')
    RETURNING number`,
  addTotal: 'UPDATE accounts SET total = total + $2 WHERE id = $1',
  addKey: `INSERT INTO keys (${keyColumns.join(', ')})
    VALUES (${keyColumns.map((_, index) => `$${index + 1}`).join(', ')})`,
  // The id is the start of the hash, so one index finds both.
  key: `${keyRows} WHERE keys.id = substr($1, 1, 16) AND keys.hash = $1 AND keys.deleted IS NULL`,
  anyKey: 'SELECT id FROM keys LIMIT 1',
  rotate: `
    INSERT INTO keys (${keyColumns.join(', ')})
    SELECT $2, $3, $4, $5, ${keptColumns.join(', ')} FROM keys
    WHERE id = $1 AND rotated_to IS NULL AND deleted IS NULL FOR NO KEY UPDATE RETURNING id`,
  rotated: `UPDATE keys SET rotated_to = $2, expires = CASE WHEN expires < $3 THEN expires ELSE $3 END
    WHERE id = $1`,
});

/** Writes a credit of an account, which is locked, and returns the number of its entry. */
export function* writeCredit(
  id: bigint,
  credit: Omit<Credit, 'account'> & { readonly period?: number },
): Steps<bigint> {
  const { at, amount, kind, reference, reason, author, period } = credit;
  const values = [id, at, -amount, amount, kind, reference, reason, author, period];
  const [row] = yield* askRows(sql.addCredit, ...values);
  if (!row) throw new Error('an entry has a number');
  yield* askRows(sql.addTotal, id, amount);
  return readInteger(row, 'number');
}

/** Limits by their columns; those that are not stated are undefined. */
function encodeLimits(limits: LimitOrder): [column: string, value: Value | undefined][] {
  return limitNames.map((name) => {
    const limit = limits[name];
    return [toColumn(name), typeof limit === 'object' && limit !== null ? JSON.stringify(limit) : limit];
  });
}

export const accounts = {
  *readBalance(name) {
    const [row] = yield* askRows(sql.balance, name);
    return row && readBalance(row);
  },
  *createAccount({ name, at }) {
    return (yield* askRows(sql.addAccount, name, at)).length > 0;
  },
  *listAccounts({ wanted, after = '', limit }) {
    const rows = wanted === undefined ? askRows(sql.accounts, after, limit) : askRows(sql.account, wanted);
    return (yield* rows).map(readAccount);
  },
  *listTeam(name) {
    const rows = yield* askRows(sql.team, name, JSON.stringify(name));
    return rows.map((row) => ({ ...readAccount(row), calls: readCount(row, 'calls') }));
  },
  *setMemberKeys({ account, rule }) {
    return (yield* askRows(sql.setMemberKeys, account, rule)).length > 0;
  },
  *setAccountState({ account: name, state }) {
    const [account] = yield* askRows(sql.lockAccount, name);
    if (!account) return 'not_found';
    if (readText(account, 'state') === 'closed' && state !== 'closed') return 'closed';
    if (state === 'closed' && readInteger(account, 'pending') > 0n) return 'held';
    yield* askRows(sql.setState, name, state);
    return 'changed';
  },
  *addCredit(order) {
    const { account: name, amount, kind, reference } = order;
    const [account] = yield* askRows(sql.lockAccount, name);
    if (!account) return 'not_found';
    if (!fitsKind(order)) throw new RangeError(`a ${kind} cannot be ${amount}`);
    const id = readInteger(account, 'id');
    const [before] = reference === undefined ? [] : yield* askRows(sql.creditByReference, reference);
    if (before) {
      const isSame = readInteger(before, 'account') === id && readInteger(before, 'available') === amount;
      return isSame ? 'already_credited' : 'reference_taken';
    }
    if (isTooMuch(readInteger(account, 'total'), amount)) return 'too_much';
    yield* writeCredit(id, order);
    return 'credited';
  },
  *createKey(key) {
    const { id, hash, lastFour, name, kind, account } = key;
    if ((account === undefined) !== (kind === 'operator'))
      throw new RangeError('user keys have an account, and operator keys have none');
    const [row] = account === undefined ? [] : yield* askRows(sql.lockAccount, account);
    if (account !== undefined && (!row || readText(row, 'state') === 'closed')) return false;
    // Two gateways that start at once wait for each other at the lock of the account.
    if (key.onlyFirst && (yield* askRows(sql.anyKey)).length > 0) return false;
    const owner = row && readInteger(row, 'id');
    if (key.mostHeld !== undefined) {
      const [held] = yield* askRows(sql.held, owner, key.holder);
      if (!held || readCount(held, 'number') >= key.mostHeld) return false;
    }
    if (key.onlyNamed && (yield* askRows(sql.named, owner, name)).length > 0) return false;
    const tags = key.tags?.length ? JSON.stringify(key.tags) : null;
    const kept = [id, name, kind, owner, key.holder, tags, key.readOnly ?? false];
    const limits = encodeLimits(key).map(([, value]) => value);
    yield* askRows(sql.addKey, id, hash, lastFour, key.at, ...kept, ...limits);
    return true;
  },
  *findKey(hash) {
    const [row] = yield* askRows(sql.key, hash);
    return row && readKey(row);
  },
  *hasKeys() {
    return (yield* askRows(sql.anyKey)).length > 0;
  },
  *listKeys({ after = '', limit, account, kind, holder, name, wanted, ids }) {
    const conditions = new Conditions({
      'keys.id >': after,
      'accounts.name =': account,
      'keys.kind =': kind,
      'keys.holder =': holder,
      'keys.name =': name,
    });
    conditions.texts.push(
      ids ? `keys.id = ANY(${conditions.addValue(ids)}::text[])` : 'keys.deleted IS NULL',
    );
    if (wanted !== undefined) {
      const place = conditions.addValue(wanted);
      conditions.texts.push(`(keys.id = ${place} OR keys.last_four = ${place})`);
    }
    const page = `${keyRows} ${conditions.where} ORDER BY keys.id LIMIT ${conditions.addValue(limit)}`;
    return (yield* askRows({ text: page }, ...conditions.values)).map(readKey);
  },
  /** Changes a key; undefined fields stay as they are. */
  *changeKey({ id, changes }) {
    const { name, disabled, tags, holder } = changes;
    const others = { name, disabled, tags: tags && JSON.stringify(tags), holder };
    const columns = [...Object.entries(others), ...encodeLimits(changes)];
    const stated = columns.filter(([, value]) => value !== undefined);
    const assignments = ['id = id', ...stated.map(([column], index) => `${column} = $${index + 2}`)];
    const change = `UPDATE keys SET ${assignments.join(', ')} WHERE id = $1 AND deleted IS NULL RETURNING id`;
    return (yield* askRows({ text: change }, id, ...stated.map(([, value]) => value))).length > 0;
  },
  *rotateKey({ id, until, key }) {
    const rows = yield* askRows(sql.rotate, id, key.id, key.hash, key.lastFour, key.at);
    if (rows.length === 0) return false;
    yield* askRows(sql.rotated, id, key.id, until);
    return true;
  },
  *deleteKey({ id, at }) {
    return (yield* askRows(sql.deleteKey, id, at)).length > 0;
  },
} satisfies Partial<Operations>;
