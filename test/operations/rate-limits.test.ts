/**
 * How much a key and an account may call, in each protocol's format; in memory, and shared through
 * PostgreSQL.
 */
import { Client } from 'pg';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { PostgresSlots } from '../../plugins/operations/rate-limits/postgres-slots.ts';
import { Visitors } from '../../plugins/operations/rate-limits/visitors.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { networkOf } from '../../plugins/shared/network.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createDatabase } from '../support/postgres.ts';
import { startScriptedVendor, type Conduct, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { station } from '../support/station.ts';

const whole = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'one' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 30, completion_tokens: 70, total_tokens: 100 },
});
const well: Conduct = (response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(whole);

/** The client names its key; the part before the dash is the account. */
const anyKey = definePlugin({
  name: 'any-key',
  options: z.strictObject({}),
  apply(host) {
    host.hooks.authenticate.tapPromise('any-key', async ({ headers }) => {
      const key = String(headers['x-key'] ?? 'a-1');
      return { kind: 'user', key, account: key.split('-')[0] ?? '' };
    });
  },
});

let vendor: ScriptedVendor;
const running: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.close();
  await vendor.close();
});

async function start(limits: Parameters<typeof rateLimits>[0], conduct = well): Promise<TestGateway[]> {
  vendor = await startScriptedVendor(conduct);
  return again(limits);
}

async function again(limits: Parameters<typeof rateLimits>[0]): Promise<TestGateway[]> {
  const endpoints = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
  running.push(
    await startGateway({
      plugins: [
        anyKey(),
        chatCompletions(),
        messages(),
        station({ name: 'v', endpoints }),
        rateLimits(limits),
      ],
    }),
  );
  return running;
}

async function call({ url }: TestGateway, key = 'a-1', content = 'Hi'): Promise<Response> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-key': key },
    body: JSON.stringify({ model: 'house/model', messages: [{ role: 'user', content }] }),
  });
  await response.clone().text();
  return response;
}

async function first(limits: Parameters<typeof rateLimits>[0], conduct = well): Promise<TestGateway> {
  const [gateway] = await start(limits, conduct);
  if (!gateway) throw new Error('no gateway');
  return gateway;
}

describe('requests', () => {
  it('are reported in each reply, and refused with a retry-after beyond the limit', async () => {
    const gateway = await first({ perKey: { requests: 2 } });
    const ok = await call(gateway);
    expect([
      ok.status,
      ok.headers.get('x-ratelimit-limit-requests'),
      ok.headers.get('x-ratelimit-remaining-requests'),
    ]).toEqual([200, '2', '1']);
    expect(ok.headers.get('x-ratelimit-reset-requests')).toMatch(/^(1m0s|\d+s)$/);
    expect((await call(gateway)).headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const refused = await call(gateway);
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      {
        error: { code: 'rate_limit_exceeded', message: expect.stringContaining('2 requests in 60 seconds') },
      },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30);
    expect([
      refused.headers.get('x-should-retry'),
      refused.headers.get('x-ratelimit-remaining-requests'),
    ]).toEqual([null, '0']);
    expect(vendor.bodies).toHaveLength(2);
    expect((await call(gateway, 'a-2')).status).toBe(200);
  });

  it('are reported to clients of messages in their own headers', async () => {
    const gateway = await first({ perKey: { requests: 1, tokens: 5000 } });
    const ask = (): Promise<Response> =>
      fetch(`${gateway.url}/alpha/v1/messages`, {
        method: 'POST',
        headers: { 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({
          model: 'house/model',
          max_tokens: 5,
          messages: [{ role: 'user', content: 'Hi' }],
        }),
      });
    const asked = Date.now();
    const ok = await ask();
    expect(await ok.json()).toMatchObject({ type: 'message' });
    expect([
      ok.headers.get('anthropic-ratelimit-requests-limit'),
      ok.headers.get('anthropic-ratelimit-requests-remaining'),
    ]).toEqual(['1', '0']);
    expect(Date.parse(String(ok.headers.get('anthropic-ratelimit-tokens-reset')))).toBeGreaterThan(
      asked - 2000,
    );
    const refused = await ask();
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: { type: 'rate_limit_error' } },
    ]);
    expect(refused.headers.get('retry-after')).not.toBeNull();
  });

  it('of all keys of an account count together, and refused ones do not count', async () => {
    const gateway = await first({ perAccount: { requests: 3 }, perKey: { requests: 1 } });
    const statuses: number[] = [];
    for (const key of ['a-1', 'a-1', 'a-2', 'a-2', 'a-3', 'a-4', 'b-1'])
      statuses.push((await call(gateway, key)).status);
    expect(statuses).toEqual([200, 429, 200, 429, 200, 429, 200]);
  });

  it('are reported for the key or its account, whichever has less left', async () => {
    const gateway = await first({ perAccount: { requests: 3 }, perKey: { requests: 2 } });
    const told: (string | null)[][] = [];
    for (const key of ['a-1', 'a-2', 'a-3']) {
      const { headers } = await call(gateway, key);
      told.push(['limit', 'remaining'].map((word) => headers.get(`x-ratelimit-${word}-requests`)));
    }
    expect(told).toEqual([
      ['2', '1'],
      ['2', '1'],
      ['3', '0'],
    ]);
  });
});

