/**
 * What the gateway stores of calls: lists, details, an overview, a statement, and what the holder of a key
 * can read.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { openapi } from '../../plugins/operations/openapi.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';

let gateway: TestGateway;
let door: string;
let secret: string;
let key: { readonly key: string; readonly id: string };

const priced = { id: 'house/model', free: undefined, price: { input: '1000', output: '2000' } };

beforeAll(async () => {
  const failing = tappedVendor(
    'failing',
    ['chat-completions'],
    () => ({ status: 500, text: '{"error":{"message":"broken"}}' }),
    priced,
  );
  const answering = tappedVendor(
    'answering',
    ['chat-completions'],
    () => ({
      text: JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }],
        usage: {
          prompt_tokens: 9,
          completion_tokens: 3,
          total_tokens: 12,
          prompt_tokens_details: { cached_tokens: 4 },
        },
      }),
    }),
    { ...priced },
  );
  gateway = await startGateway({
    plugins: [
      bearer(),
      chatCompletions(),
      failing,
      answering,
      demo(),
      preferences(),
      balance({ firstCredit: '0' }),
      calls({ most: 1 }),
      openapi(),
      admin({ port: 0 }),
    ],
  });
  door = findAdminUrl(gateway.told);
  secret = readFileSync(join(gateway.dataFolder, 'operator-secret'), 'utf8').trim();
  key = await newKey('acme', { credit: '5', limits: { spendCap: '3', models: ['house/*', 'demo/*'] } });
});
afterAll(() => gateway.close());

async function fetched(url: string, secretText: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, {
    ...init,
    headers: { authorization: `Bearer ${secretText}`, 'content-type': 'application/json' },
  });
}

async function newKey(account: string, more: object = {}): Promise<{ key: string; id: string }> {
  const response = await fetched(`${door}/admin/keys`, secret, {
    method: 'POST',
    body: JSON.stringify({ account, name: 'laptop', ...more }),
  });
  return z.object({ key: z.string(), id: z.string() }).parse(await response.json());
}

async function adminJson(path: string, status = 200) {
  const response = await fetched(`${door}/admin${path}`, secret);
  expect(response.status, path).toBe(status);
  return z
    .looseObject({ data: z.array(z.looseObject({ id: z.string() })).optional() })
    .parse(await response.json());
}

async function listed(path: string): Promise<string[]> {
  return ((await adminJson(path)).data ?? []).map(({ id }) => id);
}

/** Makes a call and returns its id. */
async function call(fields: object, by = key.key): Promise<string> {
  const response = await fetched(`${gateway.url}/v1/chat/completions`, by, {
    method: 'POST',
    body: JSON.stringify({
      model: 'house/model',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'SECRET PROMPT' }],
      ...fields,
    }),
  });
  await response.arrayBuffer();
  return response.headers.get('x-request-id') ?? '';
}

