/**
 * Accounts and keys: what they are and what they may do. Only the ledger changes what they have and spend.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { accountStates, type StateChanged } from '../accounts.ts';
import { refuseState, type KeyDeletion, type StateChange } from '../corrections.ts';
import { accountOf, balanceOf, keyOf } from '../records.ts';
import { integer, text, word } from '../rows.ts';
import type { AccountRecord, Balance, KeyChanges, KeyRecord, NewKey, Page, Rotation } from '../store.ts';

const keyRows = `
  SELECT keys.*, root.used AS root_used, root.pending AS root_pending, accounts.name AS account_name,
    accounts.state AS account_state
  FROM keys JOIN keys root ON root.id = keys.root LEFT JOIN accounts ON accounts.id = keys.account`;

function prepare(database: DatabaseSync) {
  return {
    balance: database.prepare('SELECT total, used, pending FROM accounts WHERE name = ?'),
    accountId: database.prepare("SELECT id FROM accounts WHERE name = ? AND state <> 'closed'"),
    account: database.prepare('SELECT state, pending FROM accounts WHERE name = ?'),
    setState: database.prepare('UPDATE accounts SET state = ? WHERE name = ?'),
    deleteKey: database.prepare('UPDATE keys SET deleted = ?, disabled = 1 WHERE id = ? AND deleted IS NULL'),
    addAccount: database.prepare('INSERT INTO accounts (name, created) VALUES (?, ?) ON CONFLICT DO NOTHING'),
    accounts: database.prepare(`
      SELECT name, created, total, used, pending, line, state FROM accounts WHERE name > ?
      ORDER BY name LIMIT ?`),
    everyAccount: database.prepare('SELECT name, created, total, used, pending, line, state FROM accounts'),
    everyKey: database.prepare(keyRows),
    addKey: database.prepare(`
      INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires,
        calls_per_minute, created, tags, read_only, root)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?1)`),
    // The id is the start of the hash, so one index finds both.
    key: database.prepare(
      `${keyRows} WHERE keys.id = substr(?1, 1, 16) AND keys.hash = ?1 AND keys.deleted IS NULL`,
    ),
    anyKey: database.prepare('SELECT id FROM keys LIMIT 1'),
    keys: database.prepare(`${keyRows} WHERE keys.id > ? AND keys.deleted IS NULL ORDER BY keys.id LIMIT ?`),
    keysOfAccount: database.prepare(
      `${keyRows} WHERE accounts.name = ? AND keys.id > ? AND keys.deleted IS NULL ORDER BY keys.id LIMIT ?`,
    ),
    keysWanted: database.prepare(
      `${keyRows}
      WHERE (keys.id = ?1 OR keys.last_four = ?1) AND keys.id > ?2 AND keys.deleted IS NULL
      ORDER BY keys.id LIMIT ?3`,
    ),
    rotate: database.prepare(`
      INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires,
        calls_per_minute, created, tags, read_only, root)
      SELECT ?1, ?2, ?3, name, kind, account, spend_cap, models, expires, calls_per_minute, ?4, tags,
        read_only, root FROM keys
      WHERE id = ?5 AND rotated_to IS NULL AND deleted IS NULL`),
    rotated: database.prepare(
      'UPDATE keys SET rotated_to = ?, expires = min(coalesce(expires, ?2), ?2) WHERE id = ?3',
    ),
  };
}

/** The columns to change, each with its new value. */
function changedColumns({
  name,
  disabled,
  spendCap,
  models,
  expires,
  callsPerMinute,
  tags,
}: KeyChanges): [column: string, value: SQLInputValue][] {
  const columns: [string, SQLInputValue | undefined][] = [
    ['name', name],
    ['disabled', disabled === undefined ? undefined : Number(disabled)],
    ['spend_cap', spendCap],
    ['models', models && JSON.stringify(models)],
    ['expires', expires],
    ['calls_per_minute', callsPerMinute],
    ['tags', tags && JSON.stringify(tags)],
  ];
  return columns.flatMap(([column, value]) => (value === undefined ? [] : [[column, value]]));
}

