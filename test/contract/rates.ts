/** How often a key may call: counted by the ledger, for all processes that share it. */
import { expect, it } from 'vitest';
import { newKey, quote } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';

export function testRates({ account, opened, store }: Bench): void {
  const minute = 60_000;
  let keys = 0;

  /** A key of that rate, and what becomes of a call of it at a moment. */
  async function createRatedKey(rate: number) {
    const name = await account(1000n);
    keys += 1;
    const key = newKey(`00000000000f${keys.toString().padStart(4, '0')}`, name, { callsPerMinute: rate });
    await store().createKey(key);
    let calls = 0;
    const ask = (at: number, through = store(), id = key.id, cost = 1n) => {
      calls += 1;
      return through.reserve(request(`${name}-${calls}`, name, { key: id, at, quotes: [quote(cost)] }));
    };
    return { key, ask };
  }

  it('a key with a rate admits its calls per minute over all processes, and says when more', async () => {
    const { ask } = await createRatedKey(3);
    const other = await opened().another();
    const at = 10 * minute;
    expect((await Promise.all([ask(at), ask(at)])).map(({ status }) => status)).toEqual([
      'reserved',
      'reserved',
    ]);
    expect(
      (await Promise.all([ask(at + 100, other), ask(at + 100, other)])).map(({ status }) => status),
    ).toEqual(['reserved', 'limited']);
    expect(await ask(at + 20_000)).toEqual({ status: 'limited', rate: 3, wait: 40_000 });
    expect(await ask(at + minute)).toMatchObject({ status: 'reserved' });
    await other.close();
  });

  it('a key with a rate admits no more if two processes ask at the same moment', async () => {
    const { ask } = await createRatedKey(10);
    const other = await opened().another();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => ask(20 * minute, index % 2 === 0 ? store() : other)),
    );
    expect(answers.filter(({ status }) => status === 'reserved')).toHaveLength(10);
    await other.close();
  });

  it('a key with a rate counts no refused call, and all calls of the keys it replaced', async () => {
    const { key, ask } = await createRatedKey(2);
    const at = 30 * minute;
    expect(await ask(at, store(), key.id, 5000n)).toMatchObject({ status: 'short' });
    expect(await ask(at)).toMatchObject({ status: 'reserved' });
    const next = newKey(`11111111${key.id.slice(8)}`, key.account);
    await store().rotateKey({ id: key.id, until: 99 * minute, key: next });
    expect((await Promise.all([ask(at, store(), next.id), ask(at)])).map(({ status }) => status)).toEqual([
      'reserved',
      'limited',
    ]);
  });

  it('a key with a rate follows its current rate, and none once the rate is removed', async () => {
    const { key, ask } = await createRatedKey(1);
    const at = 40 * minute;
    await ask(at);
    expect(await ask(at)).toMatchObject({ status: 'limited', rate: 1 });
    await store().changeKey({ id: key.id, changes: { callsPerMinute: 2 } });
    expect((await Promise.all([ask(at), ask(at)])).map(({ status }) => status)).toEqual([
      'reserved',
      'limited',
    ]);
    await store().changeKey({ id: key.id, changes: { callsPerMinute: null } });
    expect(await ask(at)).toMatchObject({ status: 'reserved' });
  });

  it.each([
    ['forth', 60 * minute],
    ['back', -60 * minute],
  ])('a key with a rate is let through when the clock was set %s by an hour', async (_, by) => {
    const { ask } = await createRatedKey(1);
    await ask(100 * minute);
    expect(await ask(100 * minute + by)).toMatchObject({ status: 'reserved' });
    expect(await ask(100 * minute + by)).toMatchObject({ status: 'limited' });
  });
}
