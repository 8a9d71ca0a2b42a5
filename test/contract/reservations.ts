/** What a store answers when calls reserve and settle. */
import { describe, expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Settled } from '../../plugins/meters/balance/store.ts';
import { quote, settlement } from '../balance/calls.ts';
import type { Bench } from './bench.ts';

const reserved = (amount: Nano, quoted = 0) => ({ status: 'reserved', quote: quoted, amount });
const posted = (amount: Nano, overage = 0n) => ({ status: 'posted', posted: amount, overage });
const short = (available: Nano) => ({ status: 'short', by: 'balance', available });

export function testReservations({ account, reserve, store }: Bench): void {
  describe('reserving', () => {
    it('holds the most a call can cost, out of what is available and not out of the balance', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(10n, 60n))).toEqual(reserved(60n));
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 60n });
    });

    it('holds all that is available if that is less than the most and enough for the least', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(60n));
      expect(await reserve(`${name}-2`, name, quote(40n, 500n))).toEqual(reserved(40n));
    });

    it('refuses one nano above what is available, and leaves nothing behind', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(101n))).toEqual(short(100n));
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 0n });
      expect(await reserve(`${name}-1`, name, quote(100n))).toEqual(reserved(100n));
    });

    it('takes the first quote that fits, in the order given', async () => {
      const name = await account(100n);
      expect(await reserve(`${name}-1`, name, quote(200n, 300n), quote(90n, 95n), quote(1n, 2n))).toEqual(
        reserved(95n, 1),
      );
    });

    it('lets what is free pass on an empty and on an overdrawn account', async () => {
      const name = await account(0n);
      expect(await reserve(`${name}-1`, name, quote(0n))).toEqual(reserved(0n));
      expect(await store().settle(settlement(`${name}-1`, 7n))).toEqual(posted(0n, 7n));
      expect(await reserve(`${name}-2`, name, quote(0n))).toEqual(reserved(0n));
      expect(await reserve(`${name}-3`, name, quote(1n))).toEqual(short(-7n));
    });

    it('refuses an unknown account', async () => {
      expect(await reserve('unknown-1', 'unknown', quote(0n))).toEqual(short(0n));
    });

    it('lets one of 200 simultaneous calls reserve the last of a balance', async () => {
      const name = await account(100n);
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => reserve(`${name}-${index}`, name, quote(100n))),
      );
      expect(answers.filter(({ status }) => status === 'reserved')).toEqual([reserved(100n)]);
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 100n });
    });

    it('never holds one id twice, and does not take the rest of the turn with it', async () => {
      const name = await account(100n);
      const ids = [`${name}-1`, `${name}-1`, `${name}-2`];
      const answers = await Promise.allSettled(ids.map((id) => reserve(id, name, quote(10n))));
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 20n });
    });
  });
}

export function testSettling({ account, reserve, entriesOf, store }: Bench): void {
  describe('settling', () => {
    it('posts what is owed and gives the rest back', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await store().settle(settlement(`${name}-1`, 30n))).toEqual(posted(30n));
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 30n, pending: 0n });
    });

    it('voids with the reason, and gives everything back', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await store().settle(settlement(`${name}-1`, undefined, { reason: 'client_gone' }))).toEqual({
        status: 'voided',
      });
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 0n });
      expect((await entriesOf(name)).at(-1)).toMatchObject({
        kind: 'void',
        call: `${name}-1`,
        reason: 'client_gone',
      });
    });

    it('posts at most what was reserved, and what is owed above it as overage of its own', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      expect(await store().settle(settlement(`${name}-1`, 110n))).toEqual(posted(80n, 30n));
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 110n, pending: 0n });
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
      const [balance, entries] = [await store().readBalance(name), await entriesOf(name)];
      expect(await store().settle(settlement(`${name}-1`, 50n))).toEqual({ status });
      expect(await store().settle(settlement(`${name}-1`, undefined))).toEqual({ status });
      expect([await store().readBalance(name), await entriesOf(name)]).toEqual([balance, entries]);
    });

    it('settles once if two ask in one turn', async () => {
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

    it('refuses to owe less than nothing, and leaves the reservation unchanged', async () => {
      const name = await account(100n);
      await reserve(`${name}-1`, name, quote(80n));
      await expect(store().settle(settlement(`${name}-1`, -1n))).rejects.toThrow('below zero');
      expect(await store().readBalance(name)).toMatchObject({ pending: 80n });
    });
  });
}
