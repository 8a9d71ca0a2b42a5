/** Erasing an account or a holder: names and calls go, money stays, and the books are sound at any time. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { newKey, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';
import { add, always, buildCall } from './made-calls.ts';

let made = 0;
const mark = (name: string): string => `${name}-${(made += 1)}`;

/** Erases part by part, with an audit after each: returns how many parts it took. */
async function eraseParts(store: Store, id: string, limit: number): Promise<number> {
  for (let [parts, after] = [1, '']; ; parts += 1) {
    const part = await store.eraseSome({ id, after, limit, at: 1000 });
    expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
    if (part.isDone) return parts;
    ({ after } = part);
  }
}

export function testErasures({ account, store, opened }: Bench, runs: number): void {
  /** A charged call with a record. */
  async function makeCall(of: string, key: string, more: Partial<Parameters<typeof request>[2]> = {}) {
    const call = mark('erased-call');
    await store().reserve(request(call, of, { key, quotes: [quote(30n)], ...more }));
    await store().settle({
      ...settlement(call, 25n),
      outcome: more.claim && { status: 200, headers: {}, body: new Uint8Array(3), whole: true },
    });
    await add(store(), buildCall(call, of, 5_000_000_000 + made, { key, tags: { user: 'ada' } }));
    return call;
  }

  const auditFresh = async () => {
    const other = await opened().another();
    try {
      // The first audit of a store compares every party.
      expect(await other.audit()).toMatchObject({ ok: true, findings: [] });
    } finally {
      await other.close();
    }
  };

  const begin = (whose: { account: string } | { holder: string }) =>
    store().beginErasure({ ...whose, id: mark('erasure'), at: 500 });

  it('an account is erased: its name and calls go, its money, its entries and its sums stay', async () => {
    const [name, child] = [await account(1000n), await account(0n)];
    await store().moveAccount({ account: child, parent: name });
    const key = newKey(mark('e-key'), name, { name: 'laptop', holder: mark('ada'), tags: ['user:ada'] });
    await store().createKey(key);
    const claim = { name: mark('claim'), fingerprint: 'f', expires: 9e12 };
    const calls = [
      await makeCall(name, key.id),
      await makeCall(name, key.id),
      await makeCall(name, key.id, { claim }),
    ];
    const other = await account(100n);
    const kept = await makeCall(other, mark('e-key'));
    await store().createBudget({
      scope: 'team',
      subject: name,
      per: 'day',
      zone: 'UTC',
      limit: 5n,
      hard: true,
      thresholds: [],
      at: 1,
    });
    const before = await store().sumCalls({ ...always, account: name });
    expect(before).not.toEqual([]);
    expect(await store().audit()).toMatchObject({ ok: true });

    const begun = await begin({ account: name });
    if (!('id' in begun)) return expect.unreachable();
    expect(await begin({ account: name })).toEqual({ status: 'running', id: begun.id });
    expect(await store().createAccount({ name, at: 1 })).toBe(false);
    await auditFresh();
    expect(await eraseParts(store(), begun.id, 2)).toBeGreaterThan(1);
    await auditFresh();

    const [erasure] = (await store().listErasures({ running: true, limit: 100 })).filter(
      ({ id }) => id === begun.id,
    );
    const neutral = erasure?.account ?? '';
    expect(neutral).toMatch(/^erased-\d+$/);
    expect(erasure).toMatchObject({ former: name, keys: [key.id], erased: 3 });
    expect(await store().readBalance(name)).toBeUndefined();
    expect(await store().readBalance(neutral)).toEqual({ total: 1000n, used: 75n, pending: 0n });
    for (const call of calls) expect(await store().findCall(call)).toBeUndefined();
    expect(await store().listCalls({ tag: 'user:ada', account: name, limit: 9 })).toEqual([]);
    expect(await store().findCall(kept)).toMatchObject({ account: other });
    expect(await store().findClaim({ name: claim.name, at: 600 })).toBeUndefined();
    expect(await store().sumCalls({ ...always, account: name })).toEqual([]);
    expect(await store().sumCalls({ ...always, account: neutral })).toEqual(
      before.map((row) => (row.name === name ? { ...row, name: neutral } : row)),
    );
    expect(await store().findKey(key.hash)).toBeUndefined();
    expect(await store().listKeys({ ids: [key.id], limit: 1 })).toMatchObject([
      { name: '', holder: undefined, tags: [], account: neutral, used: 75n, disabled: true },
    ]);
    expect((await store().listAccounts({ wanted: child, limit: 1 }))[0]?.line).toEqual([neutral]);
    expect(await store().listBudgets({ scope: 'team', subject: neutral, at: 1, limit: 5 })).toHaveLength(1);
    expect(await store().listEntries({ account: neutral, limit: 50 })).toHaveLength(7);

    await store().endErasure({ id: begun.id, at: 900 });
    const [ended] = (await store().listErasures({ running: false, limit: 1000 })).filter(
      ({ id }) => id === begun.id,
    );
    expect(ended).toMatchObject({ account: neutral, former: undefined, keys: [], ended: 900 });
    expect(await begin({ account: name })).toEqual({ status: 'not_found' });
  });

  it('an account with running calls is not erased', async () => {
    const name = await account(100n);
    await store().reserve(request(mark('held'), name, { quotes: [quote(30n)] }));
    expect(await begin({ account: name })).toEqual({ status: 'held' });
    expect(await store().readBalance(name)).toMatchObject({ pending: 30n });
  });

  it("a holder is erased: keys, calls and invitations go, of all accounts, and nobody else's", async () => {
    const [holder, names] = [mark('grace'), [await account(100n), await account(100n)]];
    const keys = names.map((name) => newKey(mark('h-key'), name, { name: 'own', holder }));
    const other = newKey(mark('h-key'), names[0], { name: 'other', holder: mark('eve') });
    for (const key of [...keys, other]) await store().createKey(key);
    const calls = [];
    for (const [index, key] of keys.entries()) calls.push(await makeCall(names[index] ?? '', key.id));
    const kept = await makeCall(names[0] ?? '', other.id);
    const begun = await begin({ holder });
    if (!('id' in begun)) return expect.unreachable();
    await eraseParts(store(), begun.id, 1);
    await auditFresh();
    for (const call of calls) expect(await store().findCall(call)).toBeUndefined();
    expect(await store().findCall(kept)).toBeDefined();
    expect(await store().listKeys({ holder, limit: 5 })).toEqual([]);
    expect(await store().listKeys({ account: names[0], limit: 5 })).toMatchObject([{ name: 'other' }]);
    for (const name of names) expect(await store().readBalance(name)).toMatchObject({ total: 100n });
    expect(await begin({ holder: mark('nobody') })).toEqual({ status: 'not_found' });
  });

  const whose = fc.nat(2);
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('call' as const),
        whose,
        key: fc.nat(1),
        isOpen: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('settle' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('erase' as const), whose, isHolder: fc.boolean() }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constant('part' as const), limit: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('move' as const), whose, below: whose }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('audit' as const) }) },
  );

  it('after any history of calls and erasures the books are sound, and no erased name is left', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 40 }), async (steps) => {
        const names = [await account(1000n), await account(1000n), await account(1000n)];
        const holders = names.map(() => mark('holder'));
        const keys = names.map((name, index) =>
          [0, 1].map(() => newKey(mark('p-key'), name, { holder: holders[index] })),
        );
        for (const key of keys.flat()) await store().createKey(key);
        const open: string[] = [];
        const running: { id: string; after: string; isDone: boolean }[] = [];
        const gone = new Set<string>();
        for (const each of steps) {
          const name = 'whose' in each ? (names[each.whose] ?? '') : '';
          if (each.type === 'call') {
            const call = mark('p-call');
            const key = keys[each.whose]?.[each.key]?.id ?? '';
            // An account that was erased is unknown.
            if (gone.has(name)) continue;
            await store().reserve(request(call, name, { key, quotes: [quote(10n)], tags: ['t'] }));
            if (each.isOpen) open.push(call);
            else await store().settle(settlement(call, 7n));
            // What a process held in memory is written late.
            await add(store(), buildCall(call, name, 6_000_000_000 + made, { key, tags: { user: 'x' } }));
          } else if (each.type === 'settle') {
            const call = open.pop();
            if (call !== undefined) await store().settle(settlement(call, 9n));
          } else if (each.type === 'erase') {
            const holder = holders[each.whose] ?? '';
            const begun = await begin(each.isHolder ? { holder } : { account: name });
            if (begun.status === 'created') running.push({ id: begun.id, after: '', isDone: false });
            if (begun.status === 'created') gone.add(each.isHolder ? holder : name);
          } else if (each.type === 'part') {
            const [part] = running.filter(({ isDone }) => !isDone);
            if (part) Object.assign(part, await store().eraseSome({ ...part, limit: each.limit, at: 1000 }));
          } else if (each.type === 'move') {
            const parent = names[each.below];
            if (!gone.has(name) && !gone.has(parent ?? ''))
              await store().moveAccount({ account: name, parent });
          } else {
            expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
          }
        }
        for (const call of open) await store().settle(settlement(call, 3n));
        for (const { id } of running) {
          await eraseParts(store(), id, 3);
          await store().endErasure({ id, at: 2000 });
        }
        await auditFresh();
        const left = JSON.stringify(
          [
            await store().listAccounts({ limit: 10_000 }),
            await store().listKeys({ limit: 10_000 }),
            await store().listCalls({ limit: 10_000 }),
            await store().listErasures({ running: false, limit: 10_000 }),
            await store().sumCalls({ ...always, unit: '1d', top: 100_000 }),
          ],
          (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
        );
        for (const name of gone) expect(left).not.toContain(`"${name}"`);
      }),
      { numRuns: runs },
    );
  });
}
