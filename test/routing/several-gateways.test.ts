/** What two gateways with one PostgreSQL tell each other of vendors, keys and conversations. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { affinity } from '../../plugins/routing/affinity.ts';
import { health } from '../../plugins/routing/health.ts';
import { defineProvider } from '../../plugins/shared/kit.ts';
import { queryDatabase } from '../balance/postgres-database.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { openDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';

const models = new URL('../../plugins/providers/catalogue/deepseek.json', import.meta.url);
const define = (name: string) =>
  defineProvider({
    name,
    env: { key: `${name.toUpperCase()}_API_KEY`, baseUrl: `${name.toUpperCase()}_BASE_URL` },
    baseUrl: `https://${name}.invalid/v1`,
    endpoints: { 'chat-completions': '/chat/completions' },
    models,
  });
const house = define('house');
const spare = define('spare');

const overviewSchema = z.object({
  providers: z.array(
    z.object({
      provider: z.string(),
      targets: z.array(z.object({ key: z.number(), state: z.string() })),
    }),
  ),
});

/** What the vendor replies to each key; 200 if there is nothing. */
let statuses: Map<string, number>;
/** Which keys the vendor saw, in order. */
let seen: string[];
let gateways: readonly [TestGateway, TestGateway];
let key: string;
let database: string;

/** Gateways of one process share what outlives a reload, unless their options differ. */
const options = [
  [health({ pause: 50 }), affinity({ keep: 600 })],
  [health({ pause: 51 }), affinity({ keep: 601 })],
] as const;

beforeEach(async () => {
  statuses = new Map();
  seen = [];
  const vendor = await startScriptedVendor((response, request) => {
    const key = String(request.headers.authorization).replace('Bearer ', '');
    seen.push(key);
    const status = statuses.get(key) ?? 200;
    if (status === 200) return sendJson(response, chatReply('one', {}, [3, 4]));
    sendJson(response, { error: { message: 'Not now.' } }, status, { 'retry-after': '60' });
  });
  const { url } = await openDatabase();
  database = url;
  const start = (index: 0 | 1): Promise<TestGateway> =>
    startGateway({
      // A dead vendor is not tried again within a call.
      retries: { attempts: 1 },
      plugins: [
        ...(index === 1 ? [admin({ port: 0 })] : []),
        bearer(),
        chatCompletions(),
        house({ apiKey: ['one', 'two'], baseUrl: vendor.origin }),
        spare({ apiKey: 'three', baseUrl: vendor.origin }),
        balance({ store: { kind: 'postgres', url }, firstCredit: '0' }),
        ...options[index],
      ],
    });
  gateways = [await start(0), await start(1)];
  key = await gateways[0].newKey({ account: 'a', credit: '5' });
});

/** Makes a call, and returns the keys that the vendor saw for it. */
async function call(index: 0 | 1, content = 'Hi'): Promise<readonly string[]> {
  const before = seen.length;
  const response = await postJson(
    `${gateways[index].url}/v1/chat/completions`,
    { model: 'deepseek/deepseek-v4-flash', messages: [{ role: 'user', content }] },
    { authorization: `Bearer ${key}` },
  );
  await response.text();
  expect(response.status).toBe(200);
  return seen.slice(before);
}

/** Without a call in between: one that is under way when the news comes shows that the key works. */
const soon = { timeout: 60_000, interval: 20 };

function askOperator(method: 'GET' | 'POST', path: string): Promise<Response> {
  const secret = readFileSync(join(gateways[1].dataFolder, 'operator-secret'), 'utf8').trim();
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const url = `${findAdminUrl(gateways[1].printed)}/admin/providers${path}`;
  return fetch(url, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) });
}

/** Which keys of a provider rest, as the second gateway sees it. */
async function listResting(): Promise<readonly number[]> {
  const { providers } = overviewSchema.parse(await (await askOperator('GET', '')).json());
  return providers
    .flatMap(({ provider, targets }) => (provider === 'house' ? targets : []))
    .filter(({ state }) => state === 'resting')
    .map(({ key }) => key);
}

it('a key that is full at one gateway rests at the other, which is not refused first', async () => {
  statuses.set('one', 429);
  expect(await call(0)).toEqual(['one', 'two']);
  // The vendor takes calls again, so that only the news keeps the other gateway from it.
  statuses.delete('one');
  await expect.poll(listResting, soon).toEqual([1]);
  expect(await call(1)).toEqual(['two']);
});

it('a vendor that is dead at one gateway gets no call of the other', async () => {
  for (const name of ['one', 'two']) statuses.set(name, 503);
  for (let number = 0; number < 12; number += 1) await call(0);
  statuses.clear();
  await expect.poll(listResting, soon).toEqual([1, 2]);
  expect(await call(1)).toEqual(['three']);
});

it('a long conversation stays at the key that one gateway chose, also at the other', async () => {
  const conversation = 'a long story '.repeat(500);
  statuses.set('one', 429);
  expect(await call(0, conversation)).toEqual(['one', 'two']);
  // News arrives in its order: once it is known that both rest, the move is known too.
  statuses.set('two', 429);
  expect(await call(0)).toEqual(['two', 'three']);
  await expect.poll(listResting, soon).toEqual([1, 2]);
  statuses.clear();
  expect((await askOperator('POST', '/house/wake')).status).toBe(200);
  expect(await call(1, conversation)).toEqual(['two']);
  expect(await call(1)).toEqual(['one']);
});

it('what an operator takes out of service at one gateway is out at the other, until a wake', async () => {
  const file = join(gateways[0].dataFolder, 'providers-at-rest.json');
  const readKept = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  expect((await askOperator('POST', '/house/rest')).status).toBe(200);
  // It is written where a restart of the other gateway finds it.
  await expect.poll(readKept, soon).toContain('"house"');
  expect(await call(0)).toEqual(['three']);
  expect((await askOperator('POST', '/house/wake')).status).toBe(200);
  await expect.poll(readKept, soon).toBe('[]\n');
  expect(await call(0)).toEqual(['one']);
});

it.each([
  ['no JSON', 'later'],
  ['JSON of another shape', '{"pieces":[]}'],
  ['a piece that nobody here knows', '[{"number":1,"at":1,"topic":"health","news":"well"}]'],
])('news of another version does not keep that of this one away, if it is %s', async (_, news) => {
  await queryDatabase(database, "INSERT INTO plugin_news_rows VALUES ('0', $1, $2)", [
    Date.now() + 6e5,
    news,
  ]);
  statuses.set('one', 429);
  expect(await call(0)).toEqual(['one', 'two']);
  await expect.poll(listResting, soon).toEqual([1]);
});
