/** Accounts, their credit and their keys. */
import { expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { Quote, Store } from '../../plugins/meters/balance/store.ts';
import { newKey, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';

export function testAccounts({ account, store }: Bench): void {
  const credit = (to: string, amount: Nano, reference?: string) =>
    store().addCredit({ account: to, amount, kind: 'gift-card', reference, at: 1 });

  it('a store makes an account once', async () => {
    const name = await account(0n);
    expect(await store().createAccount({ name, at: 2 })).toBe(false);
    expect(await store().readBalance(name)).toEqual({ total: 0n, used: 0n, pending: 0n });
  });

  it('a store has no balance for an unknown account', async () => {
    expect(await store().readBalance('unknown')).toBeUndefined();
  });

  it('a store lists accounts by name, a page at a time', async () => {
    for (const name of ['list-c', 'list-a', 'list-b']) await store().createAccount({ name, at: 3 });
    await credit('list-b', 5n);
    const usual = { line: [], state: 'open', created: 3, used: 0n, pending: 0n, terms: { postpaid: false } };
    expect(await store().listAccounts({ after: 'list-', limit: 2 })).toEqual([
      { name: 'list-a', ...usual, total: 0n },
      { name: 'list-b', ...usual, total: 5n },
    ]);
    expect((await store().listAccounts({ after: 'list-b', limit: 1 })).map(({ name }) => name)).toEqual([
      'list-c',
    ]);
  });

  it('a store refuses a credit beyond what an account can hold, and keeps working', async () => {
    const name = await account(0n);
    const large = 10n ** 18n;
    const answers = [];
    for (let count = 0; count < 10; count += 1) answers.push(await credit(name, large));
    expect(answers).toEqual([...Array.from({ length: 9 }, () => 'credited'), 'too_much']);
    expect([await credit(name, 1n), (await store().readBalance(name))?.total]).toEqual([
      'credited',
      9n * large + 1n,
    ]);
  });

  it('a store refuses unknown accounts and amounts that are not above zero', async () => {
    expect(await credit('unknown', 5n, 'for-unknown')).toBe('not_found');
    await expect(credit(await account(0n), 0n)).rejects.toThrow('cannot be');
  });
}

export function testKeys({ account, store }: Bench): void {
  it('a store finds a key by its whole hash, with all it may do', async () => {
    const name = await account(0n);
    const key = newKey('a1b2c3d4e5f60718', name, {
      name: 'laptop',
      spendCap: 2n ** 60n,
      models: ['house/model'],
      expires: 99,
      callsPerMinute: 5,
      networks: ['10.0.0.0/8', '2001:db8::/32'],
      protocols: ['messages'],
      operations: ['generate', 'models'],
      holder: 'ada@example.com',
    });
    expect(await store().createKey(key)).toBe(true);
    expect(await store().hasKeys()).toBe(true);
    const { at, ...rest } = key;
    expect(await store().findKey(key.hash)).toEqual({
      ...rest,
      disabled: false,
      accountState: 'open',
      teams: [],
      created: at,
      used: 0n,
      pending: 0n,
      root: key.id,
      rotatedTo: undefined,
    });
    expect(await store().findKey(`${key.hash.slice(0, -1)}1`)).toBeUndefined();
    expect(await store().findKey('b'.repeat(64))).toBeUndefined();
  });

  it('a store lists the keys of a holder, and changes the holder of a key', async () => {
    const name = await account(0n);
    const [own, other] = ['a4', 'a5'].map((end) => newKey(`00000000000000${end}`, name));
    if (!own || !other) throw new Error('two keys');
    await store().createKey({ ...own, holder: 'grace' });
    await store().createKey(other);
    const list = async () => (await store().listKeys({ holder: 'grace', limit: 10 })).map(({ id }) => id);
    expect(await list()).toEqual([own.id]);
    await store().changeKey({ id: other.id, changes: { holder: 'grace' } });
    expect(await list()).toEqual([own.id, other.id]);
    await store().changeKey({ id: own.id, changes: { holder: null } });
    expect(await list()).toEqual([other.id]);
  });

  it('a store makes operator keys without an account, and no user key for an unknown one', async () => {
    expect(await store().createKey(newKey('00000000000000a0', undefined))).toBe(true);
    expect(await store().findKey(newKey('00000000000000a0', undefined).hash)).toMatchObject({
      kind: 'operator',
      account: undefined,
    });
    expect(await store().createKey(newKey('00000000000000a1', 'unknown'))).toBe(false);
  });

  it('a store knows which operator keys may only read, also after a rotation', async () => {
    const old = newKey('00000000000000f0', undefined, { readOnly: true });
    const { id, hash, lastFour, at } = newKey('00000000000000f1', undefined);
    await store().createKey(old);
    await store().createKey(newKey('00000000000000f2', undefined));
    expect(await store().rotateKey({ id: old.id, until: 9, key: { id, hash, lastFour, at } })).toBe(true);
    const findReadOnly = async (wanted: string) =>
      (await store().listKeys({ wanted, limit: 1 }))[0]?.readOnly;
    expect(await Promise.all([old.id, id, '00000000000000f2'].map(findReadOnly))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('a store lists keys by id, of one account or kind, or by id, name or last four', async () => {
    const name = await account(0n);
    for (const id of ['00000000000000b2', '00000000000000b1', '00000000000000b3'])
      await store().createKey(newKey(id, name));
    const listIds = async (...query: Parameters<Store['listKeys']>) =>
      (await store().listKeys(...query)).map(({ id }) => id);
    expect(await listIds({ account: name, limit: 2 })).toEqual(['00000000000000b1', '00000000000000b2']);
    expect(await listIds({ account: name, after: '00000000000000b2', limit: 2 })).toEqual([
      '00000000000000b3',
    ]);
    await store().createKey(newKey('00000000000000b4', undefined));
    const after = '00000000000000b2';
    expect(await listIds({ kind: 'operator', after, limit: 1 })).toEqual(['00000000000000b4']);
    expect(await listIds({ kind: 'user', after, limit: 1 })).toEqual(['00000000000000b3']);
    expect(await listIds({ kind: 'operator', account: name, limit: 1 })).toEqual([]);
    expect(await listIds({ wanted: '00b3', limit: 9 })).toEqual(['00000000000000b3']);
    expect(await listIds({ wanted: '00000000000000b1', limit: 9 })).toEqual(['00000000000000b1']);
    await store().changeKey({ id: '00000000000000b2', changes: { name: 'the middle one' } });
    expect(await listIds({ name: 'the middle one', limit: 9 })).toEqual(['00000000000000b2']);
    expect(await listIds({ after: '00000000000000b1', limit: 1 })).toEqual(['00000000000000b2']);
    const ids = ['00000000000000b3', 'none', '00000000000000b1'];
    expect(await listIds({ ids, limit: 9 })).toEqual(['00000000000000b1', '00000000000000b3']);
  });

  it('a store changes what is named and nothing else, and takes limits away by null', async () => {
    const name = await account(0n);
    const limits = { spendCap: 5n, models: ['a/b'], callsPerMinute: 1, networks: ['10.0.0.0/8'] };
    const key = newKey('00000000000000c1', name, { ...limits, protocols: ['images'] });
    await store().createKey(key);
    expect(
      await store().changeKey({
        id: key.id,
        changes: { disabled: true, spendCap: null, expires: 7, protocols: null, operations: ['count'] },
      }),
    ).toBe(true);
    expect(await store().findKey(key.hash)).toMatchObject({
      disabled: true,
      spendCap: undefined,
      expires: 7,
      models: ['a/b'],
      callsPerMinute: 1,
      networks: ['10.0.0.0/8'],
      protocols: undefined,
      operations: ['count'],
    });
    expect(await store().changeKey({ id: key.id, changes: {} })).toBe(true);
    expect(await store().changeKey({ id: 'unknown', changes: { name: 'x' } })).toBe(false);
  });

  it('a store holds the cap of a key against all its calls, pending ones too', async () => {
    const name = await account(1000n);
    const { id: key, hash } = newKey('00000000000000d1', name);
    await store().createKey(newKey(key, name, { spendCap: 100n }));
    const ask = (call: string, ...quotes: Quote[]) =>
      store().reserve(request(`${name}-${call}`, name, { key, quotes }));
    expect(await ask('1', quote(60n))).toMatchObject({ status: 'reserved', amount: 60n });
    expect(await ask('2', quote(41n))).toEqual({ status: 'short', by: 'cap', available: 40n });
    expect(await ask('3', quote(10n, 500n))).toMatchObject({ status: 'reserved', amount: 40n });
    await store().settle(settlement(`${name}-1`, 20n));
    await store().settle(settlement(`${name}-3`, undefined));
    expect(await store().findKey(hash)).toMatchObject({ used: 20n, pending: 0n });
    expect(
      (await Promise.all([ask('4', quote(80n)), ask('5', quote(80n))])).map(({ status }) => status),
    ).toEqual(['reserved', 'short']);
    await store().changeKey({ id: key, changes: { spendCap: null } });
    expect(await ask('6', quote(500n))).toMatchObject({ status: 'reserved' });
  });

  it('a store rotates a key: the new one has its limits and spending, the old ends in time', async () => {
    const name = await account(1000n);
    const [old, next, third] = ['e1', 'e2', 'e3'].map((end) =>
      newKey(`00000000000000${end}`, name, {
        name: 'laptop',
        spendCap: 100n,
        holder: 'ada',
        networks: ['10.0.0.0/8'],
        operations: ['generate'],
      }),
    );
    if (!old || !next || !third) throw new Error('three keys');
    await store().createKey(old);
    await store().reserve(request(`${name}-1`, name, { key: old.id, quotes: [quote(30n)] }));
    expect(await store().rotateKey({ id: old.id, until: 5000, key: next })).toBe(true);
    expect(await store().rotateKey({ id: old.id, until: 5000, key: third })).toBe(false);
    await store().settle(settlement(`${name}-1`, 25n));
    await store().reserve(request(`${name}-2`, name, { key: next.id, quotes: [quote(70n)] }));
    expect(await store().findKey(old.hash)).toMatchObject({
      expires: 5000,
      rotatedTo: next.id,
      used: 25n,
      pending: 70n,
    });
    expect(await store().findKey(next.hash)).toMatchObject({
      name: 'laptop',
      account: name,
      holder: 'ada',
      networks: ['10.0.0.0/8'],
      protocols: undefined,
      operations: ['generate'],
      spendCap: 100n,
      expires: undefined,
      used: 25n,
      pending: 70n,
    });
    expect(await store().reserve(request(`${name}-3`, name, { key: old.id }))).toEqual({
      status: 'short',
      by: 'cap',
      available: 5n,
    });
    expect(await store().rotateKey({ id: next.id, until: 5000, key: third })).toBe(true);
    expect(await store().findKey(third.hash)).toMatchObject({
      root: old.id,
      used: 25n,
      pending: 70n,
    });
  });
}
