/** What every ledger must satisfy, whatever database keeps it: the answers of its operations, and the books behind them. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Quote, Settled, Store } from '../../plugins/meters/balance/store.ts';
import { quote, settlement } from '../balance/calls.ts';

export interface BookedTransaction {
  readonly kind: string;
  /** Whose it is. */
  readonly account: string;
  readonly reservation: string | undefined;
  readonly reason: string | undefined;
  readonly entries: readonly { readonly account: string; readonly amount: Nano }[];
}

/** All that was written, read past the store. */
export interface Books {
  readonly transactions: readonly BookedTransaction[];
  readonly accounts: readonly { readonly name: string; readonly total: Nano; readonly used: Nano; readonly pending: Nano }[];
}

export interface OpenedStore {
  readonly store: Store;
  books(): Promise<Books>;
  /** Closes the store and takes its data away. */
  dispose(): Promise<void>;
}

function sum(amounts: readonly Nano[]): Nano {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** Every transaction sums to zero, every account's columns are its entries' sums, every reservation ended at most once. */
export function expectSound({ transactions, accounts }: Books): void {
  const sums = new Map<string, Nano>();
  const ends = new Map<string, number>();
  for (const { kind, account: owner, reservation, entries } of transactions) {
    expect(sum(entries.map(({ amount }) => amount)), `a ${kind} of ${owner}`).toBe(0n);
    for (const { account, amount } of entries) sums.set(`${owner} ${account}`, (sums.get(`${owner} ${account}`) ?? 0n) + amount);
    if (['post', 'void', 'expire'].includes(kind) && reservation !== undefined) ends.set(reservation, (ends.get(reservation) ?? 0) + 1);
  }
  expect([...ends].filter(([, count]) => count > 1)).toEqual([]);
  for (const { name, total, used, pending } of accounts) {
    const booked = (book: string): Nano => sums.get(`${name} ${book}`) ?? 0n;
    expect({ name, total, used, pending, available: total - used - pending }).toEqual({
      name, total: -booked('credits'), used: booked('revenue'), pending: booked('reservations'), available: booked(name),
    });
  }
}

let made = 0;

/** Runs the contract against stores that `open` opens empty. */
export function testStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(`the ${name} store`, () => {
    let opened: OpenedStore;
    let store: Store;
    beforeAll(async () => {
      opened = await open();
      store = opened.store;
    });
    afterAll(() => opened.dispose());

    /** A new account with credit. */
    async function account(credit: Nano): Promise<string> {
      made += 1;
      const fresh = `account-${made}`;
      await store.createAccount({ name: fresh, at: 1 });
      if (credit > 0n) await store.credit({ account: fresh, amount: credit, kind: 'top-up', reference: undefined, at: 1 });
      return fresh;
    }

    const reserve = (id: string, account: string, ...quotes: Quote[]) => store.reserve({ id, account, key: 'key-1', quotes, at: 1000 });
    const transactionsOf = async (account: string) => (await opened.books()).transactions.filter((transaction) => transaction.account === account);

    testReservations({ account, reserve, transactionsOf, opened: () => opened });
    testSettling({ account, reserve, transactionsOf, opened: () => opened });
    testAccounts({ account, reserve, transactionsOf, opened: () => opened });
    testKeys({ account, reserve, transactionsOf, opened: () => opened });
    testHistories(() => opened);
  });
}

interface Bench {
  account(credit: Nano): Promise<string>;
  reserve(id: string, account: string, ...quotes: Quote[]): ReturnType<Store['reserve']>;
  transactionsOf(account: string): Promise<BookedTransaction[]>;
  opened(): OpenedStore;
}