describe('tokens', () => {
  it('are counted by what a call used, once it is known', async () => {
    const gateway = await first({ perKey: { tokens: 250 } });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      statuses.push((await call(gateway)).status);
      await gateway.ended(statuses.length);
    }
    // A hundred each: the third takes what is left, and more, and the fourth waits.
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it('that can never fit are refused without a retry-after', async () => {
    const gateway = await first({ perKey: { tokens: 50 } });
    const refused = await call(gateway, 'a-1', 'x'.repeat(1000));
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([413, 'false']);
    expect((await call(gateway)).status).toBe(200);
  });
});

describe('a stream', () => {
  it('reports what is left in its headers, before its first event', async () => {
    vendor = await startScriptedVendor(
      (response) => void setTimeout(() => response.writeHead(500).end(), 500),
    );
    const endpoints = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
    const gateway = await startGateway({
      timeouts: { keepAlive: 0.1 },
      plugins: [
        anyKey(),
        chatCompletions(),
        station({ name: 'v', endpoints }),
        rateLimits({ perKey: { requests: 2 } }),
      ],
    });
    running.push(gateway);
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'house/model',
        messages: [{ role: 'user', content: 'Hi' }],
        stream: true,
      }),
    });
    expect([response.status, response.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '1']);
    expect(await response.text()).toMatch(/^: keep-alive\n/);
  });
});

describe('a call that every provider fails', () => {
  it('reports what is left as well', async () => {
    const failed = await call(
      await first({ perKey: { requests: 2 } }, (response) => void response.writeHead(500).end()),
    );
    expect([failed.status, failed.headers.get('x-ratelimit-remaining-requests')]).toEqual([502, '1']);
  });
});

