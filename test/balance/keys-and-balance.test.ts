/** What the plugin shows and makes: the balance endpoint, the first key, the commands. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { createSecret } from '../../plugins/shared/secret.ts';
import { type TestGateway } from '../support/gateway.ts';
import { createHost, type TestHost } from '../support/host.ts';
import { newKey as keyRecord } from './calls.ts';
import { readLedger, call, dataFolder, createKey, start, useFolder } from './paid-harness.ts';

useFolder();

async function get(
  gateway: TestGateway,
  path: string,
  key?: string,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(gateway.url + path, {
    headers: key ? { authorization: `Bearer ${key}` } : {},
  });
  return { status: response.status, body: await response.json() };
}

describe('the balance endpoint', () => {
  it.each(['/v1/user/balance', '/alpha/user/balance', '/beta/user/balance'])(
    'answers at %s with posted amounts as numbers',
    async (path) => {
      const gateway = await start();
      const { key } = await createKey(gateway, { account: 'someone', credit: '2' });
      await call(gateway, key, { limit: 50 });
      expect(await get(gateway, path, key)).toEqual({
        status: 200,
        body: { is_active: true, balance: 1.999989, total: 2, used: 0.000011, currency: 'USD' },
      });
    },
  );

  it('answers 401 in its own format to a missing, malformed, unknown or disabled key', async () => {
    const gateway = await start();
    const { key, id } = await createKey(gateway);
    await gateway.verb('keys disable', [id]);
    for (const bad of [undefined, 'sk-junk', createSecret(), key]) {
      expect(await get(gateway, '/v1/user/balance', bad), bad ?? 'none').toEqual({
        status: 401,
        body: { error: 'unauthenticated', is_active: false },
      });
    }
  });

  it('answers 401 to operator keys and to accounts of other plugins', async () => {
    const kinds = new Map([
      ['op-1', 'operator'],
      ['other-1', 'user'],
    ] as const);
    const gateway = await start(undefined, {}, (host) =>
      host.keyrings.add({
        name: 'others',
        async verify(key) {
          const kind = kinds.get(key === 'op-1' ? key : 'other-1');
          return kind && { kind, account: 'elsewhere', key };
        },
      }),
    );
    for (const bad of ['op-1', 'other-1']) {
      expect(await get(gateway, '/v1/user/balance', bad), bad).toEqual({
        status: 401,
        body: { error: 'unauthenticated', is_active: false },
      });
    }
  });
});

it('a first start makes no key without credit, and prints how to make one', async () => {
  const gateway = await start(undefined, { firstCredit: '0' });
  expect(await gateway.verb('keys list')).toEqual([]);
  expect(gateway.printed).toEqual([expect.stringContaining('`keys create --credit 5`')]);
});

it('a first start makes a key with credit and prints it once', async () => {
  const messages: string[] = [];
  const closers: (() => unknown)[] = [];
  const host: TestHost = {
    ...createHost([]),
    dataFolder,
    addNote: (line) => void messages.push(line),
    async openResource(_key, options, open, close) {
      const thing = await open(options);
      closers.push(() => close(thing));
      return thing;
    },
  };
  balance({ firstCredit: '3' }).apply(host);
  await host.calls.ready.promise();
  await host.calls.ready.promise();
  expect(messages).toHaveLength(1);
  const secret = /sk-\w+/.exec(messages[0] ?? '')?.[0] ?? '';
  expect(await host.keyrings.get('balance').verify(secret)).toMatchObject({
    kind: 'user',
    account: 'default',
  });
  await Promise.all(closers.map((close) => close()));
  expect(readLedger().accounts).toEqual([{ name: 'default', total: 3_000_000_000n, used: 0n, pending: 0n }]);
});

describe('the commands', () => {
  it('show a new secret once, list its key without it, and disable it by its last characters', async () => {
    const gateway = await start();
    const { key, id } = await createKey(gateway, { account: 'someone', name: 'laptop' });
    const listed = await gateway.verb('keys list');
    expect(listed).toContainEqual(
      expect.objectContaining({
        id,
        lastFour: key.slice(-4),
        name: 'laptop',
        account: 'someone',
        disabled: false,
        created: expect.stringMatching(/^20/),
      }),
    );
    expect(JSON.stringify(listed)).not.toContain(key);
    expect(await gateway.verb('keys disable', [key.slice(-4)])).toMatchObject({ id, disabled: true });
    expect((await call(gateway, key)).status).toBe(401);
  });

  it("list the candidates if a key's name is ambiguous", async () => {
    const gateway = await start();
    await expect(gateway.verb('keys disable', ['????'])).rejects.toThrow('no key "????"');
    const store = await openSqlite({ file: join(dataFolder, 'ledger.db') });
    for (const digit of ['a', 'b'])
      await store.createKey(keyRecord(digit.repeat(16), 'default', { lastFour: 'SAME' }));
    await store.close();
    await expect(gateway.verb('keys disable', ['SAME'])).rejects.toThrow(
      /aaaaaaaaaaaaaaaa[^]*bbbbbbbbbbbbbbbb/,
    );
  });

  it('add credit once for one reference, and refuse invalid amounts', async () => {
    const gateway = await start();
    await createKey(gateway, { account: 'someone' });
    expect(
      await gateway.verb('credit add', ['someone', '5'], { reference: 'invoice-1', kind: 'gift-card' }),
    ).toMatchObject({ total: '5' });
    expect(await gateway.verb('credit add', ['someone', '5'], { reference: 'invoice-1' })).toMatchObject({
      total: '5',
    });
    await expect(gateway.verb('credit add', ['someone', '6'], { reference: 'invoice-1' })).rejects.toThrow(
      'belongs to another credit',
    );
    await expect(gateway.verb('credit add', ['someone', '-1'])).rejects.toThrow('above 0');
    await expect(gateway.verb('credit add', ['someone', 'lots'])).rejects.toThrow('not an amount');
    await expect(gateway.verb('credit add', ['someone', '1'], { kind: 'gift' })).rejects.toThrow(
      'top-up, bonus, gift-card',
    );
    await expect(gateway.verb('credit add', ['unknown', '1'])).rejects.toThrow('no account "unknown"');
    await expect(gateway.verb('keys create', [], { account: 'a b' })).rejects.toThrow('an account is named');
  });
});