describe('stored calls', () => {
  it('are listed as soon as they have ended, with their cost and without their content', async () => {
    const id = await call({ provider: { only: ['answering'] } });
    const refused = await call({ model: 'house/unknown' });
    const { data } = await adminJson('/calls');
    expect(data?.map((row) => row.id)).toEqual([refused, id]);
    expect(data).toMatchObject([
      {
        outcome: 'refused',
        status: 404,
        error_code: 'model_not_found',
        model: 'house/unknown',
        provider: null,
        cost: '0',
      },
      {
        outcome: 'completed',
        status: 200,
        error_code: null,
        account: 'acme',
        key: key.id,
        model: 'house/model',
        answered_by: 'house/model',
        provider: 'answering',
        protocol: 'chat-completions',
        stream: false,
        input: 9,
        output: 3,
        cached: 4,
        attempts: 1,
        cost_basis: 'usage',
        tags: {},
      },
    ]);
    expect(JSON.stringify(await adminJson(`/calls/${id}`))).not.toContain('SECRET');
  });

  it('show attempts, steps, the routing and the entries of a call', async () => {
    const id = await call({ provider: { ignore: ['demo'], order: ['failing', 'answering'] } });
    const only = await call({ provider: { ignore: ['failing'] } });
    const detail = await adminJson(`/calls/${id}`);
    expect(detail).toMatchObject({
      id,
      object: 'call',
      account: 'acme',
      provider: 'answering',
      attempts: expect.arrayContaining([
        expect.objectContaining({ number: 1, provider: 'failing', outcome: 'upstream_failed', status: 500 }),
      ]),
      entries: [
        { kind: 'reserve', call: id },
        {
          kind: 'post',
          call: id,
          usage: { input: 9, output: 3 },
          rule: 'standard',
          costs: expect.any(Array),
          lines: [
            { kind: 'input', units: 9, price: '1000', per: 1_000_000, amount: '0.009' },
            { kind: 'output', units: 3, price: '2000', per: 1_000_000, amount: '0.006' },
          ],
          total: '0.015',
          revenue: '0.015',
        },
      ],
    });
    const { timing } = z
      .object({
        timing: z.array(z.object({ name: z.string(), start_ms: z.number(), duration_ms: z.number() })),
      })
      .parse(detail);
    const names = timing.map(({ name }) => name);
    expect(names.slice(0, 6)).toEqual(['authenticate', 'read', 'replay', 'route', 'authorize', 'attempt 1']);
    expect(names.at(-1)).toBe('settle');
    expect(await adminJson(`/calls/${only}`)).toMatchObject({
      routing: [
        {
          by: 'preferences',
          reason: 'the request leaves it out',
          removed: [{ provider: 'failing', model: 'house/model' }],
          order: [{ provider: 'answering', model: 'house/model' }],
        },
      ],
    });
  });

  it('are found by filters, in pages and as CSV, and a wrong filter is refused by name', async () => {
    const other = await newKey('beta', { credit: '5' });
    const id = await call({ model: 'demo/echo' }, other.key);
    expect(await listed(`/calls?account=beta`)).toEqual([id]);
    expect(await listed(`/calls?key=${other.id}&model=demo/echo&provider=demo&outcome=completed`)).toEqual([
      id,
    ]);
    expect(await listed(`/calls?id=${id}`)).toEqual([id]);
    expect(await listed(`/calls?account=beta&outcome=error`)).toEqual([]);
    expect(await listed(`/calls?minCost=1000`)).toEqual([]);
    const first = await adminJson('/calls?limit=1');
    expect(first.data).toHaveLength(1);
    const rest = await listed(`/calls?after=${String(first.next)}`);
    expect(rest).toHaveLength((await listed('/calls')).length - 1);
    expect(rest).not.toContain(first.data?.[0]?.id);
    const csv = await (await fetched(`${door}/admin/calls?account=beta&format=csv`, secret)).text();
    expect(csv).toMatch(/^id,started,ended,account,key,.*\r\n.*,beta,/);
    expect(await adminJson('/calls?outcome=good', 400)).toMatchObject({ error: { param: 'outcome' } });
    expect(await adminJson('/calls?colour=red', 400)).toMatchObject({ error: { code: 'invalid_request' } });
    await adminJson('/calls/unknown', 404);
  });

  it('come from the database once memory drops them, and only for the holder of the key', async () => {
    const id = await call({ provider: { only: ['answering'] } });
    const text = await (await fetched(`${gateway.url}/v1/calls/${id}`, key.key)).text();
    await call({ provider: { only: ['answering'] } });
    await adminJson('/calls');
    const again = await fetched(`${gateway.url}/v1/calls/${id}`, key.key);
    expect(again.status).toBe(200);
    expect(await again.json()).toEqual(JSON.parse(text));
    const other = await newKey('beta');
    expect((await fetched(`${gateway.url}/v1/calls/${id}`, other.key)).status).toBe(404);
  });
});

describe('an overview', () => {
  it('has the sums of all calls, as totals and as series', async () => {
    const ids = await listed('/calls?limit=1000');
    const seen = await adminJson('/overview?by=provider&step=1h');
    const detail = z
      .object({
        totals: z.looseObject({
          calls: z.number(),
          cost: z.string(),
          errors: z.number(),
          cache_hits: z.number(),
        }),
        series: z.array(
          z.looseObject({
            name: z.string().nullable(),
            cost: z.array(z.string()),
            calls: z.array(z.number()),
          }),
        ),
        times: z.array(z.string()),
        pending: z.looseObject({ calls: z.number() }),
        behind: z.number(),
      })
      .parse(seen);
    expect(detail.totals.calls).toBe(ids.length);
    expect(detail.totals.errors).toBe((await listed('/calls?outcome=error&limit=1000')).length);
    expect(detail.totals.cache_hits).toBeGreaterThan(0);
    expect(detail.series.map(({ name }) => name).toSorted()).toEqual(['', 'answering', 'demo']);
    for (const { cost } of detail.series) expect(cost).toHaveLength(detail.times.length);
    expect(detail.pending.calls).toBe(0);
    const accounts = await Promise.all(
      ['acme', 'beta'].map(
        async (name) => z.object({ used: z.string() }).parse(await adminJson(`/accounts/${name}`)).used,
      ),
    );
    const spent = accounts.reduce((sum, used) => sum + Number(used), 0);
    expect(Number(detail.totals.cost)).toBeCloseTo(spent, 9);
  });

  it('refuses unknown parameters by name', async () => {
    expect(await adminJson('/overview?by=colour', 400)).toMatchObject({ error: { param: 'by' } });
    expect(await adminJson('/overview?account=acme&step=5m', 400)).toMatchObject({
      error: { param: 'step' },
    });
    expect(await adminJson('/overview?from=2020-01-01&step=1h', 400)).toMatchObject({
      error: { param: 'step' },
    });
    expect(await adminJson('/overview?from=2027-01-01&to=2026-01-01', 400)).toMatchObject({
      error: { param: 'from' },
    });
  });
});

