/** The plugin in a whole gateway: keys, paid calls, the balance endpoint and the commands. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  definePlugin,
  type Host,
  type ModelFacts,
  type PluginFactory,
  type UpstreamRequest,
  GatewayError,
} from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { createSecret } from '../../plugins/shared/secret.ts';
import { expectSound } from '../contract/books.ts';
import { buildRouted } from '../support/exchange.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createHost, type TestHost } from '../support/host.ts';
import { plain } from '../support/plain-protocol.ts';
import { postJson } from '../support/post.ts';
import { newKey as keyRecord } from './calls.ts';
import { readBooks } from './ledger-file.ts';
import { target } from './targets.ts';

type Options = Parameters<typeof balance>[0];

const keySchema = z.object({ key: z.string(), id: z.string(), account: z.string() });
let dataFolder: string;
let running: TestGateway | undefined;

/** What the test's provider was asked, and what it answers: tokens of usage, or an error status. */
interface Vendor {
  readonly asked: { prompt: string; limit?: number }[];
  answer: { in: number; out: number } | { status: number };
  readonly facts?: Partial<ModelFacts>;
}

async function* yieldOnce(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function defineHouse(vendor: Vendor): PluginFactory<z.ZodObject> {
  return definePlugin({
    name: 'house',
    options: z.strictObject({}),
    apply(host) {
      const { provider, model } = target('house', { input: '1', output: '2' }, vendor.facts);
      host.providers.add(provider);
      host.catalog.offer(provider, [model]);
      host.hooks.dispatch.tapPromise('house', async (request: UpstreamRequest) => {
        vendor.asked.push(JSON.parse(String(request.body)));
        const { answer } = vendor;
        const status = 'status' in answer ? answer.status : 200;
        return {
          status,
          headers: { 'content-type': 'application/json' },
          body: yieldOnce(JSON.stringify({ model: 'm', text: 'hello', ...answer })),
        };
      });
      // Not in the verbatim lane, so that the encoder sends the limit and the test can see it.
      host.hooks.transformRequest.tapPromise(
        { name: 'translated', when: () => true },
        async (request) => request,
      );
    },
  });
}

async function start(
  vendor: Vendor = { asked: [], answer: { in: 3, out: 4 } },
  options: Options = {},
  more?: (host: Host) => void,
): Promise<TestGateway> {
  const extra = definePlugin({ name: 'extra', options: z.strictObject({}), apply: (host) => more?.(host) });
  running = await startGateway({
    dataFolder,
    plugins: [plain(), bearer(), defineHouse(vendor)(), balance(options), extra()],
  });
  return running;
}

async function createKey(
  gateway: TestGateway,
  options: Record<string, string> = {},
): Promise<z.infer<typeof keySchema>> {
  return keySchema.parse(await gateway.verb('keys create', [], options));
}

function call(gateway: TestGateway, key: string, body: object = {}): Promise<Response> {
  return postJson(
    `${gateway.url}/plain`,
    { model: 'house/model', prompt: 'hello', ...body },
    { authorization: `Bearer ${key}` },
  );
}

const readLedger = () => readBooks(join(dataFolder, 'ledger.db'));

function useFolder(): void {
  beforeEach(() => {
    dataFolder = makeFolder();
  });
  afterEach(async () => {
    await running?.close();
    running = undefined;
  });
}

useFolder();

describe('a call', () => {
  it('is charged for what it used, to the nano, before its reply ends', async () => {
    const gateway = await start();
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    const response = await call(gateway, key, { limit: 50 });
    expect(await response.json()).toMatchObject({ text: 'hello' });
    expect(await gateway.verb('balance', [account])).toEqual({
      account,
      currency: 'USD',
      balance: '1.999989',
      total: '2',
      used: '0.000011',
      pending: '0',
      available: '1.999989',
    });
    const booked = readLedger().entries.filter((entry) => entry.account === account);
    expect(booked.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['credit', undefined],
      ['reserve', undefined],
      ['post', 'completed'],
    ]);
    expectSound(readLedger());
  });

  it('gets its output limit lowered to what the balance covers', async () => {
    const vendor: Vendor = { asked: [], answer: { in: 3, out: 4 } };
    const gateway = await start(vendor);
    // Five bytes of input at 1000 nano each leave 100 000 for output at 2000.
    const { key } = await createKey(gateway, { account: 'short', credit: '0.000105' });
    expect((await call(gateway, key, { limit: 900 })).status).toBe(200);
    expect(vendor.asked).toMatchObject([{ limit: 50 }]);
  });

  it('gets a 402 with advice and reaches no provider if the balance is below its least cost', async () => {
    const vendor: Vendor = { asked: [], answer: { in: 3, out: 4 } };
    const gateway = await start(vendor);
    const { key } = await createKey(gateway, { account: 'poor', credit: '0.000036999' });
    const response = await call(gateway, key);
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({
      plain_error: 'out_of_balance',
      message: expect.stringMatching(/0\.000037 USD.*"poor" has 0\.000036999 USD.*credit add poor/),
    });
    expect(vendor.asked).toEqual([]);
    await gateway.verb('credit add', ['poor', '0.000000001']);
    expect((await call(gateway, key)).status).toBe(200);
  });

  it('is refused if the balance is below its worst case and the configuration says `refuse`', async () => {
    const gateway = await start(undefined, { whenShort: 'refuse' });
    const { key } = await createKey(gateway, { account: 'short', credit: '0.000105' });
    expect((await call(gateway, key, { limit: 51 })).status).toBe(402);
    expect((await call(gateway, key, { limit: 50 })).status).toBe(200);
  });

  it('needs no balance if its model is free, and is recorded all the same', async () => {
    const gateway = await start({
      asked: [],
      answer: { in: 3, out: 4 },
      facts: { price: undefined, free: true },
    });
    const { key } = await createKey(gateway, { account: 'broke' });
    expect((await call(gateway, key)).status).toBe(200);
    expect(
      readLedger()
        .entries.filter(({ account }) => account === 'broke')
        .map(({ kind }) => kind),
    ).toEqual(['reserve', 'post']);
  });

  it('costs nothing if the provider failed, and the ledger says why', async () => {
    const gateway = await start({ asked: [], answer: { status: 500 } });
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    expect((await call(gateway, key)).status).toBe(502);
    expect(await gateway.verb('balance', [account])).toMatchObject({ used: '0', pending: '0' });
    expect(readLedger().entries.at(-1)).toMatchObject({ kind: 'void', reason: 'upstream_failed' });
  });

  it('releases its reservation if a later plugin refuses it', async () => {
    const gateway = await start(undefined, {}, (host) =>
      host.hooks.authorize.tapPromise('limiter', async () => {
        throw new GatewayError('rate_limited', 'slow down');
      }),
    );
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    expect((await call(gateway, key)).status).toBe(429);
    expect(await gateway.verb('balance', [account])).toMatchObject({ used: '0', pending: '0' });
    expect(readLedger().entries.at(-1)).toMatchObject({ kind: 'void', reason: 'rate_limited' });
  });

  it('is charged in full if it used more than was reserved, and counted as overage', async () => {
    let metrics: Host['metrics'] | undefined;
    const gateway = await start({ asked: [], answer: { in: 2000, out: 10 } }, {}, (host) => {
      ({ metrics } = host);
    });
    const countOverage = async () =>
      (await metrics?.getSingleMetric('tollgate_ledger_overage_total')?.get())?.values[0]?.value ?? 0;
    const before = await countOverage();
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    await call(gateway, key, { limit: 10 });
    expect(await gateway.verb('balance', [account])).toMatchObject({ used: '0.00202', pending: '0' });
    expect(readLedger().entries.at(-1)).toMatchObject({ kind: 'overage' });
    expect(await countOverage()).toBe(before + 1);
    expect(gateway.log.join('')).toContain('cost more than was reserved');
  });
});

it('a token count reserves nothing: it does not even ask the ledger', async () => {
  const { calls } = createHost([balance()]);
  const exchange = buildRouted(target('house', { input: '1', output: '2' }));
  const grant = { targets: exchange.targets };
  await expect(calls.authorize.promise(grant, exchange)).rejects.toMatchObject({
    code: 'ledger_unavailable',
  });
  expect(await calls.authorize.promise(grant, { ...exchange, operation: 'count' })).toBe(grant);
});

it.each<[Options, RegExp]>([
  [{ firstCredit: '-1' }, /firstCredit.*negative/],
  [{ leastOutput: 0 }, /leastOutput/],
  [{ addresses: ['v1'] }, /addresses/],
])('a wrong option %j is reported by name', (options, message) => {
  expect(() => balance(options)).toThrow(message);
});

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
