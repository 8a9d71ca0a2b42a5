/** What a store keeps of ended calls, and that its roll-ups equal the entries and calls they sum up. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { units } from '../../plugins/meters/balance/calls/figures.ts';
import type { CallQuery } from '../../plugins/meters/balance/store.ts';
import { quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';
import { type MadeCall, add, always, buildCall, sumRows } from './made-calls.ts';
import { expectEqual, expectRanked, expectSelected, type PartyCall } from './overviews.ts';
import { sumUpAll } from './sum-up-all.ts';

export function testStoredCalls({ account, store, opened }: Bench, runs: number): void {
  const listIds = async (query: Partial<CallQuery>) =>
    (await store().listCalls({ limit: 100, ...query })).map(({ call }) => call);

  it('stored calls come back newest first, a page at a time, with all that was written', async () => {
    const name = await account(0n);
    await add(
      store(),
      buildCall(`${name}-1`, name, 5000, {
        tags: { team: 'search', stage: 'test' },
        cost: '9007199254740993',
      }),
      buildCall(`${name}-2`, name, 7000),
      buildCall(`${name}-3`, name, 5000, {
        asked: null,
        first_event: null,
        code: 'model_not_found',
        stream: 0,
      }),
    );
    expect(await listIds({ account: name })).toEqual([`${name}-2`, `${name}-3`, `${name}-1`]);
    const [, second] = await store().listCalls({ account: name, limit: 2 });
    expect(await listIds({ account: name, after: second })).toEqual([`${name}-1`]);
    expect(await store().findCall(`${name}-1`)).toEqual({
      number: expect.any(Number),
      call: `${name}-1`,
      started: 4900,
      ended: 5000,
      account: name,
      key: 'key-1',
      asked: 'house/model',
      model: 'house/model',
      provider: 'house',
      protocol: 'messages',
      operation: 'generate',
      stream: true,
      outcome: 'completed',
      code: undefined,
      status: 200,
      firstEvent: 40,
      duration: 100,
      attempts: 1,
      input: 10,
      output: 5,
      cached: 0,
      reasoning: 0,
      cost: 9_007_199_254_740_993n,
      margin: 2n,
      basis: 'usage',
      flags: '',
      tags: { team: 'search', stage: 'test' },
      usage: { input: 10, inputAudio: 4, output: 5, secondIn: 0.5 },
      body: expect.stringContaining(`{"call":"${name}-1",`),
    });
    expect(await store().findCall('unknown')).toBeUndefined();
  });

  it('stored calls are stored once, however often they are written', async () => {
    const name = await account(0n);
    const call = buildCall(`${name}-1`, name, 5000, { tags: { once: name, [name]: '' } });
    await add(store(), call);
    await add(store(), call, buildCall(`${name}-2`, name, 5001));
    expect(await listIds({ account: name })).toEqual([`${name}-2`, `${name}-1`]);
    expect(await listIds({ tag: `once:${name}` })).toEqual([`${name}-1`]);
    // A tag without a value is its name alone.
    expect(await listIds({ tag: name })).toEqual([`${name}-1`]);
  });

  it('stored calls are found by each filter, and by several together', async () => {
    const name = await account(0n);
    const variants: Readonly<Record<string, unknown>>[] = [
      { key: 'key-2', cost: '0' },
      { model: 'house/other', cost: '10' },
      { provider: 'other', cost: '20' },
      { protocol: 'responses', cost: '30' },
      { outcome: 'failed', cost: '40' },
      { outcome: 'aborted', tags: { team: 'a:b' }, cost: '50' },
    ];
    await add(
      store(),
      ...variants.map((more, index) => buildCall(`${name}-${index}`, name, 1000 * index, more)),
    );
    const listOwn = async (query: Partial<CallQuery>) =>
      (await listIds({ account: name, ...query })).map((id) => id.slice(name.length + 1)).join('');
    expect(await listOwn({})).toBe('543210');
    expect(await listOwn({ call: `${name}-3` })).toBe('3');
    expect(await listOwn({ key: 'key-2' })).toBe('0');
    expect(await listOwn({ model: 'house/other' })).toBe('1');
    expect(await listOwn({ provider: 'other' })).toBe('2');
    expect(await listOwn({ protocol: 'responses' })).toBe('3');
    expect(await listOwn({ outcome: 'failed' })).toBe('4');
    expect(await listOwn({ outcome: 'error' })).toBe('4');
    expect(await listOwn({ tag: 'team:a:b' })).toBe('5');
    expect(await listOwn({ from: 2000, to: 4000 })).toBe('32');
    expect(await listOwn({ minCost: 10n, maxCost: 40n })).toBe('4321');
    expect(await listOwn({ minCost: 20n, protocol: 'messages', to: 5000 })).toBe('42');
    expect(await listOwn({ tag: 'team:a:b', outcome: 'failed' })).toBe('');
  });

  it('stored calls are deleted after their time, in slices, and stay summed up', async () => {
    const name = await account(0n);
    await add(
      store(),
      ...[1, 2, 3].map((index) =>
        buildCall(`${name}-${index}`, name, index - 10_000, { tags: { old: name } }),
      ),
    );
    const sweep = (before: number) => store().sweepCalls({ before, limit: 2, at: before });
    const before = sumRows(await store().sumCalls({ ...always, from: -units['1d'], account: name }));
    expect([await sweep(-9998), await sweep(-9000), await sweep(-9000)]).toEqual([1, 2, 0]);
    expect(await listIds({ account: name })).toEqual([]);
    expect(await listIds({ tag: `old:${name}` })).toEqual([]);
    expect(sumRows(await store().sumCalls({ ...always, from: -units['1d'], account: name }))).toEqual(before);
  });

  const names = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('call' as const),
        key: names,
        model: names,
        provider: names,
        at: fc.integer({ min: 0, max: 3 * units['1d'] }),
        amount: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
        vendor: fc.option(fc.bigInt({ min: 0n, max: 30n }), { nil: undefined }),
        outcome: fc.constantFrom('completed', 'failed', 'aborted', 'refused'),
        cached: fc.constantFrom(0, 0, 3),
        first: fc.option(fc.integer({ min: 0, max: 200_000 })),
        isStored: fc.boolean(),
        isLate: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('sum up' as const),
        isOther: fc.boolean(),
      }),
    },
  );

  it('roll-ups equal the entries and calls, whatever was summed up when', async () => {
    const other = await opened().another();
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
          const name = await account(1_000_000n);
          const calls: MadeCall[] = [];
          const late: MadeCall[] = [];
          for (const [index, each] of steps.entries()) {
            if (each.kind === 'sum up') {
              await Promise.all([
                store().addCalls({ calls: [] }),
                each.isOther ? other.addCalls({ calls: [] }) : undefined,
              ]);
              continue;
            }
            const id = `${name}-${index}`;
            const key = `${name}-${each.key}`;
            const whom = { model: `m/${each.model}`, provider: each.provider };
            await store().reserve(request(id, name, { key, quotes: [{ ...quote(10n), ...whom }] }));
            const amount = each.amount === undefined ? undefined : BigInt(each.amount);
            await store().settle(
              settlement(id, amount, { ...whom, at: each.at, vendor: amount && each.vendor }),
            );
            if (!each.isStored) continue;
            const { outcome, cached, first } = each;
            const call = buildCall(id, name, each.at, {
              key,
              ...whom,
              outcome,
              cached,
              first_event: first,
              tags: { of: name },
            });
            // The entries of a call may be summed up long before its record is stored.
            if (each.isLate) late.push(call);
            else {
              calls.push(call);
              await add(store(), call);
            }
          }
          await expectEqual(store(), name, calls);
          calls.push(...late);
          await add(store(), ...late);
          await expectEqual(store(), name, calls);
          await expectRanked(store());
          await sumUpAll(store());
          await expectEqual(store(), name, calls);
        }),
        { numRuns: runs, endOnFailure: true },
      );
    } finally {
      await other.close();
    }
    expect(await store().countUnsummed()).toBe(0);
    await expectRanked(store());
    expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
  });

  it('roll-ups answer for each set of filters, by each dimension and step', async () => {
    const name = await account(1_000_000n);
    const owners = [name, await account(1_000_000n)];
    const calls: PartyCall[] = [];
    for (let index = 0; index < 60; index += 1) {
      const pick = (count: number, factor: number): number => Math.floor(index / factor) % count;
      const owner = owners[pick(2, 1)] ?? name;
      const whom = { model: `m/${name}-${pick(3, 2)}`, provider: `${name}-${pick(2, 3)}` };
      const key = `${owner}-${pick(2, 5)}`;
      const [at, cost] = [((index * 37) % 100) * units['1h'] + index, BigInt((index * 7) % 10)];
      calls.push({ ...whom, account: owner, key, at, cost });
      const id = `${name}-${index}`;
      await store().reserve(request(id, owner, { key, quotes: [{ ...quote(10n), ...whom }] }));
      await store().settle(settlement(id, cost, { ...whom, at }));
      await add(store(), buildCall(id, owner, at, { key, ...whom }));
    }
    await sumUpAll(store());
    const wanted = { account: name, key: `${name}-0`, model: `m/${name}-0`, provider: `${name}-0` };
    await expectSelected(store(), calls, wanted);
  });
}
