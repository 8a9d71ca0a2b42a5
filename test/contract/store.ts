/** What every ledger must satisfy, whatever database keeps it: the answers of its operations, and the books behind them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Claim, Quote, ReserveRequest, Settled, Store } from '../../plugins/meters/balance/store.ts';
import { newKey, price, progress, quote, settlement } from '../balance/calls.ts';
import { expectSound, type BookedEntry, type OpenedStore } from './books.ts';
import { testHistories } from './histories.ts';
import { testRates } from './rates.ts';
import { testReports } from './reports.ts';

export interface Bench {
  account(credit: Nano): Promise<string>;
  reserve(id: string, account: string, ...quotes: Quote[]): ReturnType<Store['reserve']>;
  entriesOf(account: string): Promise<BookedEntry[]>;
  opened(): OpenedStore;
  store(): Store;
}

let made = 0;

/** A request of one call for one quote. */
export function request(id: string, account: string, more: Partial<ReserveRequest> = {}): ReserveRequest {
  return { id, account, key: 'key-1', quotes: [quote(10n)], at: 1000, ...more };
}

/** Runs the contract against stores that `open` opens empty, with so many histories: 60, or what `HISTORIES` says. */
export function testStore(
  name: string,
  open: () => Promise<OpenedStore>,
  histories = Number(process.env.HISTORIES ?? 60),
): void {
  describe(`the ${name} store`, () => {
    let opened: OpenedStore;
    beforeAll(async () => {
      opened = await open();
      await opened.store.definePrice(price);
    });
    afterAll(() => opened.dispose());

    const bench: Bench = {
      opened: () => opened,
      store: () => opened.store,
      /** A new account with credit. */
      async account(credit) {
        made += 1;
        const fresh = `account-${made}`;
        await opened.store.createAccount({ name: fresh, at: 1 });
        if (credit > 0n)
          await opened.store.credit({
            account: fresh,
            amount: credit,
            kind: 'top-up',
            reference: undefined,
            at: 1,
          });
        return fresh;
      },
      reserve: (id, account, ...quotes) => opened.store.reserve(request(id, account, { quotes })),
      entriesOf: async (account) =>
        (await opened.books()).entries.filter((entry) => entry.account === account),
    };

    testReservations(bench);
    testSettling(bench);
    testLeases(bench);
    testClaims(bench);
    testAccounts(bench);
    testKeys(bench);
    testRates(bench);
    testReports(bench);
    testHistories(bench, histories);

    it('kept sound books in all of this, by its own audit too', async () => {
      expectSound(await opened.books());
      expect(await opened.store.audit()).toMatchObject({ ok: true, broken: 0, findings: [] });
    });
  });
}