describe('a statement', () => {
  it('lists every line from the opening balance to the closing one', async () => {
    const month = new Date().toISOString().slice(0, 7);
    const told = z
      .object({
        opening: z.string(),
        closing: z.string(),
        lines: z.array(
          z.object({ kind: z.string(), text: z.string(), amount: z.string(), balance: z.string() }),
        ),
      })
      .parse(await adminJson(`/accounts/acme/statement?month=${month}`));
    expect(told.opening).toBe('0');
    expect(told.lines[0]).toMatchObject({ kind: 'credit', text: 'top-up', amount: '5', balance: '5' });
    expect(told.lines[1]).toMatchObject({ kind: 'usage', text: 'house/model' });
    expect(told.closing).toBe(told.lines.at(-1)?.balance);
    expect(await adminJson('/accounts/acme')).toMatchObject({ balance: told.closing });
    const csv = await (
      await fetched(`${door}/admin/accounts/acme/statement?month=${month}&format=csv`, secret)
    ).text();
    expect(csv).toContain('opening balance');
    expect(await adminJson('/accounts/acme/statement?month=2020-01')).toMatchObject({
      lines: [],
      opening: '0',
    });
    expect(await adminJson('/accounts/acme/statement')).toMatchObject({
      opening: '0',
      closing: told.closing,
    });
    expect(await adminJson('/accounts/acme/statement?month=2020-03&zone=Europe/Berlin')).toMatchObject({
      zone: 'Europe/Berlin',
      from: '2020-02-29T23:00:00.000Z',
      to: '2020-03-31T22:00:00.000Z',
    });
    expect(await gateway.verb('accounts statement', ['acme'], { month })).toMatchObject({
      opening: '0',
      closing: told.closing,
    });
    await adminJson('/accounts/acme/statement?zone=Mars/Base', 400);
    await adminJson('/accounts/acme/statement?to=2026-01-01', 400);
    await adminJson('/accounts/acme/statement?month=2026-01&from=2026-01-01', 400);
    await adminJson('/accounts/nobody/statement?month=2020-01', 404);
  });
});

describe('the holder of a key', () => {
  it('reads its balance, limits and usage', async () => {
    const told = await (await fetched(`${gateway.url}/v1/key`, key.key)).json();
    const account = z.looseObject({ used: z.string() }).parse(await adminJson('/accounts/acme'));
    expect(told).toMatchObject({
      object: 'key',
      id: key.id,
      name: 'laptop',
      last_four: key.key.slice(-4),
      account: 'acme',
      balance: { total: '5', used: account.used },
      limits: {
        spend_cap: '3',
        spend_used: account.used,
        models: ['house/*', 'demo/*'],
        expires: null,
        calls_per_minute: null,
      },
    });
    const { data } = z
      .object({
        usage: z.object({
          data: z.array(z.looseObject({ model: z.string().nullable(), calls: z.number(), cost: z.string() })),
        }),
      })
      .parse(told).usage;
    const house = data.find(({ model }) => model === 'house/model');
    expect(house?.cost).toBe(account.used);
  });

  it('lists its own calls only', async () => {
    const own = z
      .object({ data: z.array(z.looseObject({ id: z.string() })) })
      .parse(await (await fetched(`${gateway.url}/v1/calls?limit=1000`, key.key)).json());
    expect(own.data.map(({ id }) => id)).toEqual(await listed(`/calls?key=${key.id}&limit=1000`));
    expect(own.data[0]).not.toHaveProperty('account');
    expect((await fetched(`${gateway.url}/v1/calls?account=beta`, key.key)).status).toBe(400);
    expect((await fetched(`${gateway.url}/v1/key`, secret)).status).toBe(403);
  });
});
