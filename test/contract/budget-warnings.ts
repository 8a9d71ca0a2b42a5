/** What budgets of a tree of accounts do together, and when they warn. */
import { expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Reserved } from '../../plugins/meters/balance/store.ts';
import { settlement } from '../balance/calls.ts';
import type { Bench } from './bench.ts';
import { createBudget, hour, newBudget, noon } from './made-budgets.ts';

export function testTeams({ account, store }: Pick<Bench, 'account' | 'store'>): void {
  it('a tree of accounts has no cycles, and at most eight levels', async () => {
    const names: string[] = [];
    for (let level = 0; level < 9; level += 1) names.push(await account(0n));
    const [top = '', ...rest] = names;
    expect(await store().moveAccount({ account: top, parent: top })).toBe('cycle');
    for (const [index, name] of rest.entries())
      expect(await store().moveAccount({ account: name, parent: names[index] })).toBe(
        index < 7 ? 'moved' : 'deep',
      );
    expect(await store().moveAccount({ account: top, parent: rest[3] })).toBe('cycle');
    expect(await store().moveAccount({ account: top, parent: rest[7] })).toBe('deep');
    expect(await store().moveAccount({ account: top, parent: 'unknown' })).toBe('no_parent');
    expect(await store().moveAccount({ account: 'unknown', parent: top })).toBe('not_found');
    const lines = new Map(
      (await store().listAccounts({ limit: 1000 })).map(({ name, line }) => [name, line]),
    );
    expect(lines.get(rest[2] ?? '')).toEqual([rest[1], rest[0], top]);
  });
}

interface Warned extends Pick<Bench, 'account' | 'store'> {
  call(
    name: string,
    cost: Nano,
    asked?: { readonly at?: number },
  ): Promise<Reserved> & { readonly id: string };
}

export function testWarnings({ account, store, call }: Warned): void {
  async function listWarnings(budget: number) {
    const found = await store().listWarnings({ budget, limit: 100 });
    return found.map(({ event, threshold, used, allowed }) => [event, threshold, used, allowed]);
  }

  async function spend(name: string, cost: Nano, at = noon): Promise<void> {
    const reserved = call(name, cost, { at });
    await reserved;
    await store().settle(settlement(reserved.id, cost, { at }));
  }

  it('a warning is given once a period for each threshold reached, and for the first refusal', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 100n, { thresholds: [50, 80, 100] }));
    await spend(name, 49n);
    expect(await listWarnings(id)).toEqual([]);
    await spend(name, 1n);
    await spend(name, 5n);
    await spend(name, 45n);
    await call(name, 1n);
    await call(name, 1n);
    await spend(name, 60n, noon + 24 * hour);
    expect(await listWarnings(id)).toEqual([
      ['threshold', 50, 50n, 100n],
      ['threshold', 100, 100n, 100n],
      ['exhausted', 100, 100n, 100n],
      ['threshold', 50, 60n, 100n],
    ]);
  });

  it('warnings are listed from the newest on if that is asked for, a page after another', async () => {
    const name = await account(10_000n);
    const budget = await createBudget(store(), newBudget(name, 100n, { thresholds: [20, 50, 80] }));
    for (const cost of [20n, 30n, 30n]) await spend(name, cost);
    const [first, second] = await store().listWarnings({ budget, order: 'newest', limit: 2 });
    expect([first?.threshold, second?.threshold]).toEqual([80, 50]);
    const rest = await store().listWarnings({ budget, order: 'newest', after: second?.id, limit: 2 });
    expect(rest.map(({ threshold }) => threshold)).toEqual([20]);
  });

  it('a warning is repeated for a threshold that a raise put out of reach', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 100n, { thresholds: [80] }));
    await spend(name, 90n);
    await store().raiseBudget({ id, amount: 100n, until: noon + hour, at: noon });
    await spend(name, 10n);
    await spend(name, 60n);
    expect(await listWarnings(id)).toEqual([
      ['threshold', 80, 90n, 100n],
      ['threshold', 80, 160n, 200n],
    ]);
  });

  it('a warning is taken by one process at a time, again after a timeout, and not once ended', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 10n, { thresholds: [100] }));
    const take = async (at: number) =>
      (await store().takeWarnings({ at, until: at + hour, limit: 1000 })).filter(
        ({ budget }) => budget === id,
      );
    await spend(name, 10n);
    expect(await store().hasDueWarnings({ at: noon })).toBe(true);
    const [first] = await take(noon);
    expect(first).toMatchObject({ event: 'threshold', subject: name, per: 'day', attempts: 1 });
    expect(await take(noon + 1)).toEqual([]);
    expect(await take(noon + hour)).toMatchObject([{ id: first?.id, attempts: 2 }]);
    await store().endWarning({ id: first?.id ?? 0 });
    expect(await take(noon + 9 * hour)).toEqual([]);
    expect(await listWarnings(id)).toHaveLength(1);
    await take(noon + 91 * 24 * hour);
    expect(await listWarnings(id)).toEqual([]);
  });
}
