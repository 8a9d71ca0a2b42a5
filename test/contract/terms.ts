/** Accounts that pay later, and allowances: what every store credits, when, and how often. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Allowance, Entry, Reserved, TermsChange } from '../../plugins/meters/balance/store.ts';
import { quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';
import { createBudget, newBudget } from './made-budgets.ts';

let made = 0;

const toTime = (text: string): number => Date.parse(text);

/** What tests of terms ask of a store. */
function createAsker({ account, store }: Bench) {
  const call = (name: string, cost: Nano, at: number, more: { most?: Nano; tags?: string[] } = {}) => {
    made += 1;
    const id = `termed-${made}`;
    const quotes = [quote(cost, more.most ?? cost)];
    const { tags } = more;
    const reply: Promise<Reserved> = store().reserve(request(id, name, { key: 'no-key', at, quotes, tags }));
    return Object.assign(reply, { id });
  };
  return {
    call,
    set: (name: string, changes: TermsChange['changes'], at: number) =>
      store().setTerms({ account: name, changes, at }),
    async open(allowance: Partial<Allowance>, at: number): Promise<string> {
      const name = await account(0n);
      expect(await store().setTerms({ account: name, changes: { allowance }, at })).toBe('changed');
      return name;
    },
    /** Spends money as a call does. */
    async spend(name: string, amount: Nano, at: number): Promise<void> {
      const asked = call(name, 0n, at);
      await asked;
      await store().settle(settlement(asked.id, amount, { at }));
    },
    async readAvailable(name: string): Promise<Nano> {
      const { total = 0n, used = 0n, pending = 0n } = (await store().readBalance(name)) ?? {};
      return total - used - pending;
    },
    listCredits: (name: string): Promise<readonly Entry[]> =>
      store().listEntries({ account: name, kinds: ['credit'], limit: 1000 }),
  };
}

/** The first moments and the amounts of what was credited, and what was taken back. */
const listMoves = (entries: readonly Entry[]): unknown[] =>
  entries.map(({ source, available, period }) => [
    source,
    available,
    period === undefined ? undefined : new Date(period).toISOString(),
  ]);

const noon = toTime('2026-11-22T12:00:00Z');

export function testPostpaid(bench: Bench): void {
  const { account, store } = bench;
  const { call, set, readAvailable } = createAsker(bench);
  const allow = (name: string, at = noon) => set(name, { postpaid: true }, at);

  it('an account pays later only if a hard budget counts it, its own or one of a team above it', async () => {
    const [name, team] = [await account(0n), await account(0n)];
    expect(await allow(name)).toBe('no_budget');
    await createBudget(store(), newBudget(name, 100n, { hard: false }));
    await createBudget(store(), newBudget(team, 100n, { scope: 'account' }));
    await store().moveAccount({ account: name, parent: team });
    // A soft one limits nothing, and one of the account above does not count what is below it.
    expect(await allow(name)).toBe('no_budget');
    await createBudget(store(), newBudget(team, 100n, { scope: 'team' }));
    expect(await allow(name)).toBe('changed');
    expect((await store().listAccounts({ wanted: name, limit: 1 }))[0]?.terms.postpaid).toBe(true);
    expect(await allow('unknown')).toBe('not_found');
  });

  it('an account that pays later spends what its budgets allow, also below zero', async () => {
    const name = await account(10n);
    await createBudget(store(), newBudget(name, 100n));
    await allow(name);
    const first = call(name, 70n, noon);
    expect(await first).toMatchObject({ status: 'reserved', amount: 70n });
    expect(await call(name, 20n, noon, { most: 500n })).toMatchObject({ status: 'reserved', amount: 30n });
    expect(await call(name, 1n, noon)).toMatchObject({ status: 'short', by: 'budget' });
    await store().settle(settlement(first.id, 70n, { at: noon }));
    expect(await store().readBalance(name)).toEqual({ total: 10n, used: 70n, pending: 30n });
    expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
  });

  it('an account that pays later and has lost its last budget is refused what costs money', async () => {
    const name = await account(1000n);
    const id = await createBudget(store(), newBudget(name, 100n));
    await allow(name);
    // All of one turn: the deletion takes effect between two calls.
    const [before, deleted, after] = await Promise.all([
      call(name, 5n, noon),
      store().deleteBudget({ id, at: noon }),
      call(name, 5n, noon),
    ]);
    expect([before.status, deleted, after]).toEqual([
      'reserved',
      true,
      { status: 'short', by: 'postpaid', available: 0n },
    ]);
    expect(await call(name, 0n, noon)).toMatchObject({ status: 'reserved' });
    // A budget that only warns, or is of a key or a tag, is no limit either.
    await createBudget(store(), newBudget(name, 100n, { hard: false, per: 'month' }));
    await createBudget(store(), newBudget(`of ${name}`, 100n, { scope: 'tag' }));
    expect(await call(name, 5n, noon, { tags: [`of ${name}`] })).toMatchObject({ by: 'postpaid' });
    expect(await set(name, { postpaid: false }, noon)).toBe('changed');
    expect(await call(name, 5n, noon)).toMatchObject({ status: 'reserved' });
  });

  it('an account that pays in advance again has to be credited what it owes first', async () => {
    const name = await account(0n);
    await createBudget(store(), newBudget(name, 100n));
    await allow(name);
    const asked = call(name, 40n, noon);
    await asked;
    await store().settle(settlement(asked.id, 40n, { at: noon }));
    await set(name, { postpaid: false }, noon);
    expect(await call(name, 1n, noon)).toMatchObject({ status: 'short', by: 'balance', available: -40n });
    await store().addCredit({ account: name, amount: 41n, kind: 'top-up', at: noon });
    expect([await call(name, 1n, noon), await readAvailable(name)]).toMatchObject([
      { status: 'reserved' },
      0n,
    ]);
    expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
  });
}