function testReservations({ account, reserve, store }: Bench): void {
  describe('reserving', () => {
    it('holds the most a call can cost, out of what is available and not out of the balance', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(10n, 60n))).toEqual({
        status: 'reserved',
        quote: 0,
        amount: 60n,
      });
      expect(await store().balance(name)).toEqual({ total: 100n, used: 0n, pending: 60n });
    });

    it('holds all that is available where that is less than the most and enough for the least', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(60n));
      expect(await reserve(`${name}-2`, name, quote(40n, 500n))).toEqual({
        status: 'reserved',
        quote: 0,
        amount: 40n,
      });
    });

    it('refuses one nano above what is available, and leaves nothing behind', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(101n))).toEqual({
        status: 'short',
        by: 'balance',
        available: 100n,
      });
      expect(await store().balance(name)).toEqual({ total: 100n, used: 0n, pending: 0n });
      expect(await reserve(`${name}-1`, name, quote(100n))).toEqual({
        status: 'reserved',
        quote: 0,
        amount: 100n,
      });
    });

    it('takes the first quote that fits, in the order given', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(200n, 300n), quote(90n, 95n), quote(1n, 2n))).toEqual({
        status: 'reserved',
        quote: 1,
        amount: 95n,
      });
    });

    it('lets what is free pass on an empty and on an overdrawn account', async () => {
      const name = await account(0n);
      expect(await reserve(`${name}-1`, name, quote(0n))).toEqual({
        status: 'reserved',
        quote: 0,
        amount: 0n,
      });
      expect(await store().settle(settlement(`${name}-1`, 7n))).toEqual({
        status: 'posted',
        posted: 0n,
        overage: 7n,
      });
      expect(await reserve(`${name}-2`, name, quote(0n))).toEqual({
        status: 'reserved',
        quote: 0,
        amount: 0n,
      });
      expect(await reserve(`${name}-3`, name, quote(1n))).toEqual({
        status: 'short',
        by: 'balance',
        available: -7n,
      });
    });

    it('refuses an account nobody knows', async () => {
      expect(await reserve('nobody-1', 'nobody', quote(0n))).toEqual({
        status: 'short',
        by: 'balance',
        available: 0n,
      });
    });

    it('has one winner where 200 ask at once for the last of a balance', async () => {
      const name = await account(100n);
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => reserve(`${name}-${index}`, name, quote(100n))),
      );
      expect(answers.filter(({ status }) => status === 'reserved')).toEqual([
        { status: 'reserved', quote: 0, amount: 100n },
      ]);
      expect(await store().balance(name)).toEqual({ total: 100n, used: 0n, pending: 100n });
    });

    it('never holds one id twice, and does not take the rest of the turn with it', async () => {
      const name = await account(100n);
      const ids = [`${name}-1`, `${name}-1`, `${name}-2`];
      const answers = await Promise.allSettled(ids.map((id) => reserve(id, name, quote(10n))));
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await store().balance(name)).toEqual({ total: 100n, used: 0n, pending: 20n });
    });
  });
}

function testSettling({ account, reserve, entriesOf, store }: Bench): void {
  describe('settling', () => {
    it('posts what is owed and gives the rest back', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await store().settle(settlement(`${name}-1`, 30n))).toEqual({
        status: 'posted',
        posted: 30n,
        overage: 0n,
      });
      expect(await store().balance(name)).toEqual({ total: 100n, used: 30n, pending: 0n });
    });

    it('voids with the reason, and gives everything back', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await store().settle(settlement(`${name}-1`, undefined, { reason: 'client_gone' }))).toEqual({
        status: 'voided',
      });
      expect(await store().balance(name)).toEqual({ total: 100n, used: 0n, pending: 0n });
      expect((await entriesOf(name)).at(-1)).toMatchObject({
        kind: 'void',
        call: `${name}-1`,
        reason: 'client_gone',
      });
    });

    it('posts at most what was reserved, and what is owed above it as overage of its own', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await store().settle(settlement(`${name}-1`, 110n))).toEqual({
        status: 'posted',
        posted: 80n,
        overage: 30n,
      });
      expect(await store().balance(name)).toEqual({ total: 100n, used: 110n, pending: 0n });
      const [, , post, overage] = await entriesOf(name);
      expect(post).toMatchObject({ kind: 'post', available: 0n, reserved: -80n, revenue: 80n });
      expect(overage).toMatchObject({
        kind: 'overage',
        call: `${name}-1`,
        available: -30n,
        reserved: 0n,
        revenue: 30n,
      });
    });

    it.each<[string, Nano | undefined, Settled['status']]>([
      ['posted', 5n, 'already_posted'],
      ['voided', undefined, 'already_voided'],
    ])('says that a reservation is %s already, and adds nothing', async (_, amount, status) => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      await store().settle(settlement(`${name}-1`, amount));
      const [balance, entries] = [await store().balance(name), await entriesOf(name)];
      expect(await store().settle(settlement(`${name}-1`, 50n))).toEqual({ status });
      expect(await store().settle(settlement(`${name}-1`, undefined))).toEqual({ status });
      expect([await store().balance(name), await entriesOf(name)]).toEqual([balance, entries]);
    });

    it('settles once where two ask in one turn', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      const both = await Promise.all([
        store().settle(settlement(`${name}-1`, 30n)),
        store().settle(settlement(`${name}-1`, undefined)),
      ]);
      expect(both.map(({ status }) => status)).toEqual(['posted', 'already_posted']);
    });

    it('reserves and settles in one turn', async () => {
      const name = await account(100n);
      const both = await Promise.all([
        reserve(`${name}-1`, name, quote(80n)),
        store().settle(settlement(`${name}-1`, 30n)),
      ]);
      expect(both.map(({ status }) => status)).toEqual(['reserved', 'posted']);
    });

    it('knows no reservation that was never made', async () => {
      expect(await store().settle(settlement('never-made', 1n))).toEqual({ status: 'not_found' });
    });

    it('refuses to owe less than nothing, and leaves the reservation as it is', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      await expect(store().settle(settlement(`${name}-1`, -1n))).rejects.toThrow('below zero');
      expect(await store().balance(name)).toMatchObject({ pending: 80n });
    });
  });
}

