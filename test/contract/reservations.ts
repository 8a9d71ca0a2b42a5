/** What a store answers when calls reserve and settle. */
import { expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import { quote, settlement } from '../balance/calls.ts';
import type { Bench } from './bench.ts';

const reserved = (amount: Nano, quoted = 0) => ({ status: 'reserved', quote: quoted, amount });
const posted = (amount: Nano, overage = 0n) => ({ status: 'posted', posted: amount, overage });
const short = (available: Nano) => ({ status: 'short', by: 'balance', available });

export function testReservations({ account, reserve, store }: Bench): void {
  it('a store refuses an unknown account', async () => {
    expect(await reserve('unknown-1', 'unknown', quote(0n))).toEqual(short(0n));
  });

  it('a store lets one of 200 simultaneous calls reserve the last of a balance', async () => {
    const name = await account(100n);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => reserve(`${name}-${index}`, name, quote(100n))),
    );
    expect(answers.filter(({ status }) => status === 'reserved')).toEqual([reserved(100n)]);
    expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 100n });
  });

  it('a store never holds one id twice, and does not take the rest of the turn with it', async () => {
    const name = await account(100n);
    const ids = [`${name}-1`, `${name}-1`, `${name}-2`];
    const answers = await Promise.allSettled(ids.map((id) => reserve(id, name, quote(10n))));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 20n });
  });
}

export function testSettling({ account, reserve, entriesOf, store }: Bench): void {
  it('a settlement voids with the reason, and gives everything back', async () => {
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

  it('a settlement posts at most what was reserved, and an overage for what is owed above it', async () => {
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

  it('a settlement knows no reservation that was never made', async () => {
    expect(await store().settle(settlement('never-made', 1n))).toEqual({ status: 'not_found' });
  });

  it('a settlement refuses to owe less than nothing, and leaves the reservation unchanged', async () => {
    const name = await account(100n);
    await reserve(`${name}-1`, name, quote(80n));
    await expect(store().settle(settlement(`${name}-1`, -1n))).rejects.toThrow('below zero');
    expect(await store().readBalance(name)).toMatchObject({ pending: 80n });
  });
}