export function testAllowances(bench: Bench): void {
  const { store } = bench;
  const { call, set, open, spend, readAvailable, listCredits } = createAsker(bench);
  const credit = (at: number): Promise<number> => store().creditAllowances({ at, limit: 1000 });

  it('an allowance is credited when it is set, and then on the first of the month in its zone', async () => {
    const name = await open({ amount: 100n, zone: 'Asia/Tokyo' }, noon);
    await credit(toTime('2026-11-30T14:59:59.999Z'));
    expect(await readAvailable(name)).toBe(100n);
    expect((await store().listAccounts({ wanted: name, limit: 1 }))[0]?.due).toBe(
      toTime('2026-11-30T15:00:00Z'),
    );
    await credit(toTime('2026-11-30T15:00:00Z'));
    await credit(toTime('2026-11-30T15:00:00Z'));
    expect(listMoves(await listCredits(name))).toEqual([
      ['allowance', 100n, '2026-10-31T15:00:00.000Z'],
      ['allowance', 100n, '2026-11-30T15:00:00.000Z'],
    ]);
    expect((await listCredits(name))[1]?.reason).toBe('for the month from 2026-12-01 (Asia/Tokyo)');
  });

  it('the first call of a month has the money of that month, before anything else credited it', async () => {
    const [name, other] = [
      await open({ amount: 100n }, noon),
      await open({ amount: 100n, mode: 'reset' }, noon),
    ];
    for (const each of [name, other]) {
      expect(await call(each, 100n, noon)).toMatchObject({ status: 'reserved' });
      expect(await call(each, 1n, noon)).toMatchObject({ status: 'short' });
    }
    const first = toTime('2026-12-01T00:00:00Z');
    expect(await call(name, 1n, first - 1)).toMatchObject({ status: 'short', available: 0n });
    const answers = await Promise.all(
      [name, name, other].map((each, index) => call(each, index === 1 ? 1n : 100n, first)),
    );
    expect(answers.map(({ status }) => status)).toEqual(['reserved', 'short', 'reserved']);
    expect(await listCredits(name)).toHaveLength(2);
  });

  it.each([
    ['day', 'Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', 'summer time starts'],
    ['day', 'Europe/Berlin', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', 'summer time ends'],
    ['month', 'Europe/Berlin', '2026-02-28T23:00:00Z', '2026-03-31T22:00:00Z', 'summer time starts'],
    ['month', 'Europe/Berlin', '2026-09-30T22:00:00Z', '2026-10-31T23:00:00Z', 'summer time ends'],
    ['day', 'UTC', '2028-02-29T00:00:00Z', '2028-03-01T00:00:00Z', 'it is 29 February'],
    ['month', 'UTC', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z', '29 February is in it'],
    ['week', 'UTC', '2028-02-28T00:00:00Z', '2028-03-06T00:00:00Z', '29 February is in it'],
  ] as const)('an allowance for the %s in %s from %s to %s is credited once: %s', async (...period) => {
    const [per, zone, from, to] = period;
    const [start, ends] = [toTime(from), toTime(to)];
    const name = await open({ amount: 7n, per, zone }, start - 1);
    for (let at = start; at < ends; at += 1_800_000) await credit(at);
    await credit(ends - 1);
    expect(await listCredits(name)).toHaveLength(2);
    await credit(ends);
    expect((await listCredits(name)).map(({ period: each }) => each).slice(1)).toEqual([start, ends]);
  });

  it('months without a process are not made up for, and a clock that was wrong costs no month', async () => {
    const name = await open({ amount: 5n }, noon);
    await credit(toTime('2027-03-15T00:00:00Z'));
    expect((await listCredits(name)).map(({ period }) => period)).toEqual([
      toTime('2026-11-01T00:00:00Z'),
      toTime('2027-03-01T00:00:00Z'),
    ]);
    await credit(toTime('2050-01-01T00:00:00Z'));
    await credit(toTime('2027-03-20T00:00:00Z'));
    expect(await listCredits(name)).toHaveLength(3);
    await credit(toTime('2027-04-01T00:00:00Z'));
    expect(await listCredits(name)).toHaveLength(4);
  });

  it('a change or an end of an allowance counts from the next period on', async () => {
    const name = await open({ amount: 5n }, noon);
    await set(name, { allowance: { amount: 50n } }, noon);
    await set(name, { allowance: null }, noon);
    expect((await store().listAccounts({ wanted: name, limit: 1 }))[0]?.terms.allowance).toBeUndefined();
    await set(name, { allowance: { amount: 50n, mode: 'reset' } }, noon + 1);
    expect(await readAvailable(name)).toBe(5n);
    await credit(toTime('2026-12-01T00:00:00Z'));
    expect(listMoves(await listCredits(name)).slice(1)).toEqual([
      ['allowance-reset', -5n, '2026-12-01T00:00:00.000Z'],
      ['allowance', 50n, '2026-12-01T00:00:00.000Z'],
    ]);
    await set(name, { allowance: null }, noon);
    await credit(toTime('2027-01-01T00:00:00Z'));
    expect(await readAvailable(name)).toBe(50n);
    expect(await set(name, { allowance: { mode: 'add' } }, noon)).toBe('no_amount');
  });

  it('a closed account is credited nothing, and a disabled one when it opens again', async () => {
    const [closed, disabled] = [await open({ amount: 5n }, noon), await open({ amount: 5n }, noon)];
    await store().setAccountState({ account: closed, state: 'closed' });
    await store().setAccountState({ account: disabled, state: 'disabled' });
    expect(await set(closed, { allowance: { amount: 6n } }, noon)).toBe('closed');
    const later = toTime('2026-12-03T00:00:00Z');
    await credit(later);
    expect([await readAvailable(closed), await readAvailable(disabled)]).toEqual([5n, 5n]);
    await store().setAccountState({ account: disabled, state: 'open' });
    expect(await store().hasDueAllowances({ at: later })).toBe(true);
    await credit(later);
    expect([await readAvailable(closed), await readAvailable(disabled)]).toEqual([5n, 10n]);
    expect(await store().hasDueAllowances({ at: later })).toBe(false);
  });

  it('a reset takes what is left of the last allowance, and never of other credit', async () => {
    const name = await open({ amount: 100n, mode: 'reset' }, noon);
    await store().addCredit({ account: name, amount: 30n, kind: 'top-up', at: noon });
    await spend(name, 60n, noon);
    await credit(toTime('2026-12-01T00:00:00Z'));
    expect(listMoves(await listCredits(name)).slice(2)).toEqual([
      ['allowance-reset', -40n, '2026-12-01T00:00:00.000Z'],
      ['allowance', 100n, '2026-12-01T00:00:00.000Z'],
    ]);
    expect(await readAvailable(name)).toBe(130n);
    await spend(name, 120n, noon);
    await credit(toTime('2027-01-01T00:00:00Z'));
    expect(await readAvailable(name)).toBe(110n);
    await spend(name, 150n, noon);
    await credit(toTime('2027-02-01T00:00:00Z'));
    // It owed 40 of it before.
    expect(await readAvailable(name)).toBe(60n);
    await credit(toTime('2027-03-01T00:00:00Z'));
    expect(await readAvailable(name)).toBe(100n);
  });

  it('a correction takes from the allowance first, so that a reset does not take it again', async () => {
    const name = await open({ amount: 100n, mode: 'reset' }, noon);
    await store().addCredit({ account: name, amount: 50n, kind: 'top-up', at: noon });
    const why = { kind: 'adjustment', reason: 'a slip', author: 'op' } as const;
    await store().addCredit({ account: name, amount: -30n, ...why, at: noon });
    await credit(toTime('2026-12-01T00:00:00Z'));
    expect(await readAvailable(name)).toBe(150n);
    // What was corrected before the last allowance does not count again.
    await credit(toTime('2027-01-01T00:00:00Z'));
    expect(await readAvailable(name)).toBe(150n);
    expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
  });

  it('a reset takes no more than one allowance if calls give back what they reserved before', async () => {
    const name = await open({ amount: 100n, mode: 'reset' }, noon);
    await store().addCredit({ account: name, amount: 50n, kind: 'top-up', at: noon });
    const held = call(name, 0n, noon, { most: 150n });
    await held;
    await credit(toTime('2026-12-01T00:00:00Z'));
    expect(await readAvailable(name)).toBe(100n);
    await store().settle(settlement(held.id, undefined, { at: noon }));
    await credit(toTime('2027-01-01T00:00:00Z'));
    // That of November was reserved when it could have been taken back, so it stays.
    expect(await readAvailable(name)).toBe(250n);
  });

  it('an account that takes the name of an erased one has an allowance of its own', async () => {
    const name = await open({ amount: 5n, mode: 'reset' }, noon);
    expect(await store().audit()).toMatchObject({ ok: true });
    const id = `erased-${name}`;
    expect(await store().beginErasure({ account: name, id, at: noon })).toMatchObject({ status: 'created' });
    for (let [after, isDone] = ['', false]; !isDone;)
      ({ after, isDone } = await store().eraseSome({ id, after, limit: 100, at: noon }));
    await store().endErasure({ id, at: noon });
    expect(await store().createAccount({ name, at: noon })).toBe(true);
    expect(await set(name, { allowance: { amount: 7n } }, noon)).toBe('changed');
    expect(await readAvailable(name)).toBe(7n);
    expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
  });

  it('two processes that credit at the same moment credit once', async () => {
    const names = await Promise.all([1, 2, 3].map(() => open({ amount: 9n }, noon)));
    const other = await bench.opened().another();
    const at = toTime('2026-12-01T00:00:00Z');
    await Promise.all([
      credit(at),
      other.creditAllowances({ at, limit: 1000 }),
      ...names.map((name) => call(name, 1n, at)),
    ]);
    await other.close();
    for (const name of names) expect(await listCredits(name)).toHaveLength(2);
  });
}

const day = 24 * 3_600_000;

/** What happens to an account with an allowance, each some days after the last. */
const step = fc.oneof(
  fc.record({ type: fc.constant('spend' as const), amount: fc.bigInt(1n, 90n) }),
  fc.record({ type: fc.constant('hold' as const), amount: fc.bigInt(1n, 90n) }),
  fc.record({ type: fc.constant('release' as const) }),
  fc.record({ type: fc.constant('credit' as const), amount: fc.bigInt(1n, 90n) }),
  fc.record({ type: fc.constant('correct' as const), amount: fc.bigInt(-90n, -1n) }),
  fc.record({
    type: fc.constant('set' as const),
    allowance: fc.record({
      amount: fc.bigInt(1n, 90n),
      per: fc.constantFrom('month' as const, 'week' as const, 'day' as const),
      mode: fc.constantFrom('add' as const, 'reset' as const),
      zone: fc.constantFrom('UTC', 'America/Los_Angeles', 'Pacific/Auckland'),
    }),
  }),
  fc.record({ type: fc.constant('end' as const) }),
);

const histories = fc.array(fc.tuple(step, fc.integer({ min: 0, max: 20 * day })), { maxLength: 25 });

export function testAllowanceHistories(bench: Bench, runs: number): void {
  const { account, store } = bench;
  const { call, set, spend, readAvailable, listCredits } = createAsker(bench);

  it(
    'whatever happens to an account, no moment is paid twice and a reset takes only what is left',
    { timeout: 60_000 + runs * 2000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(histories, async (steps) => {
          const name = await account(0n);
          let at = noon;
          const held: string[] = [];
          for (const [each, later] of steps) {
            at += later;
            const [before, known] = [await readAvailable(name), await listCredits(name)];
            await store().creditAllowances({ at, limit: 1000 });
            const moves = (await listCredits(name)).slice(known.length);
            const back = moves.filter(({ source }) => source === 'allowance-reset');
            const taken = back.reduce<Nano>((sum, { available }) => sum - available, 0n);
            expect(taken === 0n || taken <= before).toBe(true);
            expect(moves.filter(({ source }) => source === 'allowance').length).toBeLessThan(2);
            if (each.type === 'spend') await spend(name, each.amount, at);
            if (each.type === 'hold') {
              const asked = call(name, 0n, at, { most: each.amount });
              await asked;
              held.push(asked.id);
            }
            const released = each.type === 'release' ? held.pop() : undefined;
            if (released !== undefined) await store().settle(settlement(released, undefined, { at }));
            if (each.type === 'credit' || each.type === 'correct') {
              const why = each.type === 'credit' ? {} : { reason: 'a slip', author: 'op' };
              const kind = each.type === 'credit' ? 'top-up' : 'adjustment';
              await store().addCredit({ account: name, amount: each.amount, kind, ...why, at });
            }
            if (each.type === 'set') await set(name, { allowance: each.allowance }, at);
            if (each.type === 'end') await set(name, { allowance: null }, at);
          }
          for (const id of held) await store().settle(settlement(id, undefined, { at }));
          expect(await store().setAccountState({ account: name, state: 'closed' })).toBe('changed');
        }),
        { numRuns: runs },
      );
      // The audit computes each period and each rest on its own, from the entries.
      expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
    },
  );

  it('a purse with two pockets agrees: calls and corrections empty that of the allowance first', async () => {
    const moves = fc.array(
      fc.tuple(fc.constantFrom('spend', 'credit', 'correct', 'month'), fc.bigInt(1n, 150n)),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(moves, async (history) => {
        const name = await account(0n);
        let month = 11;
        await set(name, { allowance: { amount: 100n, mode: 'reset' } }, Date.UTC(2026, month - 1, 9));
        const purse = { allowance: 100n, other: 0n };
        const take = (amount: Nano): void => {
          const first = amount < purse.allowance ? amount : purse.allowance;
          purse.allowance -= first;
          purse.other -= amount - first;
        };
        for (const [type, amount] of history) {
          const at = Date.UTC(2026, month - 1, 10);
          if (type === 'spend') await spend(name, amount, at);
          if (type === 'correct') {
            const why = { kind: 'adjustment', reason: 'a slip', author: 'op' } as const;
            await store().addCredit({ account: name, amount: -amount, ...why, at });
          }
          if (type === 'spend' || type === 'correct') take(amount);
          if (type === 'credit') {
            await store().addCredit({ account: name, amount, kind: 'top-up', at });
            purse.other += amount;
          }
          if (type === 'month') {
            month += 1;
            await store().creditAllowances({ at: Date.UTC(2026, month - 1, 1), limit: 1000 });
            // A debt is paid from it before it is taken back.
            const all = purse.allowance + purse.other;
            purse.other = purse.other >= 0n ? purse.other : all < 0n ? all : 0n;
            purse.allowance = 100n;
          }
          expect(await readAvailable(name)).toBe(purse.allowance + purse.other);
        }
        await store().setAccountState({ account: name, state: 'closed' });
      }),
      { numRuns: runs },
    );
  });
}