function testLeases({ account, reserve, entriesOf, opened, store }: Bench): void {
  const beatOf = async (owner: string): Promise<number> =>
    (await store().owners()).find((each) => each.owner === owner)?.beat ?? -1;
  const recover = async (owner: string, limit = 100) =>
    store().recover({ owner, beat: await beatOf(owner), limit, at: 5000 });

  describe('leases', () => {
    it('knows who has reservations pending, and that each beat makes a difference', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(10n));
      const { owner } = store();
      const before = await beatOf(owner);
      await store().beat({ lease: 4000, progress: [] });
      expect((await store().owners()).find((each) => each.owner === owner)).toMatchObject({
        lease: 4000,
        pending: expect.any(Number),
      });
      const first = await beatOf(owner);
      expect(first).toBeGreaterThan(before);
      await store().beat({ lease: 4000, progress: [] });
      expect(await beatOf(owner)).toBe(first + 1);
    });

    it('recovers what an owner left behind by how far it had come, once, and flags it', async () => {
      const name = await account(1000n);
      const other = await opened().another();
      const ids = ['dear', 'sent', 'unsent', 'untold'].map((word) => `${name}-${word}`);
      const [dear = '', sent = '', unsent = '', untold = ''] = ids;
      for (const id of ids) await other.reserve(request(id, name, { quotes: [quote(20n, 100n)] }));
      await other.beat({
        lease: 1,
        progress: [
          progress(sent, 30n, { delivered: 77 }),
          progress(dear, 130n),
          progress(unsent, 0n, { sent: false }),
          progress('unheard-of', 5n),
        ],
      });
      const recovered = await recover(other.owner);
      expect(recovered.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
        { id: dear, status: 'posted', amount: 130n },
        { id: sent, status: 'posted', amount: 30n },
        { id: unsent, status: 'voided', amount: 0n },
        { id: untold, status: 'posted', amount: 20n },
      ]);
      expect(await store().balance(name)).toEqual({ total: 1000n, used: 180n, pending: 0n });
      const ends = (await entriesOf(name)).filter(({ kind }) => kind === 'post' || kind === 'void');
      expect(ends.map(({ call, reason, flags }) => [call, reason, flags]).toSorted()).toEqual([
        [dear, 'recovered', 'recovered'],
        [sent, 'recovered', 'recovered'],
        [unsent, 'never_sent', 'recovered'],
        [untold, 'presumed_sent', 'recovered'],
      ]);
      const [, presumed] = await store().entries({ call: untold, limit: 9 });
      expect(presumed).toMatchObject({
        revenue: 20n,
        basis: 'estimate',
        model: 'house/model',
        provider: 'house',
        price: price.version,
        input: 20,
        output: 0,
        usage: '{"input":20,"output":0}',
      });
      expect(await recover(other.owner)).toEqual([]);
      expect((await store().owners()).map(({ owner }) => owner)).not.toContain(other.owner);
      await other.close();
    });

    it('recovers nothing of an owner that went on since it was looked at', async () => {
      const name = await account(100n);
      const other = await opened().another();
      await other.reserve(request(`${name}-1`, name));
      const seen = await beatOf(other.owner);
      await other.beat({ lease: 1, progress: [] });
      expect(await store().recover({ owner: other.owner, beat: seen, limit: 10, at: 5000 })).toEqual([]);
      expect(await other.settle(settlement(`${name}-1`, 4n))).toMatchObject({ status: 'posted' });
      await other.close();
    });

    it('never sees the same beat twice, though its owner was forgotten meanwhile', async () => {
      const other = await opened().another();
      await other.beat({ lease: 1, progress: [] });
      const before = await beatOf(other.owner);
      expect(await recover(other.owner)).toEqual([]);
      expect(await beatOf(other.owner)).toBe(-1);
      await other.beat({ lease: 1, progress: [] });
      expect(await beatOf(other.owner)).toBeGreaterThan(before);
      await other.close();
    });

    it('recovers a long list in parts', async () => {
      const name = await account(1000n);
      const other = await opened().another();
      await Promise.all(
        Array.from({ length: 7 }, (_, index) => other.reserve(request(`${name}-${index}`, name))),
      );
      const parts: number[] = [];
      for (let part = await recover(other.owner, 3); part.length > 0; part = await recover(other.owner, 3))
        parts.push(part.length);
      expect(parts).toEqual([3, 3, 1]);
      await other.close();
    });

    it('makes an adjustment of what an owner knows better that was taken for dead, up or down, once', async () => {
      const name = await account(1000n);
      const other = await opened().another();
      const [more, less, undone] = ['more', 'less', 'undone'].map((word) => `${name}-${word}`);
      for (const id of [more, less, undone])
        await other.reserve(request(id ?? '', name, { quotes: [quote(100n)] }));
      await other.beat({
        lease: 1,
        progress: [
          progress(more ?? '', 0n, { sent: false }),
          progress(less ?? '', 50n),
          progress(undone ?? '', 120n),
        ],
      });
      await recover(other.owner);
      expect(await other.settle(settlement(more ?? '', 70n))).toEqual({ status: 'adjusted', by: 70n });
      expect(await other.settle(settlement(less ?? '', 20n))).toEqual({ status: 'adjusted', by: -30n });
      expect(await other.settle(settlement(undone ?? '', undefined))).toEqual({
        status: 'adjusted',
        by: -120n,
      });
      expect(await other.settle(settlement(more ?? '', 70n))).toEqual({ status: 'already_adjusted' });
      expect(await store().balance(name)).toEqual({ total: 1000n, used: 90n, pending: 0n });
      expect(
        (await entriesOf(name)).filter(({ kind }) => kind === 'adjustment').map(({ flags }) => flags),
      ).toEqual(['late', 'late', 'late']);
      await other.close();
    });

    it('gives back what is too old, whoever has it, and takes a late end for an adjustment', async () => {
      const name = await account(100n);
      await store().reserve(request(`${name}-old`, name, { at: -10 }));
      await store().reserve(request(`${name}-new`, name, { at: 0 }));
      expect(await store().expire({ before: 0, limit: 10, at: 9 })).toEqual([`${name}-old`]);
      expect(await store().balance(name)).toEqual({ total: 100n, used: 0n, pending: 10n });
      expect(await store().settle(settlement(`${name}-old`, 4n))).toEqual({ status: 'adjusted', by: 4n });
      expect(await store().settle(settlement(`${name}-new`, 4n))).toMatchObject({ status: 'posted' });
    });
  });
}