describe('a window', () => {
  it('allows no more than its limit, whatever the previous window left', async () => {
    const gateway = await first(
      { perKey: { tokens: 1000 }, window: 1 },
      (response) => void setTimeout(() => response.writeHead(500).end(), 1200),
    );
    expect((await call(gateway, 'a-1', 'x'.repeat(3000))).status).toBe(502);
    vendor.conduct(well);
    expect(Number((await call(gateway)).headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(1000);
  });
});

describe('concurrent calls', () => {
  it('are limited, and admitted again when one ends in any way', async () => {
    const held: (() => void)[] = [];
    const refusal = '{"error":{"message":"No."}}';
    const gateway = await first(
      { perKey: { parallel: 2 } },
      (response) => void held.push(() => response.writeHead(400).end(refusal)),
    );
    const slow = [call(gateway), call(gateway)];
    await expect.poll(() => held.length).toBe(2);
    const refused = await call(gateway);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    for (const release of held.splice(0)) release();
    for (const each of slow) expect((await each).status).toBe(400);
    vendor.conduct(well);
    expect((await call(gateway)).status).toBe(200);
  });
});

it('without a configured limit, nothing is limited', async () => {
  const gateway = await first({});
  const { headers } = await call(gateway);
  expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
});

describe('through PostgreSQL', () => {
  it('processes count together, and each for itself while the database is out of reach', async () => {
    const database = await createDatabase(await (await fetch(inject('postgres'))).text());
    const [one] = await start({ perKey: { requests: 3 }, postgres: database.url });
    // Another limit creates another counter in this process; what the processes share is the database.
    const [, two] = await again({ perKey: { requests: 3, parallel: 50 }, postgres: database.url });
    if (!one || !two) throw new Error('no gateways');
    const statuses: number[] = [];
    for (const gateway of [one, two, one, two, one]) statuses.push((await call(gateway)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    await database.drop();
    expect((await call(two, 'b-1')).status).toBe(200);
  });

  it('processes count concurrent calls together, without those of a dead process', async () => {
    const database = await createDatabase(await (await fetch(inject('postgres'))).text());
    const held: (() => void)[] = [];
    const limits = { perKey: { parallel: 2 }, postgres: database.url };
    const [one] = await start(limits, (response) => void held.push(() => well(response, response.req, '')));
    const [, two] = await again({ ...limits, window: 61 });
    if (!one || !two) throw new Error('no gateways');
    const running = [call(one), call(two)];
    await expect.poll(() => held.length).toBe(2);
    expect([(await call(one)).status, (await call(two)).status]).toEqual([429, 429]);
    for (const release of held.splice(0)) release();
    await Promise.all(running);
    await Promise.all([one.ended(2), two.ended(2)]);
    vendor.conduct(well);
    expect([(await call(one)).status, (await call(two)).status]).toEqual([200, 200]);
    // Another process has two calls of this key: they count while it lives.
    const client = new Client(database.url);
    await client.connect();
    await client.query(`INSERT INTO tollgate_limited_processes VALUES ('other', now() + interval '1 hour')`);
    await client.query(
      `UPDATE tollgate_limited_calls SET running = '{"x": "other", "y": "other"}' WHERE name = 'key:a-1'`,
    );
    expect((await call(one)).status).toBe(429);
    await client.query(`UPDATE tollgate_limited_processes SET until = now() WHERE process = 'other'`);
    expect((await call(one)).status).toBe(200);
    await client.end();
    await database.drop();
    expect((await call(two)).status).toBe(200);
  });
});

describe('concurrent calls in a PostgreSQL', () => {
  it('send no heartbeat if the database could not be opened', async () => {
    vi.useFakeTimers();
    const pool = {
      query: vi.fn<() => Promise<never>>(async () => Promise.reject(new Error('permission denied'))),
    };
    await expect(PostgresSlots.open(pool)).rejects.toThrow('permission denied');
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(pool.query).toHaveBeenCalledTimes(1);
  });
});

describe('public pages', () => {
  async function look(url: string, address: string, path = '/v1/models'): Promise<Response> {
    const response = await fetch(url + path, { headers: { 'x-forwarded-for': address } });
    await response.clone().text();
    return response;
  }

  async function open(limits: Parameters<typeof rateLimits>[0], trustedProxies = 1): Promise<string> {
    vendor = await startScriptedVendor(well);
    running.push(
      await startGateway({
        server: { trustedProxies },
        plugins: [
          anyKey(),
          chatCompletions(),
          messages(),
          generateContent(),
          station({ name: 'v', endpoints: {} }),
          prometheus(),
          rateLimits(limits),
        ],
      }),
    );
    return running[0]?.url ?? '';
  }

  it('are limited for each address in a window; a refusal in any protocol has a retry-after', async () => {
    const url = await open({ perAddress: { requests: 3 } });
    for (let count = 0; count < 3; count += 1) expect((await look(url, '203.0.113.7')).status).toBe(200);
    const bodies = {
      '/v1/models': { error: { code: 'rate_limit_exceeded' } },
      '/alpha/v1/models': { type: 'error', error: { type: 'rate_limit_error' } },
      '/beta/v1beta/models': { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } },
      '/metrics': { error: expect.any(String) },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const refused = await look(url, '203.0.113.7', path);
      expect([refused.status, await refused.json()], path).toMatchObject([429, body]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    expect((await look(url, '203.0.113.8')).status).toBe(200);
    expect((await fetch(`${url}/healthz`, { headers: { 'x-forwarded-for': '203.0.113.7' } })).status).toBe(
      200,
    );
  });

  it('are shown again when the window is over', async () => {
    const url = await open({ perAddress: { requests: 1 }, window: 3 });
    expect([(await look(url, '203.0.113.7')).status, (await look(url, '203.0.113.7')).status]).toEqual([
      200, 429,
    ]);
    await expect.poll(async () => (await look(url, '203.0.113.7')).status).toBe(200);
  });

  it('are limited for a client that forges its address too', async () => {
    const url = await open({ perAddress: { requests: 1 } });
    expect((await look(url, '203.0.113.7')).status).toBe(200);
    for (const told of [
      '198.51.100.1, 203.0.113.7',
      '127.0.0.1, 203.0.113.7',
      '203.0.113.7:999',
      ', 203.0.113.7',
    ])
      expect((await look(url, told)).status, told).toBe(429);
  });

  it('are not limited for this machine, and limit no call', async () => {
    const url = await open({ perAddress: { requests: 1 } }, 0);
    for (let count = 0; count < 5; count += 1) expect((await look(url, '203.0.113.7')).status).toBe(200);
  });
});

describe('an address', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '20010db800010002/64'],
    ['2001:db8:1:2::9', '20010db800010002/64'],
    ['2001:db8:1:3::9', '20010db800010003/64'],
    ['2001:DB8::1', '20010db800000000/64'],
    ['', ''],
    ['no address:', 'no address:'],
  ])('%s counts as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it('has one of a fixed number of counters, which it shares with its network and few others', () => {
    const visitors = new Visitors(1, 60);
    const drawers = new Set(
      Array.from({ length: 100_000 }, (_, count) =>
        visitors.drawerOf(`10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`),
      ),
    );
    expect(drawers.size).toBeLessThanOrEqual(65_536);
    expect(drawers.size).toBeGreaterThan(45_000);
    expect(visitors.drawerOf('2001:db8:1:2::9')).toBe(visitors.drawerOf('2001:db8:1:2:3:4:5:6'));
  });

  it('has a counter that an outsider cannot predict', () => {
    const [one, other] = [new Visitors(1, 60), new Visitors(1, 60)];
    const addresses = Array.from({ length: 20 }, (_, count) => `203.0.113.${count}`);
    expect(addresses.map((address) => one.drawerOf(address))).not.toEqual(
      addresses.map((address) => other.drawerOf(address)),
    );
  });
});
