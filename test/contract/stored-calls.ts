/** What a store keeps of ended calls, and that its roll-ups equal the entries and calls they sum up. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { units, type Dimension, type Unit } from '../../plugins/meters/balance/calls/figures.ts';
import type { CallQuery, OverviewQuery, OverviewRow, Store } from '../../plugins/meters/balance/store.ts';
import { quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';
import { foldAll } from './fold-all.ts';

export interface MadeCall {
  readonly call: string;
  readonly account: string;
  readonly key: string;
  readonly ended: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly [column: string]: unknown;
}

/** A stored call as the recorder writes it. */
function madeCall(
  call: string,
  account: string,
  ended: number,
  more: Readonly<Record<string, unknown>> = {},
): MadeCall {
  return {
    call,
    started: ended - 100,
    ended,
    account,
    key: 'key-1',
    asked: 'house/model',
    model: 'house/model',
    provider: 'house',
    protocol: 'messages',
    operation: 'generate',
    stream: 1,
    outcome: 'completed',
    code: null,
    status: 200,
    first_event: 40,
    duration: 100,
    attempts: 1,
    input: 10,
    output: 5,
    cached: 0,
    reasoning: 0,
    cost: '7',
    margin: '2',
    basis: 'usage',
    flags: '',
    tags: {},
    body: { id: call, object: 'call' },
    ...more,
  };
}

function add(store: Store, ...calls: readonly MadeCall[]): Promise<void> {
  return store.addCalls({
    calls: calls.map(({ body, ...columns }) => [JSON.stringify(columns), JSON.stringify(body)] as const),
  });
}

function totalOf(rows: readonly OverviewRow[]) {
  const sum = (read: (row: OverviewRow) => number): number =>
    rows.reduce((total, row) => total + read(row), 0);
  return {
    cost: rows.reduce((total, row) => total + row.cost, 0n),
    margin: rows.reduce((total, row) => total + row.margin, 0n),
    posts: sum((row) => row.posts),
    calls: sum((row) => row.counts.calls),
    errors: sum((row) => row.counts.errors),
    input: sum((row) => row.counts.input),
    hits: sum((row) => row.counts.cache_hits),
    timed: sum((row) => row.buckets.reduce((all, one) => all + one, 0)),
  };
}

const always = { from: 0, to: 100 * units['1d'], by: 'account', unit: '1h', top: 1000 } as const;

