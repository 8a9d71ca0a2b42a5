/** Limits of models and teams, and of input and output tokens apart; in memory, and shared by a ledger. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Plugin } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

type Limits = Parameters<typeof rateLimits>[0];

/** The client names its key, the accounts above it and its own account: `company/search/ada-1`. */
const namedKey = definePlugin({
  name: 'named-key',
  options: z.strictObject({}),
  apply(host) {
    host.hooks.authenticate.tapPromise('named-key', async ({ headers }) => {
      const [key = '', ...teams] = String(headers['x-key']).split('/').toReversed();
      return { kind: 'user', key, account: key.split('-')[0] ?? '', teams };
    });
  },
});

const usage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60 },
};
const reply = chatReply('Twenty tokens, more or less. '.repeat(5), { usage });

async function start(limits: Limits, plugins: readonly Plugin[] = [namedKey()]): Promise<TestGateway> {
  const vendor = await startScriptedVendor((response) => sendJson(response, reply));
  const endpoints = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
  const gateway = await startGateway({
    plugins: [
      ...plugins,
      chatCompletions(),
      messages(),
      testProvider({ name: 'v', endpoints }),
      demo({ pace: 1 }),
      rateLimits(limits),
    ],
  });
  onTestFinished(async () => {
    await gateway.close();
  });
  return gateway;
}

async function call(
  { url }: TestGateway,
  key: string,
  model = 'house/model',
  headers = {},
): Promise<Response> {
  const body = { model, messages: [{ role: 'user', content: 'Hi '.repeat(200) }] };
  const response = await postJson(`${url}/v1/chat/completions`, body, { 'x-key': key, ...headers });
  await response.clone().text();
  return response;
}

async function listStatuses(
  gateway: TestGateway,
  calls: readonly (readonly [key: string, model?: string])[],
) {
  const statuses: number[] = [];
  for (const [key, model] of calls) {
    statuses.push((await call(gateway, key, model)).status);
    await gateway.ended(gateway.ends.length);
  }
  return statuses;
}

it('a limit of models counts calls of these models together, for each key', async () => {
  const gateway = await start({ limits: [{ per: 'key', models: ['demo/*'], requests: 2 }] });
  expect(
    await listStatuses(gateway, [
      ['a-1', 'demo/echo'],
      ['a-1'],
      ['a-1', 'demo/echo'],
      ['a-1', 'demo/echo'],
      ['a-1'],
      ['a-2', 'demo/echo'],
    ]),
  ).toEqual([200, 200, 200, 429, 200, 200]);
  const refused = await call(gateway, 'a-1', 'demo/echo');
  expect(await refused.json()).toMatchObject({
    error: { message: 'This key may use 2 requests of demo/* in 60 seconds. Try again later.' },
  });
  expect([
    Number(refused.headers.get('retry-after')) > 30,
    refused.headers.get('x-ratelimit-limit-requests'),
    refused.headers.get('x-ratelimit-remaining-requests'),
  ]).toEqual([true, '2', '0']);
});

it('a limit of a team counts its own account and all below it, and no other', async () => {
  const gateway = await start({ limits: [{ per: 'team', team: 'company', requests: 3 }] });
  expect(
    await listStatuses(gateway, [
      ['company-1'],
      ['company/search/ada-1'],
      ['x/bob-1'],
      ['company/eve-1'],
      ['company/eve-2'],
    ]),
  ).toEqual([200, 200, 200, 200, 429]);
  expect(await (await call(gateway, 'company/eve-1')).json()).toMatchObject({
    error: { message: 'The team "company" may use 3 requests in 60 seconds. Try again later.' },
  });
  expect(await listStatuses(gateway, [['x/bob-1'], ['z-1']])).toEqual([200, 200]);
});

it('a limit for each account of a team is of that team alone, and one of the gateway of all', async () => {
  const gateway = await start({
    limits: [
      { per: 'account', team: 'interns', models: ['house/*'], requests: 1 },
      { per: 'gateway', models: ['house/model'], requests: 4 },
    ],
  });
  expect(
    await listStatuses(gateway, [
      ['interns/a-1'],
      ['interns/a-2'],
      ['interns/b-1'],
      ['c-1'],
      ['c-1'],
      ['d-1'],
      ['d-1', 'demo/echo'],
    ]),
  ).toEqual([200, 429, 200, 200, 200, 429, 200]);
  expect(await (await call(gateway, 'interns/a-1')).json()).toMatchObject({
    error: { message: expect.stringContaining('This account may use 1 requests of house/* in interns in') },
  });
});

