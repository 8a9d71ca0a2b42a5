/** Budgets: what calls may cost in each period, in every store. */
import { expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Reserved, Store } from '../../plugins/meters/balance/store.ts';
import { newKey, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';
import { testTeams, testWarnings } from './budget-warnings.ts';
import { createBudget, hour, newBudget, noon } from './made-budgets.ts';

let made = 0;

export function testBudgets({ account, opened, store }: Bench): void {
  let calls = 0;

  /** Asks for a call of this cost. */
  function call(
    name: string,
    cost: Nano,
    { at = noon, key = 'no-key', tags = [], most = cost, through = store() }: Asked = {},
  ): Promise<Reserved> & { readonly id: string } {
    calls += 1;
    const id = `budgeted-${calls}`;
    const reply = through.reserve(request(id, name, { key, tags, at, quotes: [quote(cost, most)] }));
    return Object.assign(reply, { id });
  }

  interface Asked {
    readonly at?: number;
    readonly key?: string;
    readonly tags?: readonly string[];
    readonly most?: Nano;
    readonly through?: Store;
  }

  /** What is used and reserved in the current period. */
  async function readSums(id: number, at = noon) {
    const [budget] = await store().listBudgets({ id, limit: 1, at });
    return budget && { used: budget.used, pending: budget.pending };
  }

  it('a budget refuses the call that exceeds it, and says which budget does and when it resets', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 100n));
    expect(await call(name, 70n)).toMatchObject({ status: 'reserved', amount: 70n });
    expect(await call(name, 31n)).toEqual({
      status: 'short',
      by: 'budget',
      available: 30n,
      budget: {
        id,
        scope: 'account',
        subject: name,
        per: 'day',
        zone: 'UTC',
        allowed: 100n,
        resets: Date.parse('2026-11-23T00:00:00Z'),
      },
    });
    expect(await call(name, 30n)).toMatchObject({ status: 'reserved' });
  });

  it('a budget counts a call in the period of its reservation, also if it ends in the next', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 100n));
    const midnight = Date.parse('2026-11-23T00:00:00Z');
    const first = call(name, 80n, { at: midnight - 1 });
    await first;
    expect(await call(name, 100n, { at: midnight })).toMatchObject({ status: 'reserved' });
    await store().settle(settlement(first.id, 90n, { at: midnight + 5 }));
    expect(await readSums(id)).toEqual({ used: 90n, pending: 0n });
    expect(await readSums(id, midnight)).toEqual({ used: 0n, pending: 100n });
  });

  it.each([
    ['summer time starts', '2026-03-29T21:59:59.999Z', '2026-03-28T23:00:00Z'],
    ['summer time ends', '2026-10-25T22:59:59.999Z', '2026-10-24T22:00:00Z'],
  ])('a budget resets at midnight in its zone on the day on which %s', async (_, last, first) => {
    const name = await account(10_000n);
    await createBudget(store(), newBudget(name, 100n, { zone: 'Europe/Berlin' }));
    const [from, to] = [Date.parse(first), Date.parse(last)];
    const tryCall = async (at: number): Promise<string> => (await call(name, 100n, { at })).status;
    expect([await tryCall(from - 1), await tryCall(from), await tryCall(to), await tryCall(to + 1)]).toEqual([
      'reserved',
      'reserved',
      'short',
      'reserved',
    ]);
  });

  it('a budget holds beside others of the same account: the tightest of them decides', async () => {
    const name = await account(10_000n);
    await createBudget(store(), newBudget(name, 50n, { per: 'hour' }));
    await createBudget(store(), newBudget(name, 120n));
    const month = await createBudget(store(), newBudget(name, 1000n, { per: 'month' }));
    await createBudget(store(), newBudget(name, 140n, { per: 'total' }));
    expect(await call(name, 51n)).toMatchObject({ budget: { per: 'hour' }, available: 50n });
    await call(name, 50n);
    await call(name, 50n, { at: noon + hour });
    expect(await call(name, 50n, { at: noon + 2 * hour })).toMatchObject({
      budget: { per: 'day' },
      available: 20n,
    });
    expect(await call(name, 50n, { at: noon + 24 * hour })).toMatchObject({
      budget: { per: 'total', resets: undefined },
      available: 40n,
    });
    expect(await readSums(month)).toEqual({ used: 0n, pending: 100n });
  });

  it('a budget is told to a call that asks for the tightest, as it was before the call', async () => {
    const name = await account(10_000n);
    await createBudget(store(), newBudget(name, 500n, { per: 'month' }));
    await createBudget(store(), newBudget(name, 10n, { per: 'hour', hard: false }));
    const id = await createBudget(store(), newBudget(name, 100n));
    expect(await call(name, 30n)).toEqual({ status: 'reserved', quote: 0, amount: 30n });
    const asked = { tellsBudget: true, at: noon, quotes: [quote(20n)] };
    expect(await store().reserve(request(`${name}-told`, name, asked))).toMatchObject({
      status: 'reserved',
      amount: 20n,
      tightest: { left: 70n, budget: { id, scope: 'account', allowed: 100n } },
    });
    const other = await account(100n);
    expect(await store().reserve(request(`${other}-told`, other, asked))).not.toHaveProperty('tightest');
  });

  it('a budget of a key counts the calls of that key alone, and of the keys it replaced', async () => {
    const name = await account(10_000n);
    made += 1;
    const [one, other, next] = ['1', '2', '3'].map((last) =>
      newKey(`b0d6e7000000${made.toString().padStart(3, '0')}${last}`, name),
    );
    if (!one || !other || !next) throw new Error('there are three keys');
    await store().createKey(one);
    await store().createKey(other);
    const id = await createBudget(store(), newBudget(one.id, 100n, { scope: 'key' }));
    await call(name, 60n, { key: one.id });
    expect(await call(name, 60n, { key: other.id })).toMatchObject({ status: 'reserved' });
    await store().rotateKey({ id: one.id, until: noon + hour, key: next });
    expect(await call(name, 60n, { key: next.id })).toMatchObject({ status: 'short', available: 40n });
    const query = { scope: 'key', limit: 10, at: noon } as const;
    expect(await store().listBudgets({ ...query, subject: next.id })).toMatchObject([{ id }]);
    expect(await store().listBudgets({ ...query, subject: other.id })).toEqual([]);
  });

  it('a budget of a team counts the calls of its account and of all below it', async () => {
    const [top, middle, low, apart] = [
      await account(10_000n),
      await account(10_000n),
      await account(10_000n),
      await account(10_000n),
    ];
    expect(await store().moveAccount({ account: low, parent: middle })).toBe('moved');
    expect(await store().moveAccount({ account: middle, parent: top })).toBe('moved');
    const id = await createBudget(store(), newBudget(top, 100n, { scope: 'team' }));
    await call(top, 30n);
    await call(middle, 30n);
    await call(low, 30n);
    await call(apart, 30n);
    expect(await call(low, 11n)).toMatchObject({ status: 'short', by: 'budget', available: 10n });
    expect(await store().moveAccount({ account: middle, parent: undefined })).toBe('moved');
    expect(await call(low, 11n)).toMatchObject({ status: 'reserved' });
    expect(await readSums(id)).toEqual({ used: 0n, pending: 90n });
  });

  it('a budget that is soft refuses nothing, and counts', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 10n, { hard: false }));
    expect(await call(name, 500n)).toMatchObject({ status: 'reserved', amount: 500n });
    expect(await readSums(id)).toEqual({ used: 0n, pending: 500n });
  });

  it('a budget can be raised until a moment, changed, and deleted', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 100n));
    await call(name, 100n);
    expect(await store().raiseBudget({ id, amount: 50n, until: noon + hour, at: noon })).toBe(true);
    expect(await call(name, 50n, { at: noon + hour - 1 })).toMatchObject({ status: 'reserved' });
    expect(await call(name, 1n, { at: noon + hour })).toMatchObject({
      available: -50n,
      budget: { allowed: 100n },
    });
    expect(await store().changeBudget({ id, changes: { limit: 160n }, at: noon })).toBe(true);
    expect(await call(name, 11n, { at: noon + hour })).toMatchObject({ available: 10n });
    expect(await store().changeBudget({ id, changes: { hard: false }, at: noon })).toBe(true);
    const last = call(name, 11n, { at: noon + hour });
    expect(await last).toMatchObject({ status: 'reserved' });
    expect(await store().deleteBudget({ id, at: noon })).toBe(true);
    expect(await store().deleteBudget({ id, at: noon })).toBe(false);
    expect(await store().changeBudget({ id, changes: { limit: 1n }, at: noon })).toBe(false);
    // It still counts the end of what it counted the start of.
    await store().settle(settlement(last.id, 7n));
    expect(await readSums(id)).toEqual({ used: 7n, pending: 150n });
    expect(await store().listBudgets({ scope: 'account', subject: name, limit: 9, at: noon })).toEqual([]);
  });

  it('a budget is made once for each subject and period, of what exists', async () => {
    const name = await account(1n);
    const id = await createBudget(store(), newBudget(name, 100n));
    expect(await store().createBudget(newBudget(name, 5n, { zone: 'Asia/Tokyo' }))).toEqual({
      status: 'exists',
      id,
    });
    expect(await store().createBudget(newBudget('unknown', 5n))).toEqual({ status: 'not_found' });
    expect(await store().createBudget(newBudget('no-key', 5n, { scope: 'key' }))).toEqual({
      status: 'not_found',
    });
    await store().deleteBudget({ id, at: noon });
    expect(await store().createBudget(newBudget(name, 5n))).toMatchObject({ status: 'created' });
  });

  it('a budget counts what a recovered call owed, and what its owner corrects later', async () => {
    const name = await account(10_000n);
    const id = await createBudget(store(), newBudget(name, 1000n));
    const dead = await opened().another();
    const left = call(name, 100n, { through: dead });
    await left;
    await store().recover({ owner: dead.owner, beat: 0, limit: 10, at: noon });
    expect(await readSums(id)).toEqual({ used: 100n, pending: 0n });
    await dead.settle(settlement(left.id, 30n));
    expect(await readSums(id)).toEqual({ used: 30n, pending: 0n });
    await dead.close();
  });

  it('a budget affords what it can and no more if two processes ask at the same moment', async () => {
    const [one, two, parent] = [await account(10_000n), await account(10_000n), await account(1n)];
    for (const name of [one, two]) await store().moveAccount({ account: name, parent });
    const id = await createBudget(store(), newBudget(parent, 100n, { scope: 'team', per: 'month' }));
    const other = await opened().another();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        call(index % 4 < 2 ? one : two, 10n, { through: index % 2 === 0 ? store() : other }),
      ),
    );
    expect(answers.filter(({ status }) => status === 'reserved')).toHaveLength(10);
    expect(await readSums(id)).toEqual({ used: 0n, pending: 100n });
    await other.close();
  });

  testTeams({ account, store });
  testWarnings({ account, store, call });
}
