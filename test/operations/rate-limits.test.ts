/**
 * How much a key and an account may call, in each protocol's format; in memory, and shared through
 * PostgreSQL.
 */
import { expect, it } from 'vitest';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { testProvider } from '../support/test-provider.ts';
import { anyKey, call, forgetGateways, openVendor, running, start, vendor, answerWell } from './limited.ts';

forgetGateways();

async function startOne(
  limits: Parameters<typeof rateLimits>[0],
  conduct = answerWell,
): Promise<TestGateway> {
  const [gateway] = await start(limits, conduct);
  if (!gateway) throw new Error('no gateway');
  return gateway;
}

it('requests are reported in each reply, and refused with a retry-after beyond the limit', async () => {
  const gateway = await startOne({ perKey: { requests: 2 } });
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

it('requests are reported to clients of messages in their own headers', async () => {
  const gateway = await startOne({ perKey: { requests: 1, tokens: 5000 } });
  const ask = (): Promise<Response> =>
    postJson(
      `${gateway.url}/alpha/v1/messages`,
      {
        model: 'house/model',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'Hi' }],
      },
      { 'anthropic-version': '2023-06-01' },
    );
  const requestCount = Date.now();
  const ok = await ask();
  expect(await ok.json()).toMatchObject({ type: 'message' });
  expect([
    ok.headers.get('anthropic-ratelimit-requests-limit'),
    ok.headers.get('anthropic-ratelimit-requests-remaining'),
  ]).toEqual(['1', '0']);
  expect(Date.parse(String(ok.headers.get('anthropic-ratelimit-tokens-reset')))).toBeGreaterThan(
    requestCount - 2000,
  );
  const refused = await ask();
  expect([refused.status, await refused.json()]).toMatchObject([
    429,
    { error: { type: 'rate_limit_error' } },
  ]);
  expect(refused.headers.get('retry-after')).not.toBeNull();
});

it('requests of all keys of an account count together, and refused ones do not count', async () => {
  const gateway = await startOne({ perAccount: { requests: 3 }, perKey: { requests: 1 } });
  const statuses: number[] = [];
  for (const key of ['a-1', 'a-1', 'a-2', 'a-2', 'a-3', 'a-4', 'b-1'])
    statuses.push((await call(gateway, key)).status);
  expect(statuses).toEqual([200, 429, 200, 429, 200, 429, 200]);
});

it('requests are reported for the key or its account, whichever has less left', async () => {
  const gateway = await startOne({ perAccount: { requests: 3 }, perKey: { requests: 2 } });
  const allowances: (string | null)[][] = [];
  for (const key of ['a-1', 'a-2', 'a-3']) {
    const { headers } = await call(gateway, key);
    allowances.push(['limit', 'remaining'].map((word) => headers.get(`x-ratelimit-${word}-requests`)));
  }
  expect(allowances).toEqual([
    ['2', '1'],
    ['2', '1'],
    ['3', '0'],
  ]);
});

it('tokens are counted by what a call used, once it is known', async () => {
  const gateway = await startOne({ perKey: { tokens: 250 } });
  const statuses: number[] = [];
  for (let count = 0; count < 4; count += 1) {
    statuses.push((await call(gateway)).status);
    await gateway.ended(statuses.length);
  }
  // A hundred each: the third takes what is left, and more, and the fourth waits.
  expect(statuses).toEqual([200, 200, 200, 429]);
});

it('tokens that can never fit are refused without a retry-after', async () => {
  const gateway = await startOne({ perKey: { tokens: 50 } });
  const refused = await call(gateway, 'a-1', 'x'.repeat(1000));
  expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([413, 'false']);
  expect((await call(gateway)).status).toBe(200);
});

it('a stream reports what is left in its headers, before its first event', async () => {
  await openVendor((response) => void setTimeout(() => response.writeHead(500).end(), 500));
  const endpoints = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
  const gateway = await startGateway({
    timeouts: { keepAlive: 0.1 },
    plugins: [
      anyKey(),
      chatCompletions(),
      testProvider({ name: 'v', endpoints }),
      rateLimits({ perKey: { requests: 2 } }),
    ],
  });
  running.push(gateway);
  const response = await postJson(`${gateway.url}/v1/chat/completions`, {
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
  });
  expect([response.status, response.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '1']);
  expect(await response.text()).toMatch(/^: keep-alive\n/);
});

it('a call that every provider fails reports what is left as well', async () => {
  const failed = await call(
    await startOne({ perKey: { requests: 2 } }, (response) => void response.writeHead(500).end()),
  );
  expect([failed.status, failed.headers.get('x-ratelimit-remaining-requests')]).toEqual([502, '1']);
});

it('a window allows no more than its limit, whatever the previous window left', async () => {
  const gateway = await startOne(
    { perKey: { tokens: 1000 }, window: 1 },
    (response) => void setTimeout(() => response.writeHead(500).end(), 1200),
  );
  expect((await call(gateway, 'a-1', 'x'.repeat(3000))).status).toBe(502);
  vendor.conduct(answerWell);
  expect(Number((await call(gateway)).headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(1000);
});

it('concurrent calls are limited, and admitted again when one ends in any way', async () => {
  const held: (() => void)[] = [];
  const refusal = '{"error":{"message":"No."}}';
  const gateway = await startOne(
    { perKey: { parallel: 2 } },
    (response) => void held.push(() => response.writeHead(400).end(refusal)),
  );
  const slow = [call(gateway), call(gateway)];
  await expect.poll(() => held.length).toBe(2);
  const refused = await call(gateway);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  for (const release of held.splice(0)) release();
  for (const each of slow) expect((await each).status).toBe(400);
  vendor.conduct(answerWell);
  expect((await call(gateway)).status).toBe(200);
});

it('without a configured limit, nothing is limited', async () => {
  const gateway = await startOne({});
  const { headers } = await call(gateway);
  expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
});