function testReservations({ account, reserve, opened }: Bench): void {
  describe('reserving', () => {
    it('holds the most a call can cost, out of what is available and not out of the balance', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(10n, 60n))).toEqual({ quote: 0, amount: 60n });
      expect(await opened().store.balance(name)).toEqual({ total: 100n, used: 0n, pending: 60n });
    });

    it('holds all that is available where that is less than the most and enough for the least', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(60n));
      expect(await reserve(`${name}-2`, name, quote(40n, 500n))).toEqual({ quote: 0, amount: 40n });
    });

    it('refuses one nano above what is available, and leaves nothing behind', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(101n))).toBeUndefined();
      expect(await opened().store.balance(name)).toEqual({ total: 100n, used: 0n, pending: 0n });
      expect(await reserve(`${name}-1`, name, quote(100n))).toEqual({ quote: 0, amount: 100n });
    });

    it('takes the first quote that fits, in the order given', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(200n, 300n), quote(90n, 95n), quote(1n, 2n))).toEqual({ quote: 1, amount: 95n });
    });

    it('lets what is free pass on an empty and on an overdrawn account', async () => {
      const name = await account(0n);
      expect(await reserve(`${name}-1`, name, quote(0n))).toEqual({ quote: 0, amount: 0n });
      expect(await opened().store.settle(settlement(`${name}-1`, 7n))).toEqual({ status: 'posted', posted: 0n, overage: 7n });
      expect(await reserve(`${name}-2`, name, quote(0n))).toEqual({ quote: 0, amount: 0n });
      expect(await reserve(`${name}-3`, name, quote(1n))).toBeUndefined();
    });

    it('refuses an account nobody knows, and the ledger\'s own', async () => {
      expect(await reserve('nobody-1', 'nobody', quote(0n))).toBeUndefined();
      expect(await reserve('nobody-2', 'revenue', quote(0n))).toBeUndefined();
    });

    it('has one winner where 200 ask at once for the last of a balance', async () => {
      const name = await account(100n);
      const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => reserve(`${name}-${index}`, name, quote(100n))));
      expect(answers.filter((answer) => answer !== undefined)).toEqual([{ quote: 0, amount: 100n }]);
      expect(await opened().store.balance(name)).toEqual({ total: 100n, used: 0n, pending: 100n });
    });

    it('never holds one id twice, and does not take the rest of the turn with it', async () => {
      const name = await account(100n);
      const ids = [`${name}-1`, `${name}-1`, `${name}-2`];
      const answers = await Promise.allSettled(ids.map((id) => reserve(id, name, quote(10n))));
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await opened().store.balance(name)).toEqual({ total: 100n, used: 0n, pending: 20n });
    });
  });
}

function testSettling({ account, reserve, transactionsOf, opened }: Bench): void {
  describe('settling', () => {
    it('posts what is owed and gives the rest back', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await opened().store.settle(settlement(`${name}-1`, 30n))).toEqual({ status: 'posted', posted: 30n, overage: 0n });
      expect(await opened().store.balance(name)).toEqual({ total: 100n, used: 30n, pending: 0n });
    });

    it('voids with the reason, and gives everything back', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await opened().store.settle(settlement(`${name}-1`, undefined, { reason: 'client_gone' }))).toEqual({ status: 'voided' });
      expect(await opened().store.balance(name)).toEqual({ total: 100n, used: 0n, pending: 0n });
      expect((await transactionsOf(name)).at(-1)).toMatchObject({ kind: 'void', reservation: `${name}-1`, reason: 'client_gone' });
    });

    it('posts at most what was reserved, and what is owed above it as overage of its own', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await opened().store.settle(settlement(`${name}-1`, 110n))).toEqual({ status: 'posted', posted: 80n, overage: 30n });
      expect(await opened().store.balance(name)).toEqual({ total: 100n, used: 110n, pending: 0n });
      const [, , post, overage] = await transactionsOf(name);
      expect(post).toMatchObject({ kind: 'post', entries: expect.arrayContaining([{ account: 'revenue', amount: 80n }]) });
      expect(overage).toMatchObject({
        kind: 'overage',
        reservation: `${name}-1`,
        entries: expect.arrayContaining([{ account: 'revenue', amount: 30n }, { account: name, amount: -30n }]),
      });
    });

    it.each<[string, Nano | undefined, Settled['status']]>([
      ['posted', 5n, 'already_posted'],
      ['voided', undefined, 'already_voided'],
    ])('says that a reservation is %s already, and adds nothing', async (_, amount, status) => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      await opened().store.settle(settlement(`${name}-1`, amount));
      const [balance, transactions] = [await opened().store.balance(name), await transactionsOf(name)];
      expect(await opened().store.settle(settlement(`${name}-1`, 50n))).toEqual({ status });
      expect(await opened().store.settle(settlement(`${name}-1`, undefined))).toEqual({ status });
      expect([await opened().store.balance(name), await transactionsOf(name)]).toEqual([balance, transactions]);
    });

    it('settles once where two ask in one turn', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      const both = await Promise.all([opened().store.settle(settlement(`${name}-1`, 30n)), opened().store.settle(settlement(`${name}-1`, undefined))]);
      expect(both.map(({ status }) => status)).toEqual(['posted', 'already_posted']);
    });

    it('knows no reservation that was never made', async () => {
      expect(await opened().store.settle(settlement('never-made', 1n))).toEqual({ status: 'not_found' });
    });
  });
}

