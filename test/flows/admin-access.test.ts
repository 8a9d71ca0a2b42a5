/** Who may use the admin API, what it takes and sums up, and the limits of keys. */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { limits } from '../../plugins/meters/balance/operator/reading.ts';
import {
  addAcme,
  callAdmin,
  call,
  adminUrl,
  gateway,
  createKey,
  openGateway,
  secret,
} from './operator-calls.ts';

openGateway();
beforeAll(addAcme);

it('the admin API refuses user keys and missing keys, on every route, for every method', async () => {
  const { key } = await createKey({ account: 'acme' });
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(await (await fetch(`${adminUrl}/openapi.json`)).json());
  const routes = Object.entries(paths).filter(([path]) => path.startsWith('/admin/'));
  expect(routes.length).toBeGreaterThan(8);
  for (const [path, methods] of routes) {
    const at = path.slice('/admin'.length).replaceAll(/\{\w+\}/g, 'acme');
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'GET' ? undefined : {};
      const there = method.toLowerCase() in methods;
      expect([method, path, (await callAdmin(method, at, body, key)).status]).toEqual([
        method,
        path,
        there ? 403 : 405,
      ]);
      expect([method, path, (await callAdmin(method, at, body, '')).status]).toEqual([
        method,
        path,
        there ? 401 : 405,
      ]);
      const inPublic = await fetch(`${gateway.url}/admin${at}`, {
        method,
        headers: { authorization: `Bearer ${secret}` },
      });
      expect([method, path, inPublic.status]).toEqual([method, path, 404]);
    }
  }
});

it('the admin API accepts its secret in no cookie, and sets none', async () => {
  for (const cookie of [`operator-secret=${secret}`, `authorization=Bearer ${secret}`, `token=${secret}`]) {
    const refused = await fetch(`${adminUrl}/admin/accounts`, { headers: { cookie } });
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null]);
  }
  for (const authorization of ['Basic YWRtaW46YWRtaW4=', 'Bearer admin', 'Bearer ', 'Bearer operator-secret'])
    expect((await fetch(`${adminUrl}/admin/accounts`, { headers: { authorization } })).status).toBe(401);
  expect(
    (
      await fetch(`${adminUrl}/admin/accounts`, { headers: { authorization: `Bearer ${secret}` } })
    ).headers.get('set-cookie'),
  ).toBeNull();
});

it('the admin API rejects fields that a request does not define, if stored ones too', async () => {
  const { id } = await createKey({ account: 'acme' });
  const orders: [method: string, path: string, order: Record<string, unknown>, more: string[]][] = [
    ['POST', '/accounts', { name: 'assigned' }, ['parent']],
    ['POST', '/credits', { account: 'acme', amount: '1' }, ['kind', 'reference']],
    ['POST', '/keys', { account: 'acme' }, ['kind', 'name', 'holder', 'limits', 'credit']],
    ['PATCH', `/keys/${id}`, { name: 'assigned' }, ['holder', 'disabled', 'limits']],
    ['POST', `/keys/${id}/rotate`, { overlap: 1 }, []],
  ];
  const readState = async (): Promise<unknown[]> => [
    await callAdmin('GET', '/keys'),
    await callAdmin('GET', '/accounts'),
    await callAdmin('GET', '/credits'),
  ];
  const before = await readState();
  const shown = z.object({ data: z.array(z.record(z.string(), z.unknown())) });
  const fields = new Set([
    ...before.flatMap((answer) =>
      shown.parse(z.object({ body: z.unknown() }).parse(answer).body).data.flatMap(Object.keys),
    ),
    'hash',
    'key',
    'secret',
    'revenue',
    'role',
    'admin',
    'operator',
    'access',
    'constructor',
    'prototype',
  ]);
  expect(fields).toContain('used');
  for (const [method, path, order, more] of orders) {
    for (const field of fields) {
      if (Object.hasOwn(order, field) || more.includes(field)) continue;
      const { status, body } = await callAdmin(method, path, { ...order, [field]: 'x' });
      expect([path, field, status, body]).toEqual([
        path,
        field,
        400,
        { error: expect.objectContaining({ param: field }) },
      ]);
    }
  }
  for (const field of fields) {
    if (Object.hasOwn(limits.shape, field)) continue;
    expect([field, (await callAdmin('PATCH', `/keys/${id}`, { limits: { [field]: 'x' } })).status]).toEqual([
      field,
      400,
    ]);
  }
  expect(await readState()).toEqual(before);
});

it('the admin API sums usage by key, model and day, in JSON and as CSV, and shows the audit', async () => {
  const { key, id } = await createKey({ account: 'acme' });
  await (await call(key)).text();
  const today = new Date().toISOString().slice(0, 10);
  const row = {
    key: id,
    model: 'demo/echo',
    day: expect.stringMatching(/^20/),
    calls: 1,
    cost: expect.any(String),
  };
  expect(await callAdmin('GET', `/usage?key=${id}`)).toMatchObject({
    status: 200,
    body: { by: ['key', 'model', 'day'], data: [row] },
  });
  expect((await callAdmin('GET', `/usage?key=${id}&format=csv`)).body).toMatch(
    new RegExp(
      '^key,model,day,calls,input,output,cost,vendorCost,margin,uses\r\n' +
        `${id},demo/echo,${today.slice(0, 8)}\\d\\d,1,(\\d+),(\\d+),([\\d.]+)` +
        `,\\3,0,"input \\1, output \\2"\r\n$`,
    ),
  );
  expect(await callAdmin('GET', `/entries?key=${id}`)).toMatchObject({
    body: { data: [{ kind: 'reserve' }, { kind: 'post', key: id }] },
  });
  expect((await callAdmin('GET', '/entries?account=acme&kind=credit&format=csv')).body).toMatch(
    /^number,at,kind,[^]*card-1/,
  );
  expect(await callAdmin('GET', '/reservations')).toMatchObject({
    body: { data: [], next: null, totals: { calls: 0, amount: '0' } },
  });
  expect(await callAdmin('GET', '/audit')).toMatchObject({
    status: 200,
    body: { ok: true, broken: 0, findings: [] },
  });
});
