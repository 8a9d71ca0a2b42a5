/** Which role may run which operation, over HTTP, and what a member sees of the ledger. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { roleNames } from '../../plugins/shared/operations.ts';
import { openHouse, type Browser, type House } from './house.ts';

const documentSchema = z.looseObject({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ 'x-tollgate-roles': z.array(z.string()).optional() })),
  ),
});
const keySchema = z.looseObject({ id: z.string(), key: z.string(), holder: z.string().nullable() });
const listSchema = z.object({ data: z.array(z.looseObject({})) });

const subjects = { owner: 'ann', admin: 'abe', billing: 'bea', viewer: 'vic', member: 'max' } as const;
let house: House;
const browsers = new Map<string, Browser>();

beforeAll(async () => {
  house = await openHouse();
  for (const [role, subject] of Object.entries(subjects)) browsers.set(role, await house.enter(subject));
  browsers.set('mia', await house.enter('mia'));
  for (const name of ['search', 'sales']) await house.ask('POST', '/admin/accounts', { name });
  await house.ask('POST', '/admin/credits', { account: 'search', amount: '5' });
  await house.ask('PATCH', '/admin/accounts/search/members', { memberKeys: { most: 3, spendCap: '2' } });
});
afterAll(() => house.close());

function ask(who: string, method: string, path: string, body?: object): Promise<Response> {
  const browser = browsers.get(who);
  if (!browser) throw new Error(`nobody is ${who}`);
  const headers = { origin: house.consoleUrl, 'content-type': 'application/json' };
  return browser.send(house.consoleUrl + path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
}

describe('each operation over HTTP', () => {
  it('is refused to exactly those roles that it does not name', async () => {
    const document = documentSchema.parse(await (await fetch(`${house.consoleUrl}/openapi.json`)).json());
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { 'x-tollgate-roles': roles }]) => ({
        method: method.toUpperCase(),
        path,
        // What states no roles is for owners.
        roles: path.startsWith('/admin') ? (roles ?? ['owner']) : undefined,
      })),
    );
    const wrong: string[] = [];
    let count = 0;
    for (const { method, path, roles } of operations)
      for (const role of roles ? roleNames : []) {
        const response = await ask(
          role,
          method,
          path.replaceAll(/\{\w+\}/g, 'nobody'),
          method === 'GET' ? undefined : {},
        );
        const text = path === '/admin/events' && response.ok ? '' : await response.text();
        if (path === '/admin/events' && response.ok) await response.body?.cancel();
        const isRefused = response.status === 403 && text.includes(`Your role \\"${role}\\" may not`);
        if (isRefused === roles?.includes(role))
          wrong.push(`${role} ${method} ${path}: ${response.status} ${text}`);
        count += 1;
      }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(250);
  });

  it('is among those that the session of the console names, if the role allows it', async () => {
    const document = documentSchema.parse(await (await fetch(`${house.consoleUrl}/openapi.json`)).json());
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { 'x-tollgate-roles': roles }]) => ({
        operation: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
        roles,
      })),
    );
    for (const role of roleNames) {
      const session = z.object({ may: z.array(z.string()) });
      const { may } = session.parse(await (await ask(role, 'GET', '/console/session')).json());
      const allowed = documented.filter(({ roles }) => roles?.includes(role));
      expect(may).toEqual(expect.arrayContaining(allowed.map(({ operation }) => operation)));
      const refused = documented.filter(({ roles }) => roles && !roles.includes(role));
      expect(refused.filter(({ operation }) => may.includes(operation))).toEqual([]);
      expect(allowed.length).toBeGreaterThan(10);
    }
  });

  it('is recorded with the person who ran it', async () => {
    expect((await ask('admin', 'POST', '/admin/accounts', { name: 'made-by-abe' })).status).toBe(201);
    const { data } = listSchema.parse(await (await ask('viewer', 'GET', '/admin/actions')).json());
    expect(data[0]).toMatchObject({
      author: expect.stringMatching(/^abe@house\.example#[0-9a-f]{12}$/),
      action: 'POST /admin/accounts',
    });
  });

  it('gives an admin no operator key, which has the rights of an owner', async () => {
    const made = keySchema.parse(
      await (await ask('owner', 'POST', '/admin/keys', { kind: 'operator' })).json(),
    );
    const path = `/admin/keys/${made.id}`;
    for (const [method, at, body] of [
      ['POST', '/admin/keys', { kind: 'operator' }],
      ['POST', `${path}/rotate`, {}],
      ['PATCH', path, { disabled: true }],
      ['DELETE', path, undefined],
    ] as const)
      expect([method, at, (await ask('admin', method, at, body)).status]).toEqual([method, at, 403]);
    expect((await ask('admin', 'POST', '/admin/keys', { account: 'sales' })).status).toBe(201);
  });

  it('is refused to a page of another site that sends the cookie', async () => {
    const browser = browsers.get('owner');
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: house.publicUrl },
      { origin: house.consoleUrl, 'sec-fetch-site': 'cross-site' },
    ]) {
      const response = await browser?.send(`${house.consoleUrl}/admin/accounts`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"name":"evil"}',
      });
      expect(response?.status).toBe(403);
    }
    expect((await house.ask('GET', '/admin/accounts/evil')).status).toBe(404);
  });
});

describe('a member', () => {
  it('makes, rotates and revokes keys of their own, within what the team allows', async () => {
    const made = keySchema.parse(
      await (await ask('member', 'POST', '/admin/keys', { account: 'search', name: 'mine' })).json(),
    );
    expect(made).toMatchObject({
      holder: expect.stringContaining('max@'),
      limits: { spendCap: '2' },
    });
    const dearer = await ask('member', 'POST', '/admin/keys', {
      account: 'search',
      limits: { spendCap: '3' },
    });
    expect(dearer.status).toBe(400);
    const rotated = await ask('member', 'POST', `/admin/keys/${made.id}/rotate`, {});
    expect(rotated.status).toBe(201);
    const { id } = keySchema.parse(await rotated.json());
    expect((await ask('member', 'PATCH', `/admin/keys/${id}`, { name: 'renamed' })).status).toBe(200);
    expect((await ask('member', 'PATCH', `/admin/keys/${id}`, { limits: { spendCap: null } })).status).toBe(
      403,
    );
    await house.ask('PATCH', `/admin/keys/${id}`, { disabled: true });
    expect((await ask('member', 'PATCH', `/admin/keys/${id}`, { disabled: false })).status).toBe(403);
    expect((await ask('member', 'POST', `/admin/keys/${id}/rotate`, {})).status).toBe(403);
    expect((await ask('member', 'DELETE', `/admin/keys/${id}`)).status).toBe(200);
  });

  it('may make no key of another account, for another holder, for operators, or with credit', async () => {
    for (const [order, status] of [
      [{ account: 'sales' }, 403],
      [{ account: 'a-new-one' }, 403],
      [{ account: 'search', holder: 'mia@house.example' }, 403],
      [{ kind: 'operator' }, 403],
      [{ account: 'search', credit: '100' }, 403],
      [{ account: 'search', budgets: [{ limit: '5' }] }, 403],
    ] as const) {
      const response = await ask('member', 'POST', '/admin/keys', order);
      expect([order, response.status]).toEqual([order, status]);
    }
    expect((await house.ask('GET', '/admin/accounts/a-new-one')).status).toBe(404);
  });

  it('sees no key, call or account of others, the figures of the own team, and no margin', async () => {
    const foreign = keySchema.parse(
      await (await house.ask('POST', '/admin/keys', { account: 'search' })).json(),
    );
    const mine = keySchema.parse(
      await (await ask('member', 'POST', '/admin/keys', { account: 'search' })).json(),
    );
    for (const secret of [foreign.key, mine.key]) {
      const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] };
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      await fetch(`${house.publicUrl}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
    }
    const all = listSchema.parse(await (await ask('owner', 'GET', '/admin/calls')).json()).data;
    const own = listSchema.parse(await (await ask('member', 'GET', '/admin/calls')).json()).data;
    expect(all.map(({ key }) => key).toSorted()).toEqual([foreign.id, mine.id].toSorted());
    expect(own.map(({ key }) => key)).toEqual([mine.id]);
    for (const { id, key } of all) {
      const response = await ask('member', 'GET', `/admin/calls/${String(id)}`);
      expect(response.status).toBe(key === mine.id ? 200 : 404);
    }
    const keys = listSchema.parse(await (await ask('member', 'GET', '/admin/keys')).json()).data;
    expect(keys.map(({ holder }) => holder)).toEqual(keys.map(() => mine.holder));
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect(
        (await ask('member', method, `/admin/keys/${foreign.id}`, method === 'PATCH' ? {} : undefined))
          .status,
      ).toBe(404);
    expect((await ask('mia', 'GET', `/admin/keys/${mine.id}`)).status).toBe(404);
    const accounts = listSchema.parse(await (await ask('member', 'GET', '/admin/accounts')).json()).data;
    expect(accounts.map(({ account }) => account)).toEqual(['search']);
    for (const path of [
      '/admin/accounts/sales',
      '/admin/accounts/sales/statement',
      '/admin/usage?account=sales',
      '/admin/overview?account=sales',
    ])
      expect([403, 404], path).toContain((await ask('member', 'GET', path)).status);
    const overview = await ask('member', 'GET', '/admin/overview');
    expect(await overview.json()).toMatchObject({ totals: { calls: 2, margin: '0' }, audit: null });
    const whole = await (await ask('owner', 'GET', '/admin/overview')).json();
    expect(whole).not.toMatchObject({ totals: { margin: '0' } });
    expect(own).toMatchObject([{ margin: '0' }]);
    const detail = await ask('member', 'GET', `/admin/calls/${String(own[0]?.id)}`);
    expect(await detail.json()).toMatchObject({ margin: '0' });
    const usage = listSchema.parse(await (await ask('member', 'GET', '/admin/usage')).json()).data;
    expect(usage.map(({ margin }) => margin)).toEqual(usage.map(() => '0'));
    expect((await ask('member', 'GET', '/admin/accounts/search/statement')).status).toBe(200);
    expect(await (await ask('member', 'GET', '/admin/usage?by=account')).json()).toMatchObject({
      data: [{ account: 'search' }],
    });
  });

  it('sees the budgets that count their calls, and no others', async () => {
    for (const [scope, subject] of [
      ['account', 'search'],
      ['team', 'search'],
      ['account', 'sales'],
      ['tag', 'project'],
    ])
      await house.ask('POST', '/admin/budgets', { scope, subject, limit: '10' });
    const { data } = listSchema.parse(await (await ask('member', 'GET', '/admin/budgets')).json());
    expect(data.map(({ scope, subject }) => `${String(scope)} ${String(subject)}`)).toEqual([
      'account search',
      'team search',
    ]);
    const all = listSchema.parse(await (await ask('viewer', 'GET', '/admin/budgets')).json()).data;
    const other = all.find(({ subject }) => subject === 'sales');
    expect((await ask('member', 'GET', `/admin/budgets/${String(other?.id)}`)).status).toBe(404);
  });
});

describe('an operator who removes a person', () => {
  it('ends their session at once, and keeps them out until they are restored', async () => {
    const made = keySchema.parse(
      await (await ask('mia', 'POST', '/admin/keys', { account: 'search' })).json(),
    );
    expect((await ask('admin', 'DELETE', '/admin/people/mia@house.example')).status).toBe(403);
    const removed = await ask('owner', 'DELETE', '/admin/people/mia@house.example');
    expect(await removed.json()).toMatchObject({ state: 'removed', role: 'member', accounts: ['search'] });
    expect((await ask('mia', 'GET', '/admin/keys')).status).toBe(401);
    await expect(house.enter('mia')).rejects.toThrow('403');
    const kept = await house.ask('GET', `/admin/keys/${made.id}`);
    expect(await kept.json()).toMatchObject({ disabled: true });
    expect(await house.gateway.verb('people restore', ['mia@house.example'])).toMatchObject({
      state: 'active',
    });
    browsers.set('mia', await house.enter('mia'));
    const back = await ask('mia', 'GET', `/admin/keys/${made.id}`);
    expect(await back.json()).toMatchObject({ disabled: false });
    const actions = listSchema.parse(await (await house.ask('GET', '/admin/actions')).json()).data;
    expect(actions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'suspend keys', author: expect.stringContaining('ann@') }),
      ]),
    );
  });
});