function testAccounts({ account, opened }: Bench): void {
  const credit = (to: string, amount: Nano, reference?: string) => opened().store.credit({ account: to, amount, kind: 'gift-card', reference, at: 1 });

  describe('accounts and credit', () => {
    it('makes an account once', async () => {
      const name = await account(0n);
      expect(await opened().store.createAccount({ name, at: 2 })).toBe(false);
      expect(await opened().store.balance(name)).toEqual({ total: 0n, used: 0n, pending: 0n });
    });

    it('has no balance for an account nobody made, nor for the ledger\'s own', async () => {
      expect(await opened().store.balance('nobody')).toBeUndefined();
      expect(await opened().store.createAccount({ name: 'revenue', at: 1 })).toBe(false);
      expect(await opened().store.balance('revenue')).toBeUndefined();
    });

    it('adds credit to the total, each time it has no reference', async () => {
      const name = await account(0n);
      expect([await credit(name, 5n), await credit(name, 5n)]).toEqual(['credited', 'credited']);
      expect((await opened().store.balance(name))?.total).toBe(10n);
    });

    it('adds credit with a reference once', async () => {
      const name = await account(0n);
      expect(await Promise.all([credit(name, 5n, `${name}-r`), credit(name, 5n, `${name}-r`)])).toEqual(['credited', 'already_credited']);
      expect((await opened().store.balance(name))?.total).toBe(5n);
    });

    it('refuses a reference that stands for another amount or account', async () => {
      const [name, other] = [await account(0n), await account(0n)];
      await credit(name, 5n, `${name}-r`);
      expect([await credit(name, 6n, `${name}-r`), await credit(other, 5n, `${name}-r`)]).toEqual(['reference_taken', 'reference_taken']);
      expect((await opened().store.balance(other))?.total).toBe(0n);
    });

    it('credits no account that is not there', async () => {
      expect(await credit('nobody', 5n, 'for-nobody')).toBe('not_found');
    });
  });
}

function testKeys({ account, opened }: Bench): void {
  describe('keys', () => {
    const hash = 'a'.repeat(64);

    it('finds a key by its whole hash, and lists it', async () => {
      const name = await account(0n);
      expect(await opened().store.createKey({ hash, lastFour: 'wxyz', name: 'laptop', account: name, at: 5 })).toBe(true);
      const record = { hash, lastFour: 'wxyz', name: 'laptop', account: name, disabled: false, created: 5 };
      expect(await opened().store.findKey(hash)).toEqual(record);
      expect(await opened().store.listKeys()).toEqual([record]);
      expect(await opened().store.findKey(hash.slice(1))).toBeUndefined();
    });

    it('finds a disabled key and says that it is', async () => {
      expect(await opened().store.disableKey(hash)).toBe(true);
      expect(await opened().store.findKey(hash)).toMatchObject({ disabled: true });
      expect(await opened().store.disableKey('b'.repeat(64))).toBe(false);
    });

    it('makes no key for an account that is not there', async () => {
      expect(await opened().store.createKey({ hash: 'c'.repeat(64), lastFour: 'wxyz', name: '', account: 'nobody', at: 5 })).toBe(false);
    });
  });
}

/** The ledger as it would be in memory, to compare with. */
class Model {
  readonly accounts = new Map<string, { total: Nano; used: Nano; pending: Nano }>();
  readonly #reservations = new Map<string, { account: string; amount: Nano; end?: 'already_posted' | 'already_voided' }>();
  readonly #references = new Map<string, string>();

