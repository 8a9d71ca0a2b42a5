/**
 * The store's operations on one SQLite connection. Each runs inside a transaction its caller began, checks
 * before it writes, and so leaves nothing behind when it refuses.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Nano } from '../../../../core/index.ts';
import type { Balance, Credit, Credited, KeyRecord, NewKey, Quote, Reserved, ReserveRequest, Settled, Settlement } from '../store.ts';
import { systemAccounts } from './migrations.ts';
import type { Handlers } from './operations.ts';
import { integer, text, type Row } from './rows.ts';

const { reservations, revenue, credits } = systemAccounts;

/** Milliseconds for which a new reservation's owner is taken to be alive. */
const leaseLength = 60_000;

/** What the state of a reservation that is not pending says to one who would settle it. */
function refusal(state: string): Exclude<Settled['status'], 'posted' | 'voided'> {
  if (state === 'posted') return 'already_posted';
  return state === 'voided' ? 'already_voided' : 'expired';
}

interface Account extends Balance {
  readonly id: bigint;
}

/** Amounts an account's columns grow by. */
type Change = Partial<Balance>;

type Leg = readonly [account: bigint, amount: Nano];
type Legs = [first: Leg, second: Leg, third?: Leg];

function prepare(database: DatabaseSync) {
  const keyColumns = 'keys.hash, keys.last_four, keys.name, accounts.name AS account, keys.disabled, keys.created';
  return {
    account: database.prepare("SELECT id, total, used, pending FROM accounts WHERE name = ? AND kind = 'user'"),
    addAccount: database.prepare("INSERT INTO accounts (name, kind, created) VALUES (?, 'user', ?) ON CONFLICT DO NOTHING"),
    changeAccount: database.prepare('UPDATE accounts SET total = total + ?, used = used + ?, pending = pending + ? WHERE id = ?'),
    addReservation: database.prepare(`
      INSERT INTO reservations (id, account, key, model, provider, amount, owner, lease, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    reservation: database.prepare('SELECT number, account, amount, state FROM reservations WHERE id = ?'),
    endReservation: database.prepare('UPDATE reservations SET state = ? WHERE number = ?'),
    addTransaction: database.prepare('INSERT INTO transactions (kind, account, reservation, at) VALUES (?, ?, ?, ?)'),
    addEnd: database.prepare(`
      INSERT INTO transactions (kind, account, reservation, at, reason, basis, model, provider, price, usage, attempts)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    addCredit: database.prepare("INSERT INTO transactions (kind, account, at, source, reference) VALUES ('credit', ?, ?, ?, ?)"),
    creditByReference: database.prepare(`
      SELECT transactions.account, entries.amount FROM transactions
      JOIN entries ON entries."transaction" = transactions.id AND entries.account = transactions.account WHERE reference = ?`),
    addTwoEntries: database.prepare('INSERT INTO entries ("transaction", account, amount) VALUES (?1, ?2, ?3), (?1, ?4, ?5)'),
    addThreeEntries: database.prepare('INSERT INTO entries ("transaction", account, amount) VALUES (?1, ?2, ?3), (?1, ?4, ?5), (?1, ?6, ?7)'),
    addKey: database.prepare('INSERT INTO keys (hash, last_four, name, account, created) VALUES (?, ?, ?, ?, ?)'),
    key: database.prepare(`SELECT ${keyColumns} FROM keys JOIN accounts ON accounts.id = keys.account WHERE hash = ?`),
    keys: database.prepare(`SELECT ${keyColumns} FROM keys JOIN accounts ON accounts.id = keys.account ORDER BY keys.created, keys.hash`),
    disableKey: database.prepare('UPDATE keys SET disabled = 1 WHERE hash = ?'),
  };
}

function keyRecord(row: Row): KeyRecord {
  return {
    hash: text(row, 'hash'),
    lastFour: text(row, 'last_four'),
    name: text(row, 'name'),
    account: text(row, 'account'),
    disabled: integer(row, 'disabled') === 1n,
    created: Number(integer(row, 'created')),
  };
}

/** The first quote whose least is there, and how much of its most is. What costs nothing is always affordable. */
function take(quotes: readonly Quote[], available: Nano): (Reserved & { taken: Quote }) | undefined {
  for (const [quote, taken] of quotes.entries()) {
    if (taken.least > 0n && taken.least > available) continue;
    const amount = taken.most <= available ? taken.most : available;
    return { quote, taken, amount: amount > 0n ? amount : 0n };
  }
  return undefined;
}

export class Ledger implements Handlers {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #owner: string;

  constructor(database: DatabaseSync, owner: string) {
    this.#sql = prepare(database);
    this.#owner = owner;
  }

  reserve({ id, account: name, key, quotes, at }: ReserveRequest): Reserved | undefined {
    const account = this.#account(name);
    const found = account && take(quotes, account.total - account.used - account.pending);
    if (!found) return undefined;
    const { quote, amount, taken } = found;
    const { model, provider } = taken;
    const { lastInsertRowid: reservation } = this.#sql.addReservation.run(id, account.id, key, model, provider, amount, this.#owner, at + leaseLength, at);
    const { lastInsertRowid: transaction } = this.#sql.addTransaction.run('reserve', account.id, reservation, at);
    this.#book(transaction, [account.id, -amount], [reservations, amount]);
    this.#change(account.id, { pending: amount });
    return { quote, amount };
  }

  settle(settlement: Settlement): Settled {
    const row = this.#sql.reservation.get(settlement.id);
    if (!row) return { status: 'not_found' };
    const state = text(row, 'state');
    if (state !== 'pending') return { status: refusal(state) };
    const [number, account, reserved] = [integer(row, 'number'), integer(row, 'account'), integer(row, 'amount')];
    const isVoid = settlement.amount === undefined;
    const owed = settlement.amount ?? 0n;
    const posted = owed < reserved ? owed : reserved;
    const overage = owed - posted;
    this.#sql.endReservation.run(isVoid ? 'voided' : 'posted', number);
    this.#end(isVoid ? 'void' : 'post', account, number, settlement, [account, reserved - posted], [reservations, -reserved], [revenue, posted]);
    if (overage > 0n) this.#end('overage', account, number, settlement, [account, -overage], [revenue, overage]);
    this.#change(account, { used: owed, pending: -reserved });
    return isVoid ? { status: 'voided' } : { status: 'posted', posted, overage };
  }

  balance(name: string): Balance | undefined {
    const account = this.#account(name);
    return account && { total: account.total, used: account.used, pending: account.pending };
  }

  createAccount({ name, at }: { readonly name: string; readonly at: number }): boolean {
    return this.#sql.addAccount.run(name, at).changes === 1n;
  }

  credit({ account: name, amount, kind, reference, at }: Credit): Credited {
    const account = this.#account(name);
    if (!account) return 'not_found';
    const before = reference === undefined ? undefined : this.#sql.creditByReference.get(reference);
    if (before) {
      const isSame = integer(before, 'account') === account.id && integer(before, 'amount') === amount;
      return isSame ? 'already_credited' : 'reference_taken';
    }
    const { lastInsertRowid: transaction } = this.#sql.addCredit.run(account.id, at, kind, reference ?? null);
    this.#book(transaction, [credits, -amount], [account.id, amount]);
    this.#change(account.id, { total: amount });
    return 'credited';
  }

  createKey({ hash, lastFour, name, account: accountName, at }: NewKey): boolean {
    const account = this.#account(accountName);
    if (!account) return false;
    this.#sql.addKey.run(hash, lastFour, name, account.id, at);
    return true;
  }

  findKey(hash: string): KeyRecord | undefined {
    const row = this.#sql.key.get(hash);
    return row && keyRecord(row);
  }

  listKeys(): readonly KeyRecord[] {
    return this.#sql.keys.all().map(keyRecord);
  }

  disableKey(hash: string): boolean {
    return this.#sql.disableKey.run(hash).changes === 1n;
  }

  #account(name: string): Account | undefined {
    const row = this.#sql.account.get(name);
    return row && { id: integer(row, 'id'), total: integer(row, 'total'), used: integer(row, 'used'), pending: integer(row, 'pending') };
  }

  #change(account: bigint, { total = 0n, used = 0n, pending = 0n }: Change): void {
    this.#sql.changeAccount.run(total, used, pending, account);
  }

  #end(kind: 'post' | 'void' | 'overage', account: bigint, reservation: bigint, facts: Settlement, ...legs: Legs): void {
    const { at, reason, basis, model = null, provider = null, price = null, usage, attempts } = facts;
    const { lastInsertRowid } = this.#sql.addEnd.run(kind, account, reservation, at, reason, basis, model, provider, price, usage, attempts);
    this.#book(lastInsertRowid, ...legs);
  }

  /** Writes a transaction's entries. Throws where they do not sum to zero: better to stop than to keep wrong books. */
  #book(transaction: bigint | number, [first, firstAmount]: Leg, [second, secondAmount]: Leg, third?: Leg): void {
    const sum = firstAmount + secondAmount + (third?.[1] ?? 0n);
    if (sum !== 0n) throw new Error(`the entries of transaction ${transaction} sum to ${sum}`);
    if (third) this.#sql.addThreeEntries.run(transaction, first, firstAmount, second, secondAmount, ...third);
    else this.#sql.addTwoEntries.run(transaction, first, firstAmount, second, secondAmount);
  }
}