function testClaims({ account, opened, store }: Bench): void {
  const claimOf = (name: string, more: Partial<Claim> = {}): Claim => ({
    name: `claim-${name}`,
    fingerprint: 'body',
    expires: 9000,
    ...more,
  });
  const outcome = {
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: Buffer.from('hellö'),
    whole: true,
  };
  const found = async (name: string, at = 2000) => {
    const record = await store().findClaim({ name: `claim-${name}`, at });
    return record?.outcome
      ? { ...record, outcome: { ...record.outcome, body: Buffer.from(record.outcome.body).toString() } }
      : record;
  };

  describe('claims', () => {
    it('are had by one of those who ask at once; the others are told by whom', async () => {
      const name = await account(1000n);
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          store().reserve(request(`${name}-${index}`, name, { claim: claimOf(name) })),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([
        'reserved',
        ...Array.from({ length: 49 }, () => 'claimed'),
      ]);
      expect(answers[1]).toEqual({
        status: 'claimed',
        claim: { ...claimOf(name), call: `${name}-0`, state: 'running', outcome: undefined },
      });
      expect(await store().balance(name)).toEqual({ total: 1000n, used: 0n, pending: 10n });
    });

    it('stand for the outcome of a call that was posted, until their time is over', async () => {
      const name = await account(100n);
      await store().reserve(request(`${name}-1`, name, { claim: claimOf(name) }));
      expect(await found(name)).toMatchObject({ state: 'running', outcome: undefined });
      await store().settle(settlement(`${name}-1`, 4n, { outcome }));
      expect(await found(name)).toEqual({
        ...claimOf(name),
        call: `${name}-1`,
        state: 'done',
        outcome: { ...outcome, body: 'hellö' },
      });
      expect(
        await store().reserve(request(`${name}-2`, name, { claim: claimOf(name, { fingerprint: 'other' }) })),
      ).toMatchObject({ status: 'claimed', claim: { fingerprint: 'body' } });
      expect(await found(name, 9000)).toBeUndefined();
      const next = claimOf(name, { expires: 20_000 });
      expect(await store().reserve(request(`${name}-3`, name, { claim: next, at: 9000 }))).toMatchObject({
        status: 'reserved',
      });
      expect(await found(name, 9000)).toEqual({
        ...next,
        call: `${name}-3`,
        state: 'running',
        outcome: undefined,
      });
    });

    it('are free again where nothing was owed, or nothing could be reserved', async () => {
      const name = await account(100n);
      await store().reserve(request(`${name}-1`, name, { claim: claimOf(name) }));
      await store().settle(settlement(`${name}-1`, undefined, { outcome }));
      expect(await found(name)).toBeUndefined();
      expect(
        await store().reserve(request(`${name}-2`, name, { claim: claimOf(name), quotes: [quote(101n)] })),
      ).toMatchObject({ status: 'short' });
      expect(await found(name)).toBeUndefined();
    });

    it('are never taken from a call that runs, however long', async () => {
      const name = await account(100n);
      await store().reserve(request(`${name}-1`, name, { claim: claimOf(name) }));
      expect(
        await store().reserve(request(`${name}-2`, name, { claim: claimOf(name), at: 99_000 })),
      ).toMatchObject({ status: 'claimed' });
    });

    it('are done without an outcome where a call was recovered as owed, and free where it was not', async () => {
      const name = await account(100n);
      const other = await opened().another();
      await other.reserve(request(`${name}-1`, name, { claim: claimOf(`${name}-sent`) }));
      await other.reserve(request(`${name}-2`, name, { claim: claimOf(`${name}-unsent`) }));
      await other.beat({
        lease: 1,
        progress: [progress(`${name}-1`, 4n), progress(`${name}-2`, 0n, { sent: false })],
      });
      await store().recover({
        owner: other.owner,
        beat: (await store().owners()).find(({ owner }) => owner === other.owner)?.beat ?? 0,
        limit: 10,
        at: 5000,
      });
      expect(await found(`${name}-sent`)).toMatchObject({ state: 'done', outcome: undefined });
      expect(await found(`${name}-unsent`)).toBeUndefined();
      await other.close();
    });

    it('are swept away once their time is over, and not before, nor while they run', async () => {
      const name = await account(100n);
      for (const word of ['old', 'new', 'running']) {
        await store().reserve(
          request(`${name}-${word}`, name, {
            claim: claimOf(`${name}-${word}`, { expires: word === 'new' ? 9000 : -5 }),
            at: -10,
          }),
        );
        if (word !== 'running') await store().settle(settlement(`${name}-${word}`, 1n, { outcome }));
      }
      expect(await store().sweep({ at: 0, limit: 10 })).toBe(1);
      expect(
        [await found(`${name}-old`, -6), await found(`${name}-new`), await found(`${name}-running`)].map(
          (record) => record?.state,
        ),
      ).toEqual([undefined, 'done', 'running']);
    });
  });
}

