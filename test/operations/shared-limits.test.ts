/** Limits that processes count together, and limits of addresses without a key. */
import { describe, expect, it } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { NetworkCounts, toNetwork } from '../../plugins/shared/network.ts';
import { openAccount } from '../balance/calls.ts';
import { openDatabase } from '../support/database.ts';
import { startGateway } from '../support/gateway.ts';
import { testProvider } from '../support/test-provider.ts';
import {
  startAnother,
  anyKey,
  call,
  forgetGateways,
  openVendor,
  running,
  start,
  vendor,
  answerWell,
} from './limited.ts';

forgetGateways();

it('gateways that share a ledger in PostgreSQL count requests and concurrent calls together', async () => {
  const database = await openDatabase();
  const store = await openPostgres({ url: database.url });
  await openAccount(store, 'a', 10n ** 12n);
  const ledger = balance({ store: { kind: 'postgres', url: database.url }, firstCredit: '0' });
  const held: (() => void)[] = [];
  const limits = { perKey: { requests: 3, parallel: 2 }, shared: true };
  const [one] = await start(
    limits,
    (response) => void held.push(() => answerWell(response, response.req, '')),
    [ledger],
  );
  const [, two] = await startAnother({ ...limits, window: 61 }, [ledger]);
  if (!one || !two) throw new Error('no gateways');
  const running = [call(one), call(two)];
  await expect.poll(() => held.length).toBe(2);
  expect([(await call(one)).status, (await call(two)).status]).toEqual([429, 429]);
  for (const release of held.splice(0)) release();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
  await Promise.all([one.ended(2), two.ended(2)]);
  vendor.conduct(answerWell);
  expect([(await call(one)).status, (await call(two)).status]).toEqual([200, 429]);
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0 });
  await store.close();
  // The gateways close behind the test, and do without the database.
});

describe('public pages', () => {
  async function look(url: string, address: string, path = '/v1/models'): Promise<Response> {
    const response = await fetch(url + path, { headers: { 'x-forwarded-for': address } });
    await response.clone().text();
    return response;
  }

  async function open(limits: Parameters<typeof rateLimits>[0], trustedProxies = 1): Promise<string> {
    await openVendor();
    running.push(
      await startGateway({
        server: { trustedProxies },
        plugins: [
          anyKey(),
          chatCompletions(),
          messages(),
          generateContent(),
          testProvider({ name: 'v', endpoints: {} }),
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
    for (const message of [
      '198.51.100.1, 203.0.113.7',
      '127.0.0.1, 203.0.113.7',
      '203.0.113.7:999',
      ', 203.0.113.7',
    ])
      expect((await look(url, message)).status, message).toBe(429);
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
    expect(toNetwork(address)).toBe(network);
  });

  it('is forgotten before the window is over only if ten thousand others come', () => {
    const counts = new NetworkCounts(1, 60);
    const add = (number: number): void => counts.add(`10.0.${number >> 8}.${number & 255}`, 'again');
    for (let number = 0; number < 10_000; number += 1) add(number);
    expect(() => add(0)).toThrow('again');
    add(10_000);
    expect(() => add(1)).not.toThrow();
    expect(() => add(10_000)).toThrow('again');
  });
});
