/** The admin API: accounts, credit, keys, and what it refuses. */
import { expect, it } from 'vitest';
import { callAdmin, gateway, made, createKey, openGateway, soon, fetchStatus } from './operator-calls.ts';

openGateway();

it('the admin API creates an account once, shows it, and lists all in pages', async () => {
  expect(await callAdmin('POST', '/accounts', { name: 'acme' })).toMatchObject({
    status: 201,
    body: { account: 'acme', balance: '0', total: '0' },
  });
  expect(await callAdmin('POST', '/accounts', { name: 'acme' })).toMatchObject({
    status: 409,
    body: { error: { code: 'conflict' } },
  });
  await callAdmin('POST', '/accounts', { name: 'beta' });
  const first = await callAdmin('GET', '/accounts?limit=1');
  expect(first).toMatchObject({ status: 200, body: { data: [{ account: 'acme' }], next: 'acme' } });
  expect(await callAdmin('GET', '/accounts?limit=1&after=acme')).toMatchObject({
    body: { data: [{ account: 'beta' }] },
  });
  expect(await callAdmin('GET', '/accounts/unknown')).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found', message: expect.stringContaining('"unknown"') } },
  });
});

it('the admin API adds credit by kind, once for one reference', async () => {
  const order = { account: 'acme', amount: '2.5', kind: 'gift-card', reference: 'card-1' };
  expect(await callAdmin('POST', '/credits', order)).toMatchObject({
    status: 201,
    body: { status: 'credited', total: '2.5' },
  });
  expect(await callAdmin('POST', '/credits', order)).toMatchObject({
    status: 200,
    body: { status: 'already_credited', total: '2.5' },
  });
  expect(await callAdmin('POST', '/credits', { ...order, amount: '3' })).toMatchObject({
    status: 409,
    body: { error: { param: 'reference' } },
  });
  await callAdmin('POST', '/credits', { account: 'acme', amount: '1' });
  expect(await callAdmin('GET', '/accounts/acme')).toMatchObject({
    body: { balance: '3.5', credits: { 'top-up': '1', bonus: '0', 'gift-card': '2.5' } },
  });
  expect(await callAdmin('GET', '/credits?account=acme')).toMatchObject({
    body: {
      data: [
        { amount: '2.5', kind: 'gift-card', reference: 'card-1' },
        { amount: '1', kind: 'top-up', reference: null },
      ],
      next: null,
    },
  });
});

it('the admin API names the limit if a credit exceeds what an account can hold', async () => {
  await callAdmin('POST', '/accounts', { name: 'rich' });
  const order = { account: 'rich', amount: '1000000000' };
  for (let count = 0; count < 9; count += 1)
    expect((await callAdmin('POST', '/credits', order)).status).toBe(201);
  expect(await callAdmin('POST', '/credits', order)).toMatchObject({
    status: 400,
    body: { error: { param: 'amount', message: expect.stringContaining('9223372036.854775807 USD') } },
  });
});

it("the admin API shows a new key's secret once, and everything else about the key afterwards", async () => {
  const { status, body } = await callAdmin('POST', '/keys', { account: 'acme', name: 'laptop' });
  expect(status).toBe(201);
  const { key, id } = made.parse(body);
  expect(await fetchStatus(key)).toBe(200);
  const listed = await callAdmin('GET', '/keys?account=acme');
  expect(listed).toMatchObject({
    body: {
      data: [
        {
          id,
          name: 'laptop',
          lastFour: key.slice(-4),
          limits: { spendCap: null, models: null, expires: null, callsPerMinute: null },
        },
      ],
    },
  });
  expect(JSON.stringify(listed)).not.toContain(key);
  expect(await callAdmin('GET', `/keys/${key.slice(-4)}`)).toMatchObject({ body: { id } });
});

it.each<[string, string, unknown, string]>([
  ['POST', '/accounts', { name: 'a b' }, 'name'],
  ['POST', '/accounts', { name: 'x', admin: true }, 'admin'],
  ['POST', '/credits', { account: 'acme', amount: '0' }, 'amount'],
  ['POST', '/credits', { account: 'acme', amount: 5 }, 'amount'],
  ['POST', '/credits', { account: 'acme', amount: '99999999999999999999' }, 'amount'],
  ['POST', '/credits', { account: 'acme', amount: '5', kind: 'gift' }, 'kind'],
  ['POST', '/keys', { account: 'acme', limits: { spend: '5' } }, 'spend'],
  ['POST', '/keys', { account: 'acme', limits: { expires: 'tomorrow' } }, 'limits.expires'],
  ['POST', '/keys', { account: 'acme', limits: { expires: '2026-01-01' } }, 'limits.expires'],
  ['PATCH', '/keys/x', { limits: { expires: '2026-01-01T09:30:00Z' } }, 'limits.expires'],
  ['POST', '/keys', { account: 'acme', limits: { models: ['demo/*', 'demo/ecko'] } }, 'limits.models'],
  ['PATCH', '/keys/x', { limits: { models: ['unknown/*'] } }, 'limits.models'],
  ['POST', '/markups', { model: 'demo/ecko', percent: '5' }, 'model'],
  ['POST', '/keys', { account: 'acme', kind: 'operator' }, 'account'],
  ['PATCH', '/keys/x', { account: 'other' }, 'account'],
  ['GET', '/accounts?limit=0', undefined, 'limit'],
  ...['usage', 'entries', 'entries/export', 'calls', 'overview', 'accounts/acme/statement'].map(
    (path): [string, string, undefined, string] => [
      'GET',
      `/${path}?from=2026-11-25&to=2026-11-24`,
      undefined,
      'from',
    ],
  ),
  ['GET', '/usage?from=2026-11-25&to=2026-11-25T00:00:00Z', undefined, 'from'],
  ['GET', '/usage?by=colour', undefined, 'by'],
  ['GET', '/usage?format=xml', undefined, 'format'],
  ['POST', '/keys', { kind: 'operator', credit: '5' }, 'credit'],
  [
    'POST',
    '/keys',
    { kind: 'operator', limits: { expires: '2030-01-01', models: ['demo/*'] } },
    'limits.models',
  ],
])('the admin API refuses %s %s %j by the name of the field', async (method, path, body, param) => {
  const { status, body: answer } = await callAdmin(method, path, body);
  expect([status, answer]).toMatchObject([
    400,
    { error: { code: 'invalid_request', param: expect.stringContaining(param) } },
  ]);
});

it('the admin API accepts gateway keys too, which cannot spend or read accounts', async () => {
  const { key, id } = await createKey({ kind: 'operator', name: 'second operator' });
  expect(key).toMatch(/^gw-/);
  expect((await callAdmin('GET', '/accounts', undefined, key)).status).toBe(200);
  expect(await fetchStatus(key)).toBe(403);
  const balance = await fetch(`${gateway.url}/v1/user/balance`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect([balance.status, await balance.json()]).toEqual([
    401,
    { error: 'unauthenticated', is_active: false },
  ]);
  expect(await callAdmin('PATCH', `/keys/${id}`, { limits: { spendCap: '5' } })).toMatchObject({
    status: 400,
    body: { error: { param: 'limits.spendCap' } },
  });
  expect(
    (await callAdmin('PATCH', `/keys/${id}`, { limits: { spendCap: null, expires: '2099-01-01' } })).status,
  ).toBe(200);
  await callAdmin('PATCH', `/keys/${id}`, { disabled: true });
  await expect.poll(async () => (await callAdmin('GET', '/accounts', undefined, key)).status, soon).toBe(401);
});