function testAccounts({ account, store }: Bench): void {
  const credit = (to: string, amount: Nano, reference?: string) =>
    store().credit({ account: to, amount, kind: 'gift-card', reference, at: 1 });

  describe('accounts and credit', () => {
    it('makes an account once', async () => {
      const name = await account(0n);
      expect(await store().createAccount({ name, at: 2 })).toBe(false);
      expect(await store().balance(name)).toEqual({ total: 0n, used: 0n, pending: 0n });
    });

    it('has no balance for an account nobody made', async () => {
      expect(await store().balance('nobody')).toBeUndefined();
    });

    it('lists accounts by name, a page at a time', async () => {
      for (const name of ['list-c', 'list-a', 'list-b']) await store().createAccount({ name, at: 3 });
      await credit('list-b', 5n);
      expect(await store().listAccounts({ after: 'list-', limit: 2 })).toEqual([
        { name: 'list-a', created: 3, total: 0n, used: 0n, pending: 0n },
        { name: 'list-b', created: 3, total: 5n, used: 0n, pending: 0n },
      ]);
      expect((await store().listAccounts({ after: 'list-b', limit: 1 })).map(({ name }) => name)).toEqual([
        'list-c',
      ]);
    });

    it('adds credit to the total, each time it has no reference', async () => {
      const name = await account(0n);
      expect([await credit(name, 5n), await credit(name, 5n)]).toEqual(['credited', 'credited']);
      expect((await store().balance(name))?.total).toBe(10n);
    });

    it('adds credit with a reference once', async () => {
      const name = await account(0n);
      expect(await Promise.all([credit(name, 5n, `${name}-r`), credit(name, 5n, `${name}-r`)])).toEqual([
        'credited',
        'already_credited',
      ]);
      expect((await store().balance(name))?.total).toBe(5n);
    });

    it('refuses a credit beyond what an account can hold, and goes on', async () => {
      const name = await account(0n);
      const large = 10n ** 18n;
      const answers = [];
      for (let count = 0; count < 10; count += 1) answers.push(await credit(name, large));
      expect(answers).toEqual([...Array.from({ length: 9 }, () => 'credited'), 'too_much']);
      expect([await credit(name, 1n), (await store().balance(name))?.total]).toEqual([
        'credited',
        9n * large + 1n,
      ]);
    });

    it('refuses a reference that stands for another amount or account', async () => {
      const [name, other] = [await account(0n), await account(0n)];
      await credit(name, 5n, `${name}-r`);
      expect([await credit(name, 6n, `${name}-r`), await credit(other, 5n, `${name}-r`)]).toEqual([
        'reference_taken',
        'reference_taken',
      ]);
      expect((await store().balance(other))?.total).toBe(0n);
    });

    it('credits no account that is not there, and nothing that is no credit', async () => {
      expect(await credit('nobody', 5n, 'for-nobody')).toBe('not_found');
      await expect(credit(await account(0n), 0n)).rejects.toThrow('above zero');
    });
  });
}

