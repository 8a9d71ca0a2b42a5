/** What becomes of the calls of a process that stops sending heartbeats. */
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { price, progress, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';

export function testLeases({ account, reserve, entriesOf, opened, store }: Bench): void {
  const findBeat = async (owner: string): Promise<number> =>
    (await store().listOwners()).find((each) => each.owner === owner)?.beat ?? -1;
  const recover = async (owner: string, limit = 100) =>
    store().recover({ owner, beat: await findBeat(owner), limit, at: 5000 });

  it('a store lists owners with pending reservations, and a larger number after each beat', async () => {
    const name = await account(100n);
    await reserve(`${name}-1`, name, quote(10n));
    const { owner } = store();
    const before = await findBeat(owner);
    await store().beat({ lease: 4000, progress: [] });
    expect((await store().listOwners()).find((each) => each.owner === owner)).toMatchObject({
      lease: 4000,
      pending: expect.any(Number),
    });
    const first = await findBeat(owner);
    expect(first).toBeGreaterThan(before);
    await store().beat({ lease: 4000, progress: [] });
    expect(await findBeat(owner)).toBe(first + 1);
  });

  it("a store recovers a dead owner's calls by their progress, once, and flags them", async () => {
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
    expect(await store().readBalance(name)).toEqual({ total: 1000n, used: 180n, pending: 0n });
    const ends = (await entriesOf(name)).filter(({ kind }) => kind === 'post' || kind === 'void');
    expect(ends.map(({ call, reason, flags }) => [call, reason, flags]).toSorted()).toEqual([
      [dear, 'recovered', 'recovered'],
      [sent, 'recovered', 'recovered'],
      [unsent, 'never_sent', 'recovered'],
      [untold, 'presumed_sent', 'recovered'],
    ]);
    const [, presumed] = await store().listEntries({ call: untold, limit: 9 });
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
    expect((await store().listOwners()).map(({ owner }) => owner)).not.toContain(other.owner);
    await other.close();
  });

  it('a store recovers nothing of an owner that has beaten since', async () => {
    const name = await account(100n);
    const other = await opened().another();
    await other.reserve(request(`${name}-1`, name));
    const seen = await findBeat(other.owner);
    await other.beat({ lease: 1, progress: [] });
    expect(await store().recover({ owner: other.owner, beat: seen, limit: 10, at: 5000 })).toEqual([]);
    expect(await other.settle(settlement(`${name}-1`, 4n))).toMatchObject({ status: 'posted' });
    await other.close();
  });

  it('a store never repeats a beat, even if its owner was forgotten meanwhile', async () => {
    const other = await opened().another();
    await other.beat({ lease: 1, progress: [] });
    const before = await findBeat(other.owner);
    expect(await recover(other.owner)).toEqual([]);
    expect(await findBeat(other.owner)).toBe(-1);
    // The first beat is the time in milliseconds, and an owner is forgotten only after its lease.
    await setTimeout(5);
    await other.beat({ lease: 1, progress: [] });
    expect(await findBeat(other.owner)).toBeGreaterThan(before);
    await other.close();
  });

  it('a store recovers a long list in parts', async () => {
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

  it("a store adjusts a recovered call by its owner's own figures, up or down, once", async () => {
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
    expect(await store().readBalance(name)).toEqual({ total: 1000n, used: 90n, pending: 0n });
    expect(
      (await entriesOf(name)).filter(({ kind }) => kind === 'adjustment').map(({ flags }) => flags),
    ).toEqual(['late', 'late', 'late']);
    await other.close();
  });

  it('a store expires old reservations of any owner, and books a late end as an adjustment', async () => {
    const name = await account(100n);
    await store().reserve(request(`${name}-old`, name, { at: -10 }));
    await store().reserve(request(`${name}-new`, name, { at: 0 }));
    expect(await store().expire({ before: 0, limit: 10, at: 9 })).toEqual([`${name}-old`]);
    expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 10n });
    expect(await store().settle(settlement(`${name}-old`, 4n))).toEqual({ status: 'adjusted', by: 4n });
    expect(await store().settle(settlement(`${name}-new`, 4n))).toMatchObject({ status: 'posted' });
  });
}