export function testStoredCalls({ account, store, opened }: Bench): void {
  describe('stored calls', () => {
    const found = async (query: Partial<CallQuery>) =>
      (await store().listCalls({ limit: 100, ...query })).map(({ call }) => call);

    it('come back newest first, a page at a time, with all that was written', async () => {
      const name = await account(0n);
      await add(
        store(),
        madeCall(`${name}-1`, name, 5000, {
          tags: { team: 'search', stage: 'test' },
          cost: '9007199254740993',
        }),
        madeCall(`${name}-2`, name, 7000),
        madeCall(`${name}-3`, name, 5000, {
          asked: null,
          first_event: null,
          code: 'model_not_found',
          stream: 0,
        }),
      );
      expect(await found({ account: name })).toEqual([`${name}-2`, `${name}-3`, `${name}-1`]);
      const [, second] = await store().listCalls({ account: name, limit: 2 });
      expect(await found({ account: name, after: second })).toEqual([`${name}-1`]);
      expect(await store().storedCall(`${name}-1`)).toEqual({
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
        body: `{"id":"${name}-1","object":"call"}`,
      });
      expect(await store().storedCall('unknown')).toBeUndefined();
    });

    it('are stored once, however often they are written', async () => {
      const name = await account(0n);
      const call = madeCall(`${name}-1`, name, 5000, { tags: { once: name, [name]: '' } });
      await add(store(), call);
      await add(store(), call, madeCall(`${name}-2`, name, 5001));
      expect(await found({ account: name })).toEqual([`${name}-2`, `${name}-1`]);
      expect(await found({ tag: `once:${name}` })).toEqual([`${name}-1`]);
      // A tag without a value is its name alone.
      expect(await found({ tag: name })).toEqual([`${name}-1`]);
    });

    it('are found by each filter, and by several together', async () => {
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
        ...variants.map((more, index) => madeCall(`${name}-${index}`, name, 1000 * index, more)),
      );
      const own = async (query: Partial<CallQuery>) =>
        (await found({ account: name, ...query })).map((id) => id.slice(name.length + 1)).join('');
      expect(await own({})).toBe('543210');
      expect(await own({ call: `${name}-3` })).toBe('3');
      expect(await own({ key: 'key-2' })).toBe('0');
      expect(await own({ model: 'house/other' })).toBe('1');
      expect(await own({ provider: 'other' })).toBe('2');
      expect(await own({ protocol: 'responses' })).toBe('3');
      expect(await own({ outcome: 'failed' })).toBe('4');
      expect(await own({ outcome: 'error' })).toBe('4');
      expect(await own({ tag: 'team:a:b' })).toBe('5');
      expect(await own({ from: 2000, to: 4000 })).toBe('32');
      expect(await own({ minCost: 10n, maxCost: 40n })).toBe('4321');
      expect(await own({ minCost: 20n, protocol: 'messages', to: 5000 })).toBe('42');
      expect(await own({ tag: 'team:a:b', outcome: 'failed' })).toBe('');
    });

    it('are deleted after their time, in slices, but not before they are summed up', async () => {
      const name = await account(0n);
      await add(
        store(),
        ...[1, 2, 3].map((index) =>
          madeCall(`${name}-${index}`, name, index - 10_000, { tags: { old: name } }),
        ),
      );
      const sweep = (before: number) => store().sweepCalls({ before, limit: 2, at: before });
      expect(await sweep(-9000)).toBe(0);
      await foldAll(store());
      const before = totalOf(await store().overview({ ...always, from: -units['1d'], account: name }));
      expect([await sweep(-9998), await sweep(-9000), await sweep(-9000)]).toEqual([1, 2, 0]);
      expect(await found({ account: name })).toEqual([]);
      expect(await found({ tag: `old:${name}` })).toEqual([]);
      expect(totalOf(await store().overview({ ...always, from: -units['1d'], account: name }))).toEqual(
        before,
      );
    });
  });

  describe('roll-ups', () => {
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
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('fold' as const),
          limit: fc.integer({ min: 1, max: 7 }),
          isOther: fc.boolean(),
        }),
      },
    );

    it('equal the entries and calls, with what is beyond them, whatever was folded when', async () => {
      const other = await opened().another();
      try {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
            const name = await account(1_000_000n);
            const calls: MadeCall[] = [];
            for (const [index, each] of steps.entries()) {
              if (each.kind === 'fold') {
                await Promise.all([
                  store().fold({ limit: each.limit }),
                  each.isOther ? other.fold({ limit: each.limit }) : undefined,
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
              const call = madeCall(id, name, each.at, {
                key,
                ...whom,
                outcome,
                cached,
                first_event: first,
                tags: { of: name },
              });
              calls.push(call);
              await add(store(), call);
            }
            await expectEqual(store(), name, calls);
            await foldAll(store());
            await expectEqual(store(), name, calls);
          }),
          { numRuns: Number(process.env.HISTORIES ?? 5), endOnFailure: true },
        );
      } finally {
        await other.close();
      }
      expect(await store().behind()).toBe(0);
      expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
    });

    it('rank the largest series and sum up the others', async () => {
      const name = await account(1000n);
      const costs = { x: 5n, y: 9n, z: 1n };
      for (const [model, amount] of Object.entries(costs)) {
        await store().reserve(request(`${name}-${model}`, name));
        await store().settle(settlement(`${name}-${model}`, amount, { model, at: 4 }));
      }
      const rows = await store().overview({ ...always, by: 'model', account: name, top: 1 });
      expect(rows.map((row) => [row.name, row.cost, row.names])).toEqual([
        ['y', 9n, 3],
        [undefined, 6n, 3],
      ]);
    });
  });
}

