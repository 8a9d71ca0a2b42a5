/**
 * The gateway as an operator runs it: a process of its own, its admin API, and the command line beside it.
 */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findAdminUrl } from '../support/admin-url.ts';
import { makeDataFolder, runAlone, runVerb, startProcess, type RunningGateway } from '../support/process.ts';

const data = makeDataFolder();
const topUpSecret = 'what the payment provider signs with';
const environment = { TOLLGATE_DATA: data, TOLLGATE_TOP_UP_SECRET: topUpSecret };

let gateway: RunningGateway;
let door: string;
let secret: string;
beforeAll(async () => {
  gateway = await startProcess(environment);
  door = findAdminUrl(gateway.printed());
  secret = readFileSync(join(data, 'operator-secret'), 'utf8').trim();
});
afterAll(async () => {
  if (gateway.child.exitCode === null) await gateway.stop('SIGKILL');
});

interface Told {
  readonly status: number;
  readonly body: unknown;
}

async function admin(method: string, path: string, body?: unknown, key = secret): Promise<Told> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const response = await fetch(`${door}/admin${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text,
  };
}

async function verb(...words: string[]): Promise<unknown> {
  const { code, output, errors } = await runVerb([...words, '--json'], environment);
  if (code !== 0) throw new Error(errors);
  return JSON.parse(output);
}

const made = z.object({ key: z.string(), id: z.string() });

async function newKey(body: object): Promise<z.output<typeof made>> {
  return made.parse((await admin('POST', '/keys', body)).body);
}

function call(key: string, model = 'demo/echo', maxTokens = 20): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: maxTokens, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
}

async function statusOf(key: string): Promise<number> {
  return (await call(key)).status;
}

const soon = { timeout: 120_000, interval: 100 };

describe('the admin API', () => {
  it('creates an account once, shows it, and lists all in pages', async () => {
    expect(await admin('POST', '/accounts', { name: 'acme' })).toMatchObject({
      status: 201,
      body: { account: 'acme', balance: '0', total: '0' },
    });
    expect(await admin('POST', '/accounts', { name: 'acme' })).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict' } },
    });
    await admin('POST', '/accounts', { name: 'beta' });
    const first = await admin('GET', '/accounts?limit=1');
    expect(first).toMatchObject({ status: 200, body: { data: [{ account: 'acme' }], next: 'acme' } });
    expect(await admin('GET', '/accounts?limit=1&after=acme')).toMatchObject({
      body: { data: [{ account: 'beta' }] },
    });
    expect(await admin('GET', '/accounts/nobody')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', message: expect.stringContaining('"nobody"') } },
    });
  });

  it('adds credit by kind, once for one reference', async () => {
    const order = { account: 'acme', amount: '2.5', kind: 'gift-card', reference: 'card-1' };
    expect(await admin('POST', '/credits', order)).toMatchObject({
      status: 201,
      body: { status: 'credited', total: '2.5' },
    });
    expect(await admin('POST', '/credits', order)).toMatchObject({
      status: 200,
      body: { status: 'already_credited', total: '2.5' },
    });
    expect(await admin('POST', '/credits', { ...order, amount: '3' })).toMatchObject({
      status: 409,
      body: { error: { param: 'reference' } },
    });
    await admin('POST', '/credits', { account: 'acme', amount: '1' });
    expect(await admin('GET', '/accounts/acme')).toMatchObject({
      body: { balance: '3.5', credits: { 'top-up': '1', bonus: '0', 'gift-card': '2.5' } },
    });
    expect(await admin('GET', '/credits?account=acme')).toMatchObject({
      body: {
        data: [
          { amount: '2.5', kind: 'gift-card', reference: 'card-1' },
          { amount: '1', kind: 'top-up', reference: null },
        ],
        next: null,
      },
    });
  });

  it('names the limit if a credit exceeds what an account can hold', async () => {
    await admin('POST', '/accounts', { name: 'rich' });
    const order = { account: 'rich', amount: '1000000000' };
    for (let count = 0; count < 9; count += 1)
      expect((await admin('POST', '/credits', order)).status).toBe(201);
    expect(await admin('POST', '/credits', order)).toMatchObject({
      status: 400,
      body: { error: { param: 'amount', message: expect.stringContaining('9223372036.854775807 USD') } },
    });
  });

  it("shows a new key's secret once, and everything else about the key afterwards", async () => {
    const { status, body } = await admin('POST', '/keys', { account: 'acme', name: 'laptop' });
    expect(status).toBe(201);
    const { key, id } = made.parse(body);
    expect(await statusOf(key)).toBe(200);
    const listed = await admin('GET', '/keys?account=acme');
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
    expect(await admin('GET', `/keys/${key.slice(-4)}`)).toMatchObject({ body: { id } });
  });

  it('disables and enables a key without a restart', async () => {
    const { key, id } = await newKey({ account: 'acme' });
    expect(await statusOf(key)).toBe(200);
    expect(await admin('PATCH', `/keys/${id}`, { disabled: true })).toMatchObject({
      status: 200,
      body: { disabled: true },
    });
    await expect.poll(() => statusOf(key), soon).toBe(401);
    await admin('PATCH', `/keys/${id}`, { disabled: false });
    await expect.poll(() => statusOf(key), soon).toBe(200);
  });

  it('rotates a key: the new secret has its limits, and the old one works for the overlap', async () => {
    const { key, id } = await newKey({ account: 'acme', name: 'robot', limits: { models: ['demo/*'] } });
    const rotated = await admin('POST', `/keys/${id}/rotate`, { overlap: 3600 });
    expect(rotated).toMatchObject({ status: 201, body: { name: 'robot', limits: { models: ['demo/*'] } } });
    const next = made.parse(rotated.body);
    expect([await statusOf(key), await statusOf(next.key)]).toEqual([200, 200]);
    expect(await admin('POST', `/keys/${id}/rotate`)).toMatchObject({ status: 409 });
    await admin('POST', `/keys/${next.id}/rotate`);
    await expect.poll(() => statusOf(next.key), soon).toBe(401);
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
    ['POST', '/keys', { account: 'acme', kind: 'operator' }, 'account'],
    ['PATCH', '/keys/x', { account: 'other' }, 'account'],
    ['GET', '/accounts?limit=0', undefined, 'limit'],
    ['GET', '/usage?by=colour', undefined, 'by'],
    ['GET', '/usage?format=xml', undefined, 'format'],
    ['POST', '/keys', { kind: 'operator', credit: '5' }, 'credit'],
    [
      'POST',
      '/keys',
      { kind: 'operator', limits: { expires: '2030-01-01', models: ['demo/*'] } },
      'limits.models',
    ],
  ])('refuses %s %s %j by the name of the field', async (method, path, body, param) => {
    const { status, body: told } = await admin(method, path, body);
    expect([status, told]).toMatchObject([
      400,
      { error: { code: 'invalid_request', param: expect.stringContaining(param) } },
    ]);
  });

  it('accepts gateway keys too, but refuses them for spending and for reading accounts', async () => {
    const { key, id } = await newKey({ kind: 'operator', name: 'second operator' });
    expect(key).toMatch(/^gw-/);
    expect((await admin('GET', '/accounts', undefined, key)).status).toBe(200);
    expect(await statusOf(key)).toBe(403);
    const balance = await fetch(`${gateway.url}/v1/user/balance`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect([balance.status, await balance.json()]).toEqual([
      401,
      { error: 'unauthenticated', is_active: false },
    ]);
    expect(await admin('PATCH', `/keys/${id}`, { limits: { spendCap: '5' } })).toMatchObject({
      status: 400,
      body: { error: { param: 'limits.spendCap' } },
    });
    expect(
      (await admin('PATCH', `/keys/${id}`, { limits: { spendCap: null, expires: '2099-01-01' } })).status,
    ).toBe(200);
    await admin('PATCH', `/keys/${id}`, { disabled: true });
    await expect.poll(async () => (await admin('GET', '/accounts', undefined, key)).status, soon).toBe(401);
  });

  it('refuses user keys and requests without a key, on every route and for every method', async () => {
    const { key } = await newKey({ account: 'acme' });
    const { paths } = z
      .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
      .parse(await (await fetch(`${door}/openapi.json`)).json());
    const routes = Object.entries(paths).filter(([path]) => path.startsWith('/admin/'));
    expect(routes.length).toBeGreaterThan(8);
    for (const [path, methods] of routes) {
      const at = path.slice('/admin'.length).replaceAll(/\{\w+\}/g, 'acme');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const body = method === 'GET' ? undefined : {};
        const there = method.toLowerCase() in methods;
        expect([method, path, (await admin(method, at, body, key)).status]).toEqual([
          method,
          path,
          there ? 403 : 405,
        ]);
        expect([method, path, (await admin(method, at, body, '')).status]).toEqual([
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

  it('accepts its secret in no cookie, and sets none', async () => {
    for (const cookie of [`operator-secret=${secret}`, `authorization=Bearer ${secret}`, `token=${secret}`]) {
      const refused = await fetch(`${door}/admin/accounts`, { headers: { cookie } });
      expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null]);
    }
    for (const authorization of [
      'Basic YWRtaW46YWRtaW4=',
      'Bearer admin',
      'Bearer ',
      'Bearer operator-secret',
    ])
      expect((await fetch(`${door}/admin/accounts`, { headers: { authorization } })).status).toBe(401);
    expect(
      (await fetch(`${door}/admin/accounts`, { headers: { authorization: `Bearer ${secret}` } })).headers.get(
        'set-cookie',
      ),
    ).toBeNull();
  });

  it('rejects fields that a request does not define, even if the ledger stores them', async () => {
    const { id } = await newKey({ account: 'acme' });
    const orders: [method: string, path: string, order: Record<string, unknown>, more: string[]][] = [
      ['POST', '/accounts', { name: 'assigned' }, []],
      ['POST', '/credits', { account: 'acme', amount: '1' }, ['kind', 'reference']],
      ['POST', '/keys', { account: 'acme' }, ['kind', 'name', 'limits', 'credit']],
      ['PATCH', `/keys/${id}`, { name: 'assigned' }, ['disabled', 'limits']],
      ['POST', `/keys/${id}/rotate`, { overlap: 1 }, []],
    ];
    const kept = async (): Promise<unknown[]> => [
      await admin('GET', '/keys'),
      await admin('GET', '/accounts'),
      await admin('GET', '/credits'),
    ];
    const before = await kept();
    const shown = z.object({ data: z.array(z.record(z.string(), z.unknown())) });
    const fields = new Set([
      ...before.flatMap((told) =>
        shown.parse(z.object({ body: z.unknown() }).parse(told).body).data.flatMap(Object.keys),
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
        const { status, body } = await admin(method, path, { ...order, [field]: 'x' });
        expect([path, field, status, body]).toEqual([
          path,
          field,
          400,
          { error: expect.objectContaining({ param: field }) },
        ]);
      }
    }
    for (const field of fields) {
      if (['spendCap', 'models', 'expires', 'callsPerMinute'].includes(field)) continue;
      expect([field, (await admin('PATCH', `/keys/${id}`, { limits: { [field]: 'x' } })).status]).toEqual([
        field,
        400,
      ]);
    }
    expect(await kept()).toEqual(before);
  });

  it('sums usage by key, model and day, in JSON and as CSV, and shows the audit', async () => {
    const { key, id } = await newKey({ account: 'acme' });
    await (await call(key)).text();
    const today = new Date().toISOString().slice(0, 10);
    const row = {
      key: id,
      model: 'demo/echo',
      day: expect.stringMatching(/^20/),
      calls: 1,
      cost: expect.any(String),
    };
    expect(await admin('GET', `/usage?key=${id}`)).toMatchObject({
      status: 200,
      body: { by: ['key', 'model', 'day'], data: [row] },
    });
    expect((await admin('GET', `/usage?key=${id}&format=csv`)).body).toMatch(
      new RegExp(
        '^key,model,day,calls,input,output,cost,vendorCost,margin\r\n' +
          `${id},demo/echo,${today.slice(0, 8)}\\d\\d,1,\\d+,\\d+,([\\d.]+),\\1,0\r\n$`,
      ),
    );
    expect(await admin('GET', `/entries?key=${id}`)).toMatchObject({
      body: { data: [{ kind: 'reserve' }, { kind: 'post', key: id }] },
    });
    expect((await admin('GET', '/entries?account=acme&kind=credit&format=csv')).body).toMatch(
      /^number,at,kind,[^]*card-1/,
    );
    expect(await admin('GET', '/reservations')).toMatchObject({
      body: { data: [], next: null, totals: { calls: 0, amount: '0' } },
    });
    expect(await admin('GET', '/audit')).toMatchObject({
      status: 200,
      body: { ok: true, broken: 0, findings: [] },
    });
  });
});

describe('a limit of a key', () => {
  it('on its models applies before anything is reserved', async () => {
    const { key } = await newKey({ account: 'acme', limits: { models: ['openai/*'] } });
    const response = await call(key);
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { error: { code: 'permission_denied', param: 'model', message: expect.stringContaining('openai/*') } },
    ]);
  });

  it("on its spending is enforced by the ledger, whatever the account's balance", async () => {
    const { key, id } = await newKey({ account: 'acme', limits: { spendCap: '0.000000001' } });
    const response = await call(key);
    expect([response.status, await response.json()]).toMatchObject([
      402,
      {
        error: {
          code: 'insufficient_quota',
          message: expect.stringContaining(`the key ${id} has 0.000000001 USD left`),
        },
      },
    ]);
    await admin('PATCH', `/keys/${id}`, { limits: { spendCap: null } });
    expect(await statusOf(key)).toBe(200);
  });
});

describe('the rate limit of a key', () => {
  it('counts call by call, says when to retry, and changes without a restart', async () => {
    const { key, id } = await newKey({ account: 'acme', limits: { callsPerMinute: 2 } });
    const answers = [await call(key), await call(key), await call(key)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(Number(answers[2]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await answers[2]?.json()).toMatchObject({
      error: { message: `The API key ${id} may make 2 calls a minute, and has.` },
    });
    await admin('PATCH', `/keys/${id}`, { limits: { callsPerMinute: null } });
    await expect.poll(() => statusOf(key), soon).toBe(200);
  });
});

describe('a second process on the same ledger', () => {
  let second: RunningGateway;
  beforeAll(async () => {
    second = await startProcess(environment);
  });
  afterAll(async () => void (await second.stop('SIGKILL')));

  const body = JSON.stringify({
    model: 'demo/echo',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello!' }],
  });

  function callAt({ url }: RunningGateway, key: string): Promise<Response> {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': 'order-1',
    };
    return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  }

  it('shares idempotency keys: of 50 equal calls at both, one is made and charged', async () => {
    const { key, id } = await newKey({ account: 'acme' });
    const replies = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const response = await callAt(index % 2 === 0 ? gateway : second, key);
        return {
          status: response.status,
          replayed: response.headers.has('idempotent-replayed'),
          text: await response.text(),
        };
      }),
    );
    expect(replies.filter(({ status, replayed }) => status === 200 && !replayed)).toHaveLength(1);
    expect(new Set(replies.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1);
    expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(await admin('GET', `/usage?key=${id}&by=key`)).toMatchObject({ body: { data: [{ calls: 1 }] } });
  });

  it('shares the rate limit of a key with the first', async () => {
    const { key } = await newKey({ account: 'acme', limits: { callsPerMinute: 3 } });
    const ask = async ({ url }: RunningGateway): Promise<number> => {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      });
      await response.text();
      return response.status;
    };
    const statuses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => ask(index % 2 === 0 ? gateway : second)),
    );
    expect(statuses.toSorted()).toEqual([200, 200, 200, ...Array.from({ length: 7 }, () => 429)]);
  });

  it('refuses a key within a second after the first disabled it', async () => {
    const { key, id } = await newKey({ account: 'acme' });
    expect((await callAt(second, key)).status).toBeLessThan(500);
    await admin('PATCH', `/keys/${id}`, { disabled: true });
    await expect.poll(async () => (await callAt(second, key)).status, soon).toBe(401);
  });
});

describe('a process that is killed during a call', () => {
  it('leaves an idempotency key that others resolve: the call is charged once, not made again', async () => {
    const { key, id } = await newKey({ account: 'acme' });
    const doomed = await startProcess(environment);
    const body = JSON.stringify({
      model: 'demo/echo',
      stream: true,
      messages: [{ role: 'user', content: 'word '.repeat(5000) }],
    });
    const ask = ({ url }: RunningGateway): Promise<Response> => {
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'killed',
      };
      return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    };
    const reading = ask(doomed)
      .then((response) => response.text())
      .catch(() => 'cut');
    const isHeardOf = async (): Promise<unknown> => (await admin('GET', '/reservations')).body;
    await expect.poll(isHeardOf).toMatchObject({ data: [{ key: id, sent: true }] });
    await doomed.stop('SIGKILL');
    expect(await reading).toBe('cut');
    expect((await ask(gateway)).status).toBe(409);
    const codeNow = async (): Promise<unknown> =>
      z.object({ error: z.object({ code: z.string() }) }).parse(await (await ask(gateway)).json()).error.code;
    await expect.poll(codeNow, { interval: 200 }).toBe('outcome_not_kept');
    expect(await admin('GET', `/usage?key=${id}&by=key`)).toMatchObject({ body: { data: [{ calls: 1 }] } });
    expect(await admin('GET', `/entries?key=${id}`)).toMatchObject({
      body: { data: [{ kind: 'reserve' }, { kind: 'post', reason: 'recovered', flags: 'recovered' }] },
    });
  });
});

describe('the command line beside it', () => {
  it('manages accounts, keys, limits, credit and usage like the API', async () => {
    expect(await verb('accounts', 'create', 'gamma')).toMatchObject({ account: 'gamma', balance: '0' });
    expect(
      await verb('credit', 'add', 'gamma', '3', '--kind', 'bonus', '--reference', 'welcome-gamma'),
    ).toMatchObject({ status: 'credited', total: '3' });
    expect(
      await verb('credit', 'add', 'gamma', '3', '--kind', 'bonus', '--reference', 'welcome-gamma'),
    ).toMatchObject({ status: 'already_credited', total: '3' });
    const { key, id } = made.parse(
      await verb(
        'keys',
        'create',
        '--account',
        'gamma',
        '--name',
        'cli',
        '--spend-cap',
        '2',
        '--models',
        'demo/echo,openai/*',
      ),
    );
    expect(await statusOf(key)).toBe(200);
    expect(
      await verb(
        'keys',
        'limit',
        id,
        '--models',
        'none',
        '--expires',
        '2030-01-01',
        '--calls-per-minute',
        '3',
      ),
    ).toMatchObject({
      limits: { spendCap: '2', models: null, expires: '2030-01-01T00:00:00.000Z', callsPerMinute: 3 },
    });
    expect(await verb('keys', 'list', '--account', 'gamma')).toMatchObject([
      { id, name: 'cli', account: 'gamma' },
    ]);
    expect(await verb('usage', '--key', id, '--by', 'model')).toMatchObject([
      { model: 'demo/echo', calls: 1 },
    ]);
    expect(
      (await runVerb(['usage', '--account', 'gamma', '--by', 'account', '--csv'], environment)).output,
    ).toMatch(/^account,calls,input,output,cost,vendorCost,margin\r\ngamma,1,\d+,\d+,([\d.]+),\1,0\n$/);
    const next = made.parse(await verb('keys', 'rotate', id, '--overlap', '0'));
    expect(await statusOf(next.key)).toBe(200);
    await expect.poll(() => statusOf(key), soon).toBe(401);
    await verb('keys', 'disable', next.id);
    await expect.poll(() => statusOf(next.key), soon).toBe(401);
  });

  it('reports faults in one line', async () => {
    const { code, errors } = await runVerb(['keys', 'limit', 'nobody', '--spend-cap', 'lots'], environment);
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/^tollgate keys limit: --spend-cap: not an amount in USD.*\n$/),
    ]);
    expect((await runVerb(['balance', 'nobody'], environment)).errors).toMatch(
      /^tollgate balance: there is no account "nobody"/,
    );
    expect(
      (await runVerb(['keys', 'limit', 'nobody', '--calls-per-minute', '1.5'], environment)).errors,
    ).toBe('tollgate keys limit: --calls-per-minute: it has to be a whole number of calls\n');
    expect((await runVerb(['keys', 'create', '--expires', '2026-01-01'], environment)).errors).toMatch(
      /^tollgate keys create: --expires: that time is over .*\n$/,
    );
  });
});

describe('the top-up webhook', () => {
  const body = JSON.stringify({ account: 'acme', amount: '10', reference: 'payment-1' });

  function post(text: string, signature: string): Promise<Response> {
    return fetch(`${gateway.url}/webhooks/top-up`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'tollgate-signature': signature },
      body: text,
    });
  }

  it('credits what is signed, once, and nothing that is forged', async () => {
    const time = Math.floor(Date.now() / 1000);
    const digest = createHmac('sha256', topUpSecret).update(`${time}.${body}`).digest('hex');
    const signature = `t=${time},v1=${digest}`;
    expect((await post(body, signature.replace(/.{4}$/, '0000'))).status).toBe(403);
    expect((await post(body.replace('10', '99'), signature)).status).toBe(403);
    const told = await Promise.all(
      Array.from({ length: 10 }, async () => (await post(body, signature)).text()),
    );
    expect([
      told.filter((text) => text.includes('"credited"')).length,
      told.filter((text) => text.includes('"already_credited"')).length,
    ]).toEqual([1, 9]);
    expect(await admin('GET', '/credits?account=acme')).toMatchObject({
      body: {
        data: expect.arrayContaining([expect.objectContaining({ reference: 'payment-1', amount: '10' })]),
      },
    });
  });

  it('keeps the gateway from starting with a secret that can be guessed', async () => {
    const { code, errors } = await runAlone(['start'], { ...environment, TOLLGATE_TOP_UP_SECRET: 'short' });
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining('option "topUps.secret": the secret has to have at least 32 characters'),
    ]);
  });
});