it('input and output are counted apart, and a refusal and its headers name which', async () => {
  const gateway = await start({ perKey: { output: 50 }, perAccount: { input: 1000 } });
  // Twenty of output each: the third call takes what is left, and more.
  expect(await listStatuses(gateway, [['a-1'], ['a-1'], ['a-1'], ['a-1'], ['a-2']])).toEqual([
    200, 200, 200, 429, 200,
  ]);
  const refused = await call(gateway, 'a-1');
  expect(await refused.json()).toMatchObject({
    error: { message: 'This key may use 50 output tokens in 60 seconds. Try again later.' },
  });
  expect(refused.headers.get('x-ratelimit-limit-output-tokens')).toBe('50');
  const { headers } = await call(gateway, 'a-2');
  // Four calls of a hundred have ended, and this one is estimated.
  const remaining = Number(headers.get('x-ratelimit-remaining-input-tokens'));
  expect([remaining > 400, remaining < 600]).toEqual([true, true]);
});

it('cached input counts unless the limit says otherwise', async () => {
  const left = [true, false].map(async (cachedInput) => {
    const gateway = await start({ perKey: { input: 1000, cachedInput } });
    await listStatuses(gateway, [['a-1'], ['a-1']]);
    return Number((await call(gateway, 'a-1')).headers.get('x-ratelimit-remaining-input-tokens'));
  });
  const [counted = 0, uncounted = 0] = await Promise.all(left);
  // Sixty tokens of each of the two calls that have ended.
  expect([counted > 500, uncounted - counted]).toEqual([true, 120]);
});

it("clients of messages get Anthropic's names of the limits", async () => {
  const gateway = await start({ perKey: { input: 5000, output: 1 } });
  const ask = (): Promise<Response> =>
    postJson(
      `${gateway.url}/alpha/v1/messages`,
      { model: 'demo/echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] },
      { 'anthropic-version': '2023-06-01', 'x-key': 'a-1' },
    );
  const { headers } = await ask();
  expect(headers.get('anthropic-ratelimit-input-tokens-limit')).toBe('5000');
  expect(headers.get('anthropic-ratelimit-output-tokens-remaining')).toBe('0');
  await gateway.ended(1);
  const refused = await ask();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
  expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error' } });
});

it.each([
  [{ limits: [{ per: 'team', requests: 1 }] }, /name the team/],
  [{ limits: [{ per: 'key' }] }, /name a limit: parallel, requests, tokens, input, output/],
  [{ limits: [{ per: 'person', requests: 1 }] }, /per/],
  [{ limits: [{ per: 'key', models: [], requests: 1 }] }, /models/],
])('a rule that could limit nothing is refused: %j', (limits, message) => {
  expect(() => Reflect.apply(rateLimits, undefined, [limits])).toThrow(message);
});

describe.each(['sqlite', 'postgres'] as const)('with a ledger in %s', (kind) => {
  it('gateways count the calls of a team together, and follow when an account moves', async () => {
    const database = kind === 'postgres' ? await openDatabase() : undefined;
    const store = database ? { kind: 'postgres' as const, url: database.url } : { kind: 'sqlite' as const };
    const limits: Limits = { shared: true, limits: [{ per: 'team', team: 'company', requests: 2 }] };
    const keyed = (): Plugin[] => [bearer(), balance({ store, firstCredit: '0' })];
    const one = await start(limits, keyed());
    const other = database ? await start(limits, keyed()) : one;
    const [free, ada] = [
      await one.newKey({ account: 'free', credit: '5' }),
      await one.newKey({ account: 'ada', credit: '5' }),
    ];
    await one.verb('accounts create', ['company']);
    await one.verb('accounts move', ['ada', 'company']);
    const ask = async (key: string, through = one) =>
      (await call(through, 'none', 'demo/echo', { authorization: `Bearer ${key}` })).status;
    expect([await ask(ada), await ask(ada, other), await ask(ada), await ask(free)]).toEqual([
      200, 200, 429, 200,
    ]);
    await one.verb('accounts move', ['free', 'company']);
    // A key is looked up each second.
    await expect.poll(() => ask(free), { timeout: 60_000 }).toBe(429);
  });
});
