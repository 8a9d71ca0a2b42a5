/**
 * What accounts have and keys have spent, while one transaction is being written. Each is read once, changed
 * in memory by all operations that share the transaction, and written once at its end.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Nano } from '../../../../core/index.ts';
import { limited, minuteOf, type Minute } from '../decisions.ts';
import { count, integer, maybe, text, texts } from '../rows.ts';
import type { Reserved } from '../store.ts';
import { Budgets } from './budgets.ts';

/** An account or a key, with the amounts to add to its columns. */
class Change {
  readonly id: bigint | string;
  used = 0n;
  pending = 0n;

  constructor(id: bigint | string) {
    this.id = id;
  }
}

/** An account as it was before this transaction changed anything. */
export interface FoundAccount {
  readonly id: bigint;
  readonly available: Nano;
  /** The accounts above it. */
  readonly line: readonly string[];
}

/** A key as a transaction found it. */
export interface FoundKey {
  readonly root: string;
  /**
   * What is left of its cap, and how many calls it may make in a minute; undefined where there is no such
   * limit.
   */
  readonly left: Nano | undefined;
  readonly rate: number | undefined;
}

function prepare(database: DatabaseSync) {
  return {
    account: database.prepare(
      'SELECT id, total - used - pending AS available, line FROM accounts WHERE name = ?',
    ),
    key: database.prepare(`
      SELECT keys.root, keys.spend_cap - root.used - root.pending AS left, keys.calls_per_minute AS rate,
        root.minute, root.calls
      FROM keys JOIN keys root ON root.id = keys.root WHERE keys.id = ?`),
    changeAccount: database.prepare(
      'UPDATE accounts SET used = used + ?, pending = pending + ? WHERE id = ?',
    ),
    changeKey: database.prepare('UPDATE keys SET used = used + ?, pending = pending + ? WHERE id = ?'),
    countCalls: database.prepare('UPDATE keys SET minute = ?, calls = ? WHERE id = ?'),
  };
}

export class TransactionBalances {
  readonly budgets: Budgets;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #accounts = new Map<string, FoundAccount>();
  readonly #keys = new Map<string, FoundKey | undefined>();
  readonly #changes = new Map<bigint | string, Change>();
  /** Minutes of the roots of keys that have a rate, and the roots whose calls this transaction counted. */
  readonly #minutes = new Map<string, Minute>();
  readonly #counted = new Set<string>();

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database);
    this.budgets = new Budgets(database);
  }

  account(name: string): FoundAccount | undefined {
    const known = this.#accounts.get(name);
    if (known) return known;
    const row = this.#sql.account.get(name);
    if (!row) return undefined;
    const found = {
      id: integer(row, 'id'),
      available: integer(row, 'available'),
      line: maybe(row, 'line', texts) ?? [],
    };
    this.#accounts.set(name, found);
    return found;
  }

  key(id: string): FoundKey | undefined {
    if (this.#keys.has(id)) return this.#keys.get(id);
    const row = this.#sql.key.get(id);
    const found = row && {
      root: text(row, 'root'),
      left: maybe(row, 'left', integer),
      rate: maybe(row, 'rate', count),
    };
    this.#keys.set(id, found);
    if (row && found?.rate !== undefined && !this.#minutes.has(found.root)) {
      this.#minutes.set(found.root, { began: count(row, 'minute'), calls: count(row, 'calls') });
    }
    return found;
  }

  /** Whether another call of the key would exceed its rate, at this point of the transaction. */
  limited({ root, rate }: FoundKey, at: number): Extract<Reserved, { status: 'limited' }> | undefined {
    const last = this.#minutes.get(root);
    return last && limited(rate, last, at);
  }

  /** Counts a call of the key, if it has a rate. */
  count({ root }: FoundKey, at: number): void {
    const last = this.#minutes.get(root);
    if (!last) return;
    const { began, calls } = minuteOf(last, at);
    this.#minutes.set(root, { began, calls: calls + 1 });
    this.#counted.add(root);
  }

  /** What an account can spend at this point of the transaction. */
  available({ id, available }: FoundAccount): Nano {
    const change = this.#changes.get(id);
    return change ? available - change.used - change.pending : available;
  }

  /** What is left of a key's cap at this point of the transaction. */
  left({ root, left }: FoundKey): Nano | undefined {
    const change = this.#changes.get(root);
    return change && left !== undefined ? left - change.used - change.pending : left;
  }

  /** Adds to what the account has used and reserved, and likewise to the root of the key that pays. */
  spend(account: bigint, root: string | undefined, used: Nano, pending: Nano): void {
    const change = this.#changeOf(account);
    change.used += used;
    change.pending += pending;
    if (root === undefined) return;
    const spent = this.#changeOf(root);
    spent.used += used;
    spent.pending += pending;
  }

  /** Writes the changes, before the transaction is committed or changes what was read. */
  write(): void {
    this.budgets.write();
    for (const { id, used, pending } of this.#changes.values()) {
      if (typeof id === 'string') this.#sql.changeKey.run(used, pending, id);
      else this.#sql.changeAccount.run(used, pending, id);
    }
    for (const root of this.#counted) {
      const counted = this.#minutes.get(root);
      if (counted) this.#sql.countCalls.run(counted.began, counted.calls, root);
    }
    this.forget();
  }

  /** Forgets what was read, since the transaction is over or undone and it need not be true any more. */
  forget(): void {
    this.budgets.forget();
    this.#accounts.clear();
    this.#keys.clear();
    this.#changes.clear();
    this.#minutes.clear();
    this.#counted.clear();
  }

  #changeOf(id: bigint | string): Change {
    const known = this.#changes.get(id);
    if (known) return known;
    const change = new Change(id);
    this.#changes.set(id, change);
    return change;
  }
}