  credit(account: string, amount: Nano, reference: string | undefined): string {
    const stands = `${account} ${amount}`;
    const before = reference === undefined ? undefined : this.#references.get(reference);
    if (before !== undefined) return before === stands ? 'already_credited' : 'reference_taken';
    if (reference !== undefined) this.#references.set(reference, stands);
    this.#of(account).total += amount;
    return 'credited';
  }

  reserve(id: string, account: string, quotes: readonly Quote[]): unknown {
    const held = this.#of(account);
    const available = held.total - held.used - held.pending;
    const taken = quotes.findIndex(({ least }) => least === 0n || least <= available);
    const found = quotes[taken];
    if (!found) return undefined;
    const affordable = available > 0n ? available : 0n;
    const amount = affordable < found.most ? affordable : found.most;
    held.pending += amount;
    this.#reservations.set(id, { account, amount });
    return { quote: taken, amount };
  }

  settle(id: string, amount: Nano | undefined): unknown {
    const reservation = this.#reservations.get(id);
    if (!reservation) return { status: 'not_found' };
    if (reservation.end) return { status: reservation.end };
    reservation.end = amount === undefined ? 'already_voided' : 'already_posted';
    const held = this.#of(reservation.account);
    held.pending -= reservation.amount;
    held.used += amount ?? 0n;
    if (amount === undefined) return { status: 'voided' };
    const posted = amount < reservation.amount ? amount : reservation.amount;
    return { status: 'posted', posted, overage: amount - posted };
  }

  #of(account: string): { total: Nano; used: Nano; pending: Nano } {
    const held = this.accounts.get(account) ?? { total: 0n, used: 0n, pending: 0n };
    this.accounts.set(account, held);
    return held;
  }
}

const owner = fc.constantFrom('x', 'y');
const anyQuote = fc.tuple(fc.bigInt(0n, 400n), fc.bigInt(0n, 400n)).map(([least, more]) => quote(least, least + more));
const step = fc.oneof(
  fc.record({ type: fc.constant('credit' as const), account: owner, amount: fc.bigInt(1n, 500n), reference: fc.constantFrom(undefined, 'p', 'q') }),
  fc.record({ type: fc.constant('reserve' as const), account: owner, quotes: fc.array(anyQuote, { minLength: 1, maxLength: 3 }) }),
  fc.record({ type: fc.constant('settle' as const), which: fc.nat(12), amount: fc.option(fc.bigInt(0n, 900n), { nil: undefined }) }),
);

function testHistories(opened: () => OpenedStore): void {
  describe('any history', () => {
    let histories = 0;

    it('answers as a ledger in memory would, turn by turn, and leaves sound books', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 12 }), async (turns) => {
          const { store } = opened();
          const model = new Model();
          histories += 1;
          const named = (name: string): string => `h${histories}-${name}`;
          await Promise.all(['x', 'y'].map((name) => store.createAccount({ name: named(name), at: 1 })));
          let reservations = 0;
          for (const turn of turns) {
            const pairs = turn.map((operation): [Promise<unknown>, unknown] => {
              if (operation.type === 'credit') {
                const account = named(operation.account);
                const reference = operation.reference && named(operation.reference);
                return [store.credit({ account, amount: operation.amount, kind: 'bonus', reference, at: 1 }), model.credit(account, operation.amount, reference)];
              }
              if (operation.type === 'settle') {
                const id = named(`${operation.which}`);
                return [store.settle(settlement(id, operation.amount)), model.settle(id, operation.amount)];
              }
              const [id, account] = [named(`${reservations}`), named(operation.account)];
              reservations += 1;
              return [store.reserve({ id, account, key: 'k', quotes: operation.quotes, at: 1 }), model.reserve(id, account, operation.quotes)];
            });
            expect(await Promise.all(pairs.map(([answer]) => answer))).toEqual(pairs.map(([, expected]) => expected));
          }
          for (const [name, balance] of model.accounts) expect(await store.balance(name)).toEqual(balance);
        }),
        { numRuns: 60 },
      );
      const books = await opened().books();
      expect(books.transactions.length).toBeGreaterThan(60);
      expectSound(books);
    });
  });
}