export class Accounts {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database);
    this.#database = database;
  }

  readonly balance = (name: string): Balance | undefined => {
    const row = this.#sql.balance.get(name);
    return row && balanceOf(row);
  };

  readonly createAccount = ({ name, at }: { readonly name: string; readonly at: number }): boolean => {
    return this.#sql.addAccount.run(name, at).changes === 1n;
  };

  readonly setAccountState = ({ account, state }: StateChange): StateChanged => {
    const row = this.#sql.account.get(account);
    if (!row) return 'not_found';
    const refusal = refuseState(word(accountStates)(row, 'state'), integer(row, 'pending'), state);
    if (refusal) return refusal;
    this.#sql.setState.run(state, account);
    return 'changed';
  };

  readonly deleteKey = ({ id, at }: KeyDeletion): boolean => {
    return this.#sql.deleteKey.run(at, id).changes === 1n;
  };

  readonly listAccounts = ({ after = '', limit }: Page): readonly AccountRecord[] => {
    return this.#sql.accounts.all(after, limit).map(accountOf);
  };

  *everyAccount(): Generator<AccountRecord> {
    for (const row of this.#sql.everyAccount.iterate()) yield accountOf(row);
  }

  *everyKey(): Generator<KeyRecord & { readonly root: string }> {
    for (const row of this.#sql.everyKey.iterate()) yield { ...keyOf(row), root: text(row, 'root') };
  }

  readonly createKey = ({
    id,
    hash,
    lastFour,
    name,
    kind,
    account,
    spendCap,
    models,
    expires,
    callsPerMinute,
    tags,
    readOnly,
    at,
  }: NewKey): boolean => {
    if ((account === undefined) !== (kind === 'operator'))
      throw new RangeError('user keys have an account, and operator keys have none');
    const row = account === undefined ? undefined : this.#sql.accountId.get(account);
    if (account !== undefined && !row) return false;
    const owner = row ? integer(row, 'id') : null;
    this.#sql.addKey.run(
      id,
      hash,
      lastFour,
      name,
      kind,
      owner,
      spendCap ?? null,
      models ? JSON.stringify(models) : null,
      expires ?? null,
      callsPerMinute ?? null,
      at,
      tags.length > 0 ? JSON.stringify(tags) : null,
      Number(readOnly),
    );
    return true;
  };

  readonly findKey = (hash: string): KeyRecord | undefined => {
    const row = this.#sql.key.get(hash);
    return row && keyOf(row);
  };

  readonly hasKeys = (): boolean => {
    return this.#sql.anyKey.get() !== undefined;
  };

  readonly listKeys = (
    page: Page & { readonly account?: string | undefined; readonly wanted?: string | undefined },
  ): readonly KeyRecord[] => {
    const { after = '', limit, account, wanted } = page;
    const rows =
      wanted !== undefined
        ? this.#sql.keysWanted.all(wanted, after, limit)
        : account !== undefined
          ? this.#sql.keysOfAccount.all(account, after, limit)
          : this.#sql.keys.all(after, limit);
    const keys = rows.map(keyOf);
    return account === undefined ? keys : keys.filter((key) => key.account === account);
  };

  readonly changeKey = ({ id, changes }: { readonly id: string; readonly changes: KeyChanges }): boolean => {
    const columns = changedColumns(changes);
    const assignments = ['id = id', ...columns.map(([column]) => `${column} = ?`)].join(', ');
    return (
      this.#database
        .prepare(`UPDATE keys SET ${assignments} WHERE id = ? AND deleted IS NULL`)
        .run(...columns.map(([, value]) => value), id).changes === 1n
    );
  };

  readonly rotateKey = ({ id, until, key }: Rotation): boolean => {
    if (this.#sql.rotate.run(key.id, key.hash, key.lastFour, key.at, id).changes === 0n) return false;
    this.#sql.rotated.run(key.id, until, id);
    return true;
  };
}
