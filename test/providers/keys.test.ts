/** A provider with several keys: each signs its own calls, and one at its limit leaves the others to work. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { defineProvider } from '../../plugins/shared/kit.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createHost } from '../support/host.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

const spec = {
  name: 'keyed',
  env: { key: 'KEYED_API_KEY', baseUrl: 'KEYED_BASE_URL' },
  baseUrl: 'https://keyed.invalid/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
} as const;
const listed = defineProvider({
  ...spec,
  models: new URL('../../plugins/providers/catalogue/deepseek.json', import.meta.url),
});
const whole = chatReply('one', {}, [3, 4]);

describe('over sockets', () => {
  let vendor: ScriptedVendor;
  let gateway: TestGateway;
  let seen: string[];
  const full = new Set<string>();

  beforeAll(async () => {
    vendor = await startScriptedVendor((response, request) => {
      const key = String(request.headers.authorization).replace('Bearer ', '');
      seen.push(key);
      if (full.has(key))
        return void response
          .writeHead(429, { 'retry-after': '60' })
          .end('{"error":{"message":"slow down","code":"rate_limit_exceeded"}}');
      sendJson(response, whole);
    });
    gateway = await startGateway({
      plugins: [
        acceptAnyKey(),
        chatCompletions(),
        listed({ apiKey: ['k-1', 'k-2', 'k-3'], baseUrl: vendor.origin }),
        keys(),
        health(),
      ],
    });
  });

  async function call(): Promise<Response> {
    const response = await postJson(`${gateway.url}/v1/chat/completions`, {
      model: 'deepseek/deepseek-v4-flash',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    await response.text();
    return response;
  }

  it('the keys take turns, and a call whose key is at its limit continues at once on another', async () => {
    seen = [];
    for (let count = 0; count < 6; count += 1) expect((await call()).status).toBe(200);
    expect(seen.toSorted()).toEqual(['k-1', 'k-1', 'k-2', 'k-2', 'k-3', 'k-3']);
    full.add('k-2');
    seen = [];
    for (let count = 0; count < 9; count += 1) expect((await call()).status).toBe(200);
    expect(seen.filter((key) => key === 'k-2')).toHaveLength(1);
    full.add('k-1').add('k-3');
    for (let count = 0; count < 3; count += 1) await call();
    seen = [];
    const refused = await call();
    expect([refused.status, seen.length]).toEqual([429, 1]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(refused.headers.get('x-should-retry')).toBeNull();
  });
});

it('one key makes one provider, which has no number', () => {
  const host = createHost([listed({ apiKey: 'only' })]);
  expect(host.catalog.find('deepseek/deepseek-v4-pro').map(({ provider }) => provider.credential)).toEqual([
    undefined,
  ]);
});

it('the provider is asked for the models of each key', async () => {
  const host = createHost([
    defineProvider({ ...spec, models: { discover: '/models' } })({ apiKey: ['a', 'b'] }),
  ]);
  const ask = vi.fn<typeof fetch>(async () => Response.json({ data: [] }));
  vi.stubGlobal('fetch', ask);
  await host.catalog.lookAtListings();
  vi.unstubAllGlobals();
  expect(ask.mock.calls.map(([, options]) => options?.headers)).toEqual([
    { authorization: 'Bearer a' },
    { authorization: 'Bearer b' },
  ]);
});

it("the provider's own timeout applies, if it states one", async () => {
  const silent = await startScriptedVendor(() => undefined);
  const gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      chatCompletions(),
      listed({ apiKey: 'k', baseUrl: silent.origin, timeouts: { reply: 0.2 } }),
    ],
  });
  const response = await postJson(`${gateway.url}/v1/chat/completions`, {
    model: 'deepseek/deepseek-v4-flash',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  expect([response.status, await response.json()]).toMatchObject([504, { error: { code: 'timeout' } }]);
});

it('an empty list of keys is refused by its path', () => {
  expect(() => listed({ apiKey: [] })).toThrow(/apiKey/);
});
