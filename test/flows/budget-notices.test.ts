/** What callers are told of their budgets: in the headers of a reply, and in the fields of other gateways. */
import Anthropic from '@anthropic-ai/sdk';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { balance } from '../../plugins/meters/balance/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { keyHeaders, textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    plugins: [...keyHeaders(), ...textProtocols(), demo({ pace: 1 }), balance({ firstCredit: '0' })],
  });
  await gateway.verb('accounts create', ['company']);
});

const made = z.looseObject({ key: z.string(), id: z.string() });
const createKey = async (account: string, options: Record<string, string> = {}) =>
  made.parse(await gateway.verb('keys create', [], { account, credit: '5', ...options }));

const body = { model: 'demo/echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

async function call(key: string, wish: string | undefined, more: object = {}) {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(wish !== undefined && { 'x-tollgate-budget': wish }),
  };
  const response = await postJson(`${gateway.url}/v1/chat/completions`, { ...body, ...more }, headers);
  const text = await response.text();
  const told = [...response.headers].filter(([name]) => name.startsWith('x-tollgate-budget'));
  return { status: response.status, text, told: Object.fromEntries(told) };
}

it.each([false, true])(
  'a reply says what the tightest budget left before the call if asked to (stream: %s)',
  async (stream) => {
    const account = `told-${String(stream)}`;
    const { key } = await createKey(account);
    await gateway.verb('accounts move', [account, 'company']);
    await gateway.verb('budgets set', ['team', 'company', '2/day']);
    await gateway.verb('budgets set', ['account', account, '3/total']);
    expect((await call(key, undefined, { stream })).told).toEqual({});
    const { status, told } = await call(key, 'reply', { stream });
    expect([status, told]).toEqual([
      200,
      {
        'x-tollgate-budget-scope': 'team',
        'x-tollgate-budget-left': expect.stringMatching(/^1\.99\d+$/),
        'x-tollgate-budget-limit': '2',
        'x-tollgate-budget-per': 'day',
        'x-tollgate-budget-reset': expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/),
      },
    ]);
    await gateway.verb('budgets set', ['account', account, '0.5/total']);
    expect((await call(key, 'reply', { stream })).told).toEqual({
      'x-tollgate-budget-scope': 'account',
      'x-tollgate-budget-left': expect.stringMatching(/^0\.49\d+$/),
      'x-tollgate-budget-limit': '0.5',
      'x-tollgate-budget-per': 'total',
    });
  },
);

it('a reply without a hard budget says that there is none', async () => {
  const { key } = await createKey('free');
  await gateway.verb('budgets set', ['account', 'free', '2/day'], { soft: true });
  expect((await call(key, 'reply')).told).toEqual({ 'x-tollgate-budget-scope': 'none' });
});

it('a refusal by a budget says which, how large it is and when it resets', async () => {
  const { key } = await createKey('empty', { budget: '0/month' });
  const { status, told } = await call(key, 'reply');
  expect([status, told]).toMatchObject([
    402,
    {
      'x-tollgate-budget-scope': 'key',
      'x-tollgate-budget-left': '0',
      'x-tollgate-budget-limit': '0',
      'x-tollgate-budget-reset': expect.stringMatching(/-01T00:00:00\.000Z$/),
    },
  ]);
});

it('another wish than "reply" is refused by the name of the header', async () => {
  const { key } = await createKey('wrong');
  const { status, text } = await call(key, 'always');
  expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'x-tollgate-budget' } }]);
});

it("Anthropic's SDK reads the headers of a message", async () => {
  const { key } = await createKey('sdk', { budget: '1/week' });
  const client = new Anthropic({ apiKey: key, baseURL: `${gateway.url}/alpha` });
  const { response } = await client.messages
    .create(
      { model: 'demo/echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] },
      { headers: { 'x-tollgate-budget': 'reply' } },
    )
    .withResponse();
  expect(response.headers.get('x-tollgate-budget-left')).toBe('1');
});

const figures = z.object({
  limits: z.looseObject({ spend_used: z.string() }),
  data: z.looseObject({ usage: z.number(), usage_daily: z.number(), usage_monthly: z.number() }),
});

async function readKey(key: string) {
  const response = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
  return figures.parse(await response.json());
}

it("GET /v1/key has the fields of OpenRouter's, with the tightest limit", async () => {
  const limits = {
    spendCap: '3',
    budget: '2/day,9/month',
    callsPerMinute: '30',
    expires: '2999-01-01',
  };
  const { key } = await createKey('open', { name: 'laptop', holder: 'ada', ...limits });
  expect((await readKey(key)).data).toEqual({
    label: 'laptop',
    limit: 2,
    limit_remaining: 2,
    limit_reset: 'daily',
    usage: 0,
    usage_daily: 0,
    usage_weekly: 0,
    usage_monthly: 0,
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    include_byok_in_limit: false,
    is_free_tier: false,
    is_management_key: false,
    is_provisioning_key: false,
    creator_user_id: 'ada',
    expires_at: '2999-01-01T00:00:00.000Z',
    rate_limit: { requests: 30, interval: '1m', note: expect.any(String) },
  });
  const before = gateway.ends.length;
  await call(key, undefined);
  await gateway.ended(before + 1);
  await expect.poll(async () => (await readKey(key)).data.usage_daily).toBeGreaterThan(0);
  const { limits: own, data } = await readKey(key);
  const spent = Number(own.spend_used);
  expect(data).toMatchObject({ usage: spent, usage_daily: spent, usage_weekly: spent, usage_monthly: spent });
  expect(data['limit_remaining']).toBeCloseTo(2 - spent, 9);
});

it('GET /v1/key says in the fields of OpenRouter that nothing limits a key', async () => {
  const { key } = await createKey('boundless');
  expect((await readKey(key)).data).toMatchObject({
    label: `sk-...${key.slice(-4)}`,
    limit: null,
    limit_remaining: null,
    limit_reset: null,
    expires_at: null,
    creator_user_id: null,
    rate_limit: { requests: -1 },
  });
});
