/** What a store answers when a call needs more than it reserved, before an attempt at a dearer target. */
import { expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { ExtendRequest } from '../../plugins/meters/balance/store.ts';
import { progress, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';
import { createBudget, newBudget, noon } from './made-budgets.ts';

const dearer = { model: 'house/dear', provider: 'dear-house' };

function extension(id: string, account: string, more: Partial<ExtendRequest> = {}): ExtendRequest {
  return { id, account, key: 'key-1', quote: { ...quote(60n), ...dearer }, attempts: 1, at: 1500, ...more };
}

export function testExtensions({ account, reserve, entriesOf, opened, store }: Bench): void {
  const findPending = async (name: string) => store().listPending({ account: name, limit: 9 });

  it('an extension replaces it by a larger one, whose end is the only one of the call', async () => {
    const name = await account(100n);
    const id = `${name}-1`;
    await reserve(id, name, quote(10n));
    expect(await store().extend(extension(id, name))).toEqual({ status: 'extended', amount: 60n });
    expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 60n });
    expect(await findPending(name)).toMatchObject([{ call: id, amount: 60n, created: 1000, sent: false }]);
    expect(await store().settle(settlement(id, 45n, dearer))).toEqual({
      status: 'posted',
      posted: 45n,
      overage: 0n,
    });
    expect(await store().settle(settlement(id, 45n))).toEqual({ status: 'already_posted' });
    expect(await store().readBalance(name)).toEqual({ total: 100n, used: 45n, pending: 0n });
    const [, made, voided, again, post] = await entriesOf(name);
    expect(made).toMatchObject({ kind: 'reserve', call: id, available: -10n, reserved: 10n });
    expect(voided).toMatchObject({ kind: 'void', call: id, reason: 'extended', reserved: -10n });
    expect(again).toMatchObject({ kind: 'reserve', call: id, available: -60n, reserved: 60n });
    expect(post).toMatchObject({ kind: 'post', call: id, reserved: -60n, revenue: 45n });
    const listed = await store().listEntries({ call: id, limit: 9 });
    expect(listed.map(({ kind, model }) => [kind, model])).toEqual([
      ['reserve', 'house/model'],
      ['void', undefined],
      ['reserve', 'house/dear'],
      ['post', 'house/dear'],
    ]);
  });

  it('an extension stays within every budget, and a refused one warns of no refused call', async () => {
    const name = await account(1000n);
    const id = await createBudget(store(), newBudget(name, 80n));
    const tagged = await createBudget(store(), newBudget(`${name}-tag`, 70n, { scope: 'tag' }));
    const tags = [`${name}-tag`];
    await store().reserve(request(`${name}-1`, name, { tags, at: noon }));
    const extend = (cost: Nano, attempts: number) =>
      store().extend(extension(`${name}-1`, name, { tags, quote: quote(cost), attempts, at: noon }));
    const refused = { status: 'short', by: 'budget', available: 70n, budget: { id: tagged } };
    expect(await extend(71n, 1)).toMatchObject(refused);
    expect(await store().listWarnings({ budget: tagged, limit: 9 })).toEqual([]);
    expect(await extend(70n, 2)).toEqual({ status: 'extended', amount: 70n });
    const readSums = async (budget: number) =>
      (await store().listBudgets({ id: budget, limit: 1, at: noon })).map(({ used, pending }) => [
        used,
        pending,
      ]);
    expect([await readSums(id), await readSums(tagged)]).toEqual([[[0n, 70n]], [[0n, 70n]]]);
    await store().settle(settlement(`${name}-1`, 30n));
    expect([await readSums(id), await readSums(tagged)]).toEqual([[[30n, 0n]], [[30n, 0n]]]);
  });

  it('one of two extensions gets what only one can have, in one turn and from two stores', async () => {
    for (const other of [store(), await opened().another()]) {
      const name = await account(100n);
      const ids = [`${name}-1`, `${name}-2`];
      for (const id of ids) await reserve(id, name, quote(10n));
      const answers = await Promise.all(
        [store(), other].map((each, index) => each.extend(extension(ids[index] ?? '', name))),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual(['extended', 'short']);
      expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 70n });
      if (other !== store()) await other.close();
    }
  });

  it('an extension is recovered by its own estimate until a beat says more', async () => {
    const name = await account(1000n);
    const other = await opened().another();
    const [quiet, beating] = [`${name}-quiet`, `${name}-beating`];
    for (const id of [quiet, beating]) {
      await other.reserve(request(id, name));
      await other.beat({ lease: 1, progress: [progress(id, 3n)] });
      await other.extend(extension(id, name, { quote: { ...quote(40n, 60n), ...dearer } }));
    }
    await other.beat({ lease: 1, progress: [progress(beating, 55n, { ...dearer, attempts: 2 })] });
    const beat = (await store().listOwners()).find((each) => each.owner === other.owner)?.beat ?? -1;
    const recovered = await store().recover({ owner: other.owner, beat, limit: 9, at: 5000 });
    expect(recovered.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      { id: beating, status: 'posted', amount: 55n },
      { id: quiet, status: 'posted', amount: 40n },
    ]);
    expect(await store().readBalance(name)).toEqual({ total: 1000n, used: 95n, pending: 0n });
    const [presumed] = (await store().listEntries({ call: quiet, limit: 9 })).slice(-1);
    expect(presumed).toMatchObject({ ...dearer, kind: 'post', reason: 'presumed_sent', input: 40 });
    // What its owner knows better still becomes an adjustment, of the last reservation.
    expect(await other.settle(settlement(quiet, 44n))).toEqual({ status: 'adjusted', by: 4n });
    await other.close();
  });

  it('an extension expires as a whole, as old as its call', async () => {
    const name = await account(100n);
    await store().reserve(request(`${name}-1`, name, { at: -9_000_000 }));
    await store().extend(extension(`${name}-1`, name, { at: 1500 }));
    expect(await store().expire({ before: -8_999_999, limit: 9, at: 2000 })).toEqual([`${name}-1`]);
    expect(await store().readBalance(name)).toEqual({ total: 100n, used: 0n, pending: 0n });
  });
}
