/** What a store finds by a few letters, and what it says of the calls of a tag. */
import { expect, it } from 'vitest';
import { units } from '../../plugins/meters/balance/calls/figures.ts';
import { newKey } from '../balance/calls.ts';
import type { Bench } from './bench.ts';
import { add, always, buildCall } from './made-calls.ts';

export function testNames({ store }: Bench): void {
  const makeKey = (id: string, name: string, account: string): Promise<boolean> =>
    store().createKey(newKey(id, account, { name, lastFour: id.slice(-4) }));

  it('a search finds what begins with a text before what contains it, in either case', async () => {
    for (const account of ['Lovelace', 'house_of-lovelace', 'xlovelacex'])
      await store().createAccount({ name: account, at: 1 });
    await makeKey('key_lace0001', 'Ada_Lovelace', 'Lovelace');
    await makeKey('key_lace0002', 'lovelace 100%', 'Lovelace');
    const find = (text: string, limit = 10) => store().findNames({ text, limit });
    expect(await find('loveLACE')).toMatchObject({
      accounts: ['Lovelace', 'house_of-lovelace', 'xlovelacex'],
      keys: ['key_lace0002', 'key_lace0001'],
    });
    expect((await find('loveLACE', 1)).accounts).toEqual(['Lovelace']);
    // Neither is a pattern.
    expect((await find('a_love')).keys).toEqual(['key_lace0001']);
    expect((await find('e_of')).accounts).toEqual(['house_of-lovelace']);
    expect((await find('lace%')).keys).toEqual([]);
    expect((await find('0%')).keys).toEqual(['key_lace0002']);
    expect((await find('0001')).keys).toContain('key_lace0001');
    expect((await find('key_lace')).keys).toEqual(['key_lace0001', 'key_lace0002']);
    await store().deleteKey({ id: 'key_lace0002', at: 2 });
    expect((await find('lovelace')).keys).toEqual(['key_lace0001']);
  });

  it('a search finds calls by the beginning of their ids, and each tag once', async () => {
    await store().createAccount({ name: 'sought', at: 1 });
    await add(
      store(),
      ...['1', '2', '3'].map((number) =>
        buildCall(`sought-${number}`, 'sought', 5000, {
          tags: { session: 'sought', sought: number === '1' ? 'a' : 'b' },
        }),
      ),
    );
    expect(await store().findNames({ text: 'sought', limit: 2 })).toMatchObject({
      calls: ['sought-1', 'sought-2'],
      tags: ['sought:a', 'sought:b'],
    });
    expect((await store().findNames({ text: 'sought', limit: 9 })).tags).toContain('session:sought');
    expect((await store().findNames({ text: 'sou', limit: 9 })).calls).toEqual([]);
  });

  it('the newest calls of a tag come with what clients lost, and with the start of the first', async () => {
    await store().createAccount({ name: 'tagging', at: 1 });
    const losses = [{ path: 'a.b', code: 'c', reason: 'd' }];
    for (let number = 1; number <= 4; number += 1)
      await add(
        store(),
        buildCall(`tagged-${number}`, 'tagging', number * 1000, {
          tags: { session: 'listed' },
          ...(number === 4 && { client: 'a/1', losses, tries: [{ losses }] }),
        }),
      );
    const [first, none] = await store().listTagged({ tags: ['session:listed', 'session:none'], limit: 2 });
    expect([first?.tag, first?.first]).toEqual(['session:listed', 900]);
    const common = { account: 'tagging', key: 'key-1', model: 'house/model', provider: 'house' };
    expect(JSON.parse(first?.calls ?? '')).toEqual([
      { ...common, call: 'tagged-4', ended: 4000, client: 'a/1', losses, tries: [{ losses }] },
      { ...common, call: 'tagged-3', ended: 3000, client: null, losses: null, tries: null },
    ]);
    expect(none).toEqual({ tag: 'session:none', first: undefined, calls: '[]' });
  });

  it('the dearest values of a tag are summed up without the others', async () => {
    await store().createAccount({ name: 'dear', at: 1 });
    const day = 40 * units['1d'];
    const tags = ['one', 'two', 'two', 'three', 'three', 'three'];
    await add(
      store(),
      ...tags.map((name, index) => buildCall(`dear-${index}`, 'dear', day + index, { tags: { dear: name } })),
    );
    for (const unit of ['1h', '1d'] as const) {
      const rows = await store().sumCalls({
        ...always,
        by: 'tag',
        tag: 'dear',
        unit,
        top: 2,
        isTopOnly: true,
      });
      expect(rows.map(({ name, calls, names }) => [name, calls, names])).toEqual([
        ['dear:three', 3, 3],
        ['dear:two', 2, 3],
      ]);
    }
  });

  it('the last use of a key is the end of its last call', async () => {
    await store().createAccount({ name: 'using', at: 1 });
    await makeKey('key_used0001', '', 'using');
    await makeKey('key_used0002', '', 'using');
    for (const ended of [7000, 9000, 8000])
      await add(store(), buildCall(`using-${ended}`, 'using', ended, { key: 'key_used0001' }));
    const uses = await store().findLastUses(['key_used0001', 'key_used0002']);
    expect(uses.toSorted((one, other) => one.key.localeCompare(other.key))).toEqual([
      { key: 'key_used0001', at: 9000 },
      { key: 'key_used0002', at: undefined },
    ]);
  });
}