function testKeys({ account, store }: Bench): void {
  describe('keys', () => {
    it('finds a key by its whole hash, with all it may do', async () => {
      const name = await account(0n);
      const key = newKey('a1b2c3d4e5f60718', name, {
        name: 'laptop',
        spendCap: 2n ** 60n,
        models: ['house/model'],
        expires: 99,
        callsPerMinute: 5,
      });
      expect(await store().createKey(key)).toBe(true);
      expect(await store().hasKeys()).toBe(true);
      const { at, ...rest } = key;
      expect(await store().findKey(key.hash)).toEqual({
        ...rest,
        disabled: false,
        created: at,
        used: 0n,
        pending: 0n,
        rotatedTo: undefined,
      });
      expect(await store().findKey(`${key.hash.slice(0, -1)}1`)).toBeUndefined();
      expect(await store().findKey('b'.repeat(64))).toBeUndefined();
    });

    it('makes operator keys, which have no account, and no user key for an account that is not there', async () => {
      expect(await store().createKey(newKey('00000000000000a0', undefined))).toBe(true);
      expect(await store().findKey(newKey('00000000000000a0', undefined).hash)).toMatchObject({
        kind: 'operator',
        account: undefined,
      });
      expect(await store().createKey(newKey('00000000000000a1', 'nobody'))).toBe(false);
    });

    it('lists keys by id, of one account, or by id or last four', async () => {
      const name = await account(0n);
      for (const id of ['00000000000000b2', '00000000000000b1', '00000000000000b3'])
        await store().createKey(newKey(id, name));
      const ids = async (...query: Parameters<Store['listKeys']>) =>
        (await store().listKeys(...query)).map(({ id }) => id);
      expect(await ids({ account: name, limit: 2 })).toEqual(['00000000000000b1', '00000000000000b2']);
      expect(await ids({ account: name, after: '00000000000000b2', limit: 2 })).toEqual(['00000000000000b3']);
      expect(await ids({ wanted: '00b3', limit: 9 })).toEqual(['00000000000000b3']);
      expect(await ids({ wanted: '00000000000000b1', limit: 9 })).toEqual(['00000000000000b1']);
      expect(await ids({ after: '00000000000000b1', limit: 1 })).toEqual(['00000000000000b2']);
    });

    it('changes what is named and nothing else, and takes limits away by null', async () => {
      const name = await account(0n);
      const key = newKey('00000000000000c1', name, { spendCap: 5n, models: ['a/b'], callsPerMinute: 1 });
      await store().createKey(key);
      expect(
        await store().changeKey({ id: key.id, changes: { disabled: true, spendCap: null, expires: 7 } }),
      ).toBe(true);
      expect(await store().findKey(key.hash)).toMatchObject({
        disabled: true,
        spendCap: undefined,
        expires: 7,
        models: ['a/b'],
        callsPerMinute: 1,
      });
      expect(await store().changeKey({ id: key.id, changes: {} })).toBe(true);
      expect(await store().changeKey({ id: 'nobodys', changes: { name: 'x' } })).toBe(false);
    });

    it('holds the cap of a key against all its calls, pending ones too', async () => {
      const name = await account(1000n);
      const { id: key, hash } = newKey('00000000000000d1', name);
      await store().createKey(newKey(key, name, { spendCap: 100n }));
      const ask = (call: string, ...quotes: Quote[]) =>
        store().reserve(request(`${name}-${call}`, name, { key, quotes }));
      expect(await ask('1', quote(60n))).toMatchObject({ status: 'reserved', amount: 60n });
      expect(await ask('2', quote(41n))).toEqual({ status: 'short', by: 'cap', available: 40n });
      expect(await ask('3', quote(10n, 500n))).toMatchObject({ status: 'reserved', amount: 40n });
      await store().settle(settlement(`${name}-1`, 20n));
      await store().settle(settlement(`${name}-3`, undefined));
      expect(await store().findKey(hash)).toMatchObject({ used: 20n, pending: 0n });
      expect(
        (await Promise.all([ask('4', quote(80n)), ask('5', quote(80n))])).map(({ status }) => status),
      ).toEqual(['reserved', 'short']);
      await store().changeKey({ id: key, changes: { spendCap: null } });
      expect(await ask('6', quote(500n))).toMatchObject({ status: 'reserved' });
    });

    it('rotates a key: the new one has its limits and its spending, the old one works until its time', async () => {
      const name = await account(1000n);
      const [old, next, third] = ['e1', 'e2', 'e3'].map((end) =>
        newKey(`00000000000000${end}`, name, { name: 'laptop', spendCap: 100n }),
      );
      if (!old || !next || !third) throw new Error('three keys');
      await store().createKey(old);
      await store().reserve(request(`${name}-1`, name, { key: old.id, quotes: [quote(30n)] }));
      expect(await store().rotateKey({ id: old.id, until: 5000, key: next })).toBe(true);
      expect(await store().rotateKey({ id: old.id, until: 5000, key: third })).toBe(false);
      await store().settle(settlement(`${name}-1`, 25n));
      await store().reserve(request(`${name}-2`, name, { key: next.id, quotes: [quote(70n)] }));
      expect(await store().findKey(old.hash)).toMatchObject({
        expires: 5000,
        rotatedTo: next.id,
        used: 25n,
        pending: 70n,
      });
      expect(await store().findKey(next.hash)).toMatchObject({
        name: 'laptop',
        account: name,
        spendCap: 100n,
        expires: undefined,
        used: 25n,
        pending: 70n,
      });
      expect(await store().reserve(request(`${name}-3`, name, { key: old.id }))).toEqual({
        status: 'short',
        by: 'cap',
        available: 5n,
      });
      expect(await store().rotateKey({ id: next.id, until: 5000, key: third })).toBe(true);
      expect(await store().findKey(third.hash)).toMatchObject({ used: 25n, pending: 70n });
    });
  });
}
