/** Money without chores: accounts that are credited each month by themselves, and accounts that pay later. */
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openAdminListener, type AdminListener } from '../support/admin-listener.ts';
import { makeFolder } from '../support/folder.ts';
import { postJson } from '../support/post.ts';

const folder = makeFolder();
const day = 24 * 3_600_000;
let listener: AdminListener;

beforeAll(async () => {
  // What an earlier process left: an account whose last allowance is two months old, and used up.
  const store = await openSqlite({ file: join(folder, 'ledger.db') });
  await store.createAccount({ name: 'waiting', at: 1 });
  const change = { account: 'waiting', changes: { allowance: { amount: 5_000_000_000n } } };
  await store.setTerms({ ...change, at: Date.now() - 62 * day });
  await store.close();
  const plugins = [chatCompletions(), demo({ pace: 0 }), balance({ firstCredit: '0', lease: 0.3 })];
  listener = await openAdminListener(plugins, { dataFolder: folder });
});

const ask: AdminListener['ask'] = (...request) => listener.ask(...request);

const made = z.object({ keys: z.array(z.object({ name: z.string(), key: z.string() })) });

function call(key: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return postJson(
    `${listener.gateway.url}/v1/chat/completions`,
    { model: 'demo/echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] },
    { authorization: `Bearer ${key}`, ...headers },
  );
}

async function fetchOwn(path: string, key: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${listener.gateway.url}${path}`, { headers })).json();
}

it('one command makes an account with an allowance and three keys, which work at once', async () => {
  const { verb } = listener.gateway;
  const shown = await verb('accounts create', ['design'], { allowance: '100/month', keys: 'ada,bob,eve' });
  const { keys } = made.parse(shown);
  expect(keys.map(({ name }) => name)).toEqual(['ada', 'bob', 'eve']);
  for (const { key } of keys) expect((await call(key)).status).toBe(200);
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
  const next = { per: 'month', mode: 'add', zone: 'UTC', next: first.toISOString() };
  expect(await verb('accounts show', ['design'])).toMatchObject({
    postpaid: false,
    allowance: { amount: '100', ...next },
    credits: { allowance: '100', 'allowance-reset': '0' },
  });
  const listed = await verb('keys list', [], { account: 'design' });
  expect(JSON.stringify(listed)).not.toContain(keys[0]?.key);
});

it('an allowance that was due before the gateway started is credited without a call', async () => {
  await expect
    .poll(() => ask('GET', '/accounts/waiting'), { timeout: 60_000, interval: 50 })
    .toMatchObject({ body: { balance: '10', credits: { allowance: '10' } } });
  const { text } = await ask('GET', '/entries/export?account=waiting');
  expect(text.match(/,allowance,/g)).toHaveLength(2);
  expect(text).toContain(`for the month from ${new Date().toISOString().slice(0, 7)}-01 (UTC)`);
});

it('an order for terms that cannot be is refused, and the refusal names the field', async () => {
  await ask('POST', '/accounts', { name: 'plain' });
  const refusals: [method: string, path: string, body: object, status: number, param: string][] = [
    ['POST', '/accounts', { name: 'new', allowance: { amount: '0' } }, 400, 'allowance.amount'],
    ['POST', '/accounts', { name: 'new', allowance: {} }, 400, 'allowance.amount'],
    ['POST', '/accounts', { name: 'new', postpaid: true }, 400, 'postpaid'],
    [
      'POST',
      '/accounts',
      { name: 'new', postpaid: true, budgets: [{ limit: '1', hard: false }] },
      400,
      'postpaid',
    ],
    ['POST', '/accounts', { name: 'new', keys: [''] }, 400, 'keys.0'],
    ['PATCH', '/accounts/plain/terms', { allowance: { amount: '5', per: 'year' } }, 400, 'allowance.per'],
    ['PATCH', '/accounts/plain/terms', { allowance: { amount: '5', zone: 'Mars' } }, 400, 'allowance.zone'],
    ['PATCH', '/accounts/plain/terms', { allowance: { mode: 'reset' } }, 400, 'allowance.amount'],
    ['PATCH', '/accounts/plain/terms', { postpaid: true }, 409, 'postpaid'],
  ];
  for (const [method, path, body, status, param] of refusals)
    expect([body, await ask(method, path, body)]).toMatchObject([
      body,
      { status, body: { error: { param } } },
    ]);
  expect((await ask('PATCH', '/accounts/plain/terms', {})).status).toBe(400);
  expect((await ask('PATCH', '/accounts/none/terms', { postpaid: false })).status).toBe(404);
  expect((await ask('GET', '/accounts/new')).status).toBe(404);
});

it('an account that pays later is charged below zero, and its statement says what to invoice', async () => {
  const budgets = [{ limit: '1', per: 'total' }];
  const order = { name: 'later', postpaid: true, budgets, credit: '0.00001', keys: ['k'] };
  const { keys } = made.parse((await ask('POST', '/accounts', order)).body);
  const [{ key = '' } = {}] = keys;
  for (const _ of [1, 2]) expect((await call(key)).status).toBe(200);
  const shown = z.looseObject({ balance: z.string(), used: z.string() });
  const { balance: left, used } = shown.parse((await ask('GET', '/accounts/later')).body);
  expect(Number(left)).toBeLessThan(0);
  expect(await fetchOwn('/v1/user/balance', key)).toEqual({
    is_active: true,
    balance: Number(left),
    total: 0.00001,
    used: Number(used),
    currency: 'USD',
  });
  expect(await ask('GET', '/accounts/later/statement')).toMatchObject({
    body: { closing: left, to_invoice: left.slice(1) },
  });
  expect((await ask('GET', '/accounts/later/statement?format=csv')).text).toContain(
    `to invoice,,,${left.slice(1)},`,
  );
  expect(await ask('GET', '/accounts/design/statement')).toMatchObject({ body: { to_invoice: null } });
  expect(await ask('GET', '/audit')).toMatchObject({ body: { ok: true } });
});

it('what an account that pays later has left is what its budgets leave, and never its balance', async () => {
  const budgets = [{ limit: '2' }, { limit: '1', per: 'total' }];
  const order = { name: 'owes', postpaid: true, budgets, keys: ['k'] };
  const { keys } = made.parse((await ask('POST', '/accounts', order)).body);
  const [{ key = '' } = {}] = keys;
  expect((await call(key)).status).toBe(200);
  const told = (await call(key, { 'x-tollgate-budget': 'reply' })).headers;
  expect(told.get('x-tollgate-budget-left')).toMatch(/^0\.99\d+$/);
  const own = await fetchOwn('/v1/key', key);
  expect(own).toMatchObject({
    balance: { balance: expect.stringMatching(/^-0\.0/), available: expect.stringMatching(/^0\.99\d+$/) },
    data: { limit: 1, limit_remaining: expect.closeTo(1, 2) },
  });
  expect(own).toHaveProperty('balance.postpaid', true);
  await ask('PATCH', '/accounts/owes/terms', { postpaid: false });
  const { available } = z
    .looseObject({ balance: z.looseObject({ available: z.string() }) })
    .parse(await fetchOwn('/v1/key', key)).balance;
  expect(Number(available)).toBeLessThan(0);
});

it('an account is made below another one, and not at all if there is no such account', async () => {
  const { verb } = listener.gateway;
  await verb('accounts create', ['company'], {});
  const options = { parent: 'company', allowance: '100/month', keys: 'ada' };
  expect(await verb('accounts create', ['lab'], options)).toMatchObject({
    parent: 'company',
    balance: '100',
    keys: [{ name: 'ada' }],
  });
  const below = { name: 'desk', parent: 'lab', keys: ['bob'] };
  expect(await ask('POST', '/accounts', below)).toMatchObject({ status: 201, body: { parent: 'lab' } });
  expect(await ask('GET', '/accounts/desk')).toMatchObject({ body: { above: ['lab', 'company'] } });
  const lost = { ...below, name: 'lost', parent: 'nowhere', allowance: { amount: '1' }, credit: '5' };
  expect(await ask('POST', '/accounts', lost)).toMatchObject({
    status: 404,
    body: { error: { message: expect.stringContaining('there is no account "nowhere"') } },
  });
  await expect(verb('accounts create', ['lost'], { ...options, parent: 'nowhere' })).rejects.toThrow(
    'there is no account "nowhere"',
  );
  expect((await ask('GET', '/accounts/lost')).status).toBe(404);
  expect(await ask('GET', '/keys?account=lost')).toMatchObject({ body: { data: [] } });
});

it('an account that pays later is refused in words once no budget limits it', async () => {
  const order = { name: 'loose', postpaid: true, budgets: [{ limit: '1' }], keys: ['k'] };
  const { keys } = made.parse((await ask('POST', '/accounts', order)).body);
  const [{ key = '' } = {}] = keys;
  const listed = await ask('GET', '/budgets?scope=account&subject=loose');
  const [budget] = z.object({ data: z.array(z.object({ id: z.int() })) }).parse(listed.body).data;
  await ask('DELETE', `/budgets/${budget?.id}`);
  const refused = await call(key);
  expect(refused.status).toBe(402);
  expect(await refused.text()).toContain(
    'the account \\"loose\\" pays later and no budget limits what it may owe. ' +
      'Have one set: tollgate budgets set account loose <usd>/month.',
  );
  await ask('PATCH', '/accounts/loose/terms', { postpaid: false });
  await ask('POST', '/credits', { account: 'loose', amount: '1' });
  expect((await call(key)).status).toBe(200);
});

it('changed terms are in the log of actions, and a key of such an account warns of nothing', async () => {
  await ask('PATCH', '/accounts/design/terms', { allowance: { amount: '200', mode: 'reset' } });
  expect(await ask('GET', '/accounts/design')).toMatchObject({
    body: { allowance: { amount: '200', per: 'month', mode: 'reset' }, credits: { allowance: '100' } },
  });
  expect(await ask('GET', '/actions?limit=1')).toMatchObject({
    body: { data: [{ action: 'PATCH /admin/accounts/:account/terms', subject: 'design' }] },
  });
  await ask('POST', '/accounts', { name: 'owing', postpaid: true, budgets: [{ limit: '1' }] });
  expect(await ask('POST', '/keys', { account: 'owing' })).not.toHaveProperty('body.warning');
  expect(await ask('POST', '/keys', { account: 'plain' })).toHaveProperty('body.warning');
});

it.each([
  [{ allowance: '5', add: true, reset: true }, 'give one of --add and --reset'],
  [{ allowance: 'none', reset: true }, 'nothing to add, reset or time'],
  [{ allowance: 'much' }, 'not an amount in USD'],
  [{ postpaid: true, prepaid: true }, 'give one of --postpaid and --prepaid'],
])('accounts set refuses what it cannot do, in the words of the command line: %j', async (flags, message) => {
  await expect(listener.gateway.verb('accounts set', ['design'], flags)).rejects.toThrow(message);
});
