/**
 * Several machines, each with its own data folder and one database for all: the delivered configuration, and
 * what operators and clients see of it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { queryDatabase } from '../balance/postgres-database.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { openDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, runVerb, startProcess } from '../support/process.ts';

/** All machines need the same. */
const dataKey = Buffer.alloc(32, 7).toString('base64');

function prepareMachine(url: string): Record<string, string> {
  return { TOLLGATE_LEDGER_URL: url, TOLLGATE_DATA: makeDataFolder(), TOLLGATE_DATA_KEY: dataKey };
}

it('two gateways with one PostgreSQL share keys and accounts', async () => {
  const { url } = await openDatabase();
  const environments = [prepareMachine(url), prepareMachine(url)];
  const gateways = await Promise.all(environments.map((environment) => startProcess(environment)));
  const { output } = await runVerb(
    ['keys', 'create', '--account', 'acme', '--credit', '5', '--json'],
    prepareMachine(url),
  );
  const { key }: { key: string } = JSON.parse(output);
  for (const gateway of gateways) {
    const response = await postJson(
      `${gateway.url}/v1/chat/completions`,
      { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] },
      { authorization: `Bearer ${key}` },
    );
    expect([response.status, await response.json()]).toMatchObject([200, { model: 'demo/echo' }]);
  }
  const seen = await Promise.all(
    gateways.map(async (gateway) =>
      (await fetch(`${gateway.url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } })).json(),
    ),
  );
  expect(seen[0]).toMatchObject({ is_active: true, total: 5 });
  expect(seen[1]).toEqual(seen[0]);
  for (const gateway of gateways) expect(gateway.printed()).not.toContain('keeper');
  await Promise.all(gateways.map((gateway) => gateway.stop('SIGTERM')));
  const audited = await runVerb(['audit', '--json'], prepareMachine(url));
  expect([audited.code, JSON.parse(audited.output)]).toMatchObject([0, { ok: true }]);
});

describe('two gateways with one PostgreSQL serve operators and clients at either', () => {
  const body = { model: 'demo/echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };
  let gateways: TestGateway[];
  let adminUrl: string;
  let secret: string;
  beforeAll(async () => {
    const store = { kind: 'postgres', url: (await openDatabase()).url } as const;
    const plugins = [bearer(), chatCompletions(), demo({ pace: 1 }), balance({ store, firstCredit: '0' })];
    // One process has one admin listener.
    gateways = [
      await startGateway({ plugins: [...plugins, admin({ port: 0 })] }),
      await startGateway({ plugins }),
    ];
    const [first] = gateways;
    adminUrl = findAdminUrl(first?.printed);
    secret = readFileSync(join(first?.dataFolder ?? '', 'operator-secret'), 'utf8').trim();
    await callAdmin('POST', '/accounts', { name: 'acme' });
    await callAdmin('POST', '/credits', { account: 'acme', amount: '5', reference: 'invoice-1' });
  });

  async function callAdmin(
    method: string,
    path: string,
    sent?: object,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const response = await fetch(`${adminUrl}/admin${path}`, {
      method,
      headers,
      body: sent ? JSON.stringify(sent) : null,
    });
    return { status: response.status, body: await response.json() };
  }

  async function createKey(limits: object = {}): Promise<{ readonly key: string; readonly id: string }> {
    return z
      .object({ key: z.string(), id: z.string() })
      .parse((await callAdmin('POST', '/keys', { account: 'acme', limits })).body);
  }

  async function call(index: number, key: string, more: Record<string, string> = {}, sent: object = body) {
    const response = await postJson(`${gateways[index % 2]?.url}/v1/chat/completions`, sent, {
      authorization: `Bearer ${key}`,
      ...more,
    });
    return {
      status: response.status,
      replayed: response.headers.get('idempotent-replayed'),
      text: await response.text(),
    };
  }

  it('share idempotency keys: one of 30 equal calls is made and charged; all get its bytes', async () => {
    const { key, id } = await createKey();
    const once = { 'idempotency-key': 'order-1' };
    const replies = await Promise.all(Array.from({ length: 30 }, (_, index) => call(index, key, once)));
    expect(replies.filter(({ status, replayed }) => status === 200 && replayed === null)).toHaveLength(1);
    expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const made = replies.find(({ status }) => status === 200)?.text;
    for (const index of [0, 1])
      expect(await call(index, key, once)).toEqual({ status: 200, replayed: 'true', text: made });
    expect((await call(1, key, once, { ...body, max_tokens: 21 })).status).toBe(422);
    expect(await callAdmin('GET', `/usage?key=${id}&by=key`)).toMatchObject({
      status: 200,
      body: { data: [{ key: id, calls: 1 }] },
    });
  });

  it('apply what operators do at the other: credit, limits, rotation, disabling', async () => {
    expect(
      await callAdmin('POST', '/credits', { account: 'acme', amount: '5', reference: 'invoice-1' }),
    ).toMatchObject({ status: 200, body: { status: 'already_credited', total: '5' } });
    const { key, id } = await createKey({ spendCap: '0.000000001' });
    expect((await call(1, key)).status).toBe(402);
    await callAdmin('PATCH', `/keys/${id}`, { limits: { spendCap: null } });
    expect((await call(1, key)).status).toBe(200);
    const rotated = z
      .object({ key: z.string(), id: z.string() })
      .parse((await callAdmin('POST', `/keys/${id}/rotate`, { overlap: 3600 })).body);
    expect([(await call(1, key)).status, (await call(1, rotated.key)).status]).toEqual([200, 200]);
    await callAdmin('PATCH', `/keys/${rotated.id}`, { disabled: true });
    await expect.poll(async () => (await call(1, rotated.key)).status).toBe(401);
    expect(await callAdmin('GET', `/entries?key=${id}`)).toMatchObject({
      body: { data: [{ kind: 'reserve' }, { kind: 'post' }, { kind: 'reserve' }, { kind: 'post' }] },
    });
    expect(await callAdmin('GET', '/reservations')).toMatchObject({
      body: { data: [], totals: { calls: 0 } },
    });
    expect(await callAdmin('GET', '/audit')).toMatchObject({
      status: 200,
      body: { ok: true, findings: [] },
    });
  });
});

it('two gateways have no ledger before the first starts, and the doctor makes none', async () => {
  const { url } = await openDatabase();
  for (let round = 0; round < 2; round += 1)
    expect((await runVerb(['doctor'], prepareMachine(url))).output).toContain('there is no ledger at');
  await queryDatabase(url, "CREATE ROLE guest LOGIN PASSWORD 'guest'");
  const guest = Object.assign(new URL(url), { username: 'guest', password: 'guest' }).href;
  const readFault = async (): Promise<string> =>
    (await runVerb(['keys', 'list'], prepareMachine(guest))).errors;
  expect(await readFault()).toContain('this user may not make one: grant it CREATE on the database');
  expect((await runVerb(['keys', 'create'], prepareMachine(url))).code).toBe(0);
  expect(await readFault()).toContain('cannot be opened: permission denied');
  await queryDatabase(url, 'DROP ROLE guest');
});