/** Compares the overview by each dimension and step with sums that the test makes itself. */
async function expectEqual(store: Store, name: string, calls: readonly MadeCall[]): Promise<void> {
  const entries = (await store.entries({ account: name, limit: 1000 })).filter(
    ({ revenue, vendor, kind }) => revenue !== 0n || (vendor ?? 0n) !== 0n || kind === 'post',
  );
  const dimensions: readonly Exclude<Dimension, 'tag'>[] = ['model', 'key', 'account', 'provider'];
  for (const by of dimensions)
    for (const unit of ['1h', '1d'] as const satisfies Unit[]) {
      const query: OverviewQuery = { ...always, by, unit, account: name };
      const wanted = new Map<
        string,
        {
          cost: bigint;
          margin: bigint;
          posts: number;
          calls: number;
          hits: number;
          errors: number;
          timed: number;
        }
      >();
      const cell = (group: unknown, at: number) => {
        const id = `${String(group)} ${Math.floor(at / units[unit]) * units[unit]}`;
        const known = wanted.get(id) ?? {
          cost: 0n,
          margin: 0n,
          posts: 0,
          calls: 0,
          hits: 0,
          errors: 0,
          timed: 0,
        };
        wanted.set(id, known);
        return known;
      };
      for (const entry of entries) {
        const sums = cell(entry[by], entry.at);
        sums.cost += entry.revenue;
        sums.margin += entry.vendor === undefined ? 0n : entry.revenue - entry.vendor;
        if (entry.kind === 'post') sums.posts += 1;
      }
      for (const call of calls) {
        const sums = cell(call[by], call.ended);
        sums.calls += 1;
        if (Number(call.cached) > 0) sums.hits += 1;
        if (call.outcome === 'failed' || call.outcome === 'refused') sums.errors += 1;
        if (call.first_event !== null) sums.timed += 1;
      }
      const shown = (rows: readonly OverviewRow[]) =>
        Object.fromEntries(
          rows.map((row) => {
            const { input: _input, ...sums } = totalOf([row]);
            return [`${row.name} ${row.start}`, sums];
          }),
        );
      expect(shown(await store.overview(query)), `by ${by} and ${unit}`).toEqual(Object.fromEntries(wanted));
      // Without a filter other tables are read; these series are of this account alone.
      if (by === 'account' || by === 'key') {
        const all = await store.overview({ ...query, account: undefined, top: 1_000_000 });
        const own = all.filter((row) => row.name === name || row.name?.startsWith(`${name}-`));
        expect(shown(own), `all by ${by} and ${unit}`).toEqual(Object.fromEntries(wanted));
      }
      if (unit === '1h') await expectFiltered(store, { ...query, account: undefined }, name);
      await expectOthers(store, { ...query, account: undefined });
      // A range that begins and ends within days.
      await expectOthers(store, { ...query, account: undefined, from: units[unit], to: 3 * units[unit] });
      await expectOthers(store, { ...query, account: undefined, from: units[unit], to: 50 * units[unit] });
    }
  const tags = await store.overview({ ...always, by: 'tag', tag: 'of', top: 1_000_000 });
  const own = totalOf(tags.filter((row) => row.name === `of:${name}`));
  expect(own).toMatchObject({
    calls: calls.length,
    cost: BigInt(calls.length) * 7n,
    margin: BigInt(calls.length) * 2n,
  });
}

/** A filter finds the same sums, whichever table they are read from. */
async function expectFiltered(store: Store, query: OverviewQuery, account: string): Promise<void> {
  const key = `${account}-a`;
  expect(await store.overview({ ...query, key })).toEqual(await store.overview({ ...query, key, account }));
  const value = { model: 'm/a', key, account, provider: 'a', tag: '' }[query.by];
  const all = await store.overview({ ...query, top: 1_000_000 });
  const bare = ({ start, cost, margin, posts, counts, buckets }: OverviewRow): object => ({
    start,
    cost,
    margin,
    posts,
    counts,
    buckets,
  });
  expect((await store.overview({ ...query, [query.by]: value })).map(bare)).toEqual(
    all.filter(({ name }) => name === value).map(bare),
  );
}

/** The largest series are those of all series, and the one without a name is the sum of the others. */
async function expectOthers(store: Store, query: OverviewQuery): Promise<void> {
  for (const top of [1, 3]) {
    const [all, some] = [
      await store.overview({ ...query, top: 1_000_000 }),
      await store.overview({ ...query, top }),
    ];
    const isNamed = ({ place }: OverviewRow): boolean => place <= top;
    expect(some.filter(({ name }) => name !== undefined)).toEqual(all.filter(isNamed));
    const rest = Map.groupBy(
      all.filter((row) => !isNamed(row)),
      ({ start }) => start,
    );
    const others = some.filter(({ name }) => name === undefined);
    expect(others.map(({ start }) => start)).toEqual([...rest.keys()].toSorted((one, other) => one - other));
    for (const row of others) expect(totalOf([row])).toEqual(totalOf(rest.get(row.start) ?? []));
  }
}
