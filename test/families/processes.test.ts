/**
 * Gateways of two workers on PostgreSQL that are killed, or stop, while parts of a call are with the vendor:
 * the books end right, and a stop waits for the reply.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { vendors } from '../embeddings/vendors.ts';
import { openDatabase } from '../support/database.ts';
import { waitUntil } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { buildModelFacts } from '../support/test-provider.ts';

const folder = makeDataFolder();
const file = join(folder, 'gateway.config.ts');
const account = 'acme';
let vendor: ScriptedVendor;
let store: Store;
let database: Awaited<ReturnType<typeof openDatabase>>;
let key = '';

function answer(body: string): unknown {
  return vendors['titan-embed']?.answer(JSON.parse(body), 3);
}

beforeAll(async () => {
  vendor = await startScriptedVendor((response, _request, body) => sendJson(response, answer(body)));
  database = await openDatabase();
  store = await openPostgres({ url: database.url });
  await store.createAccount({ name: account, at: 1 });
  await store.addCredit({ account, amount: 5_000_000_000n, kind: 'bonus', reference: undefined, at: 1 });
  key = (await issueKey(store, { name: '', account }))?.secret ?? '';
  const models = join(folder, 'models.json');
  const model = buildModelFacts({
    id: 'house/embed',
    upstream: 'embed',
    output: ['embeddings'],
    capabilities: { wire: { 'titan-embed': { dimensions: [8] } } },
  });
  writeFileSync(
    models,
    JSON.stringify({ vendor: 'house', asOf: '2026-11-27', source: 'made up', models: [model] }),
  );
  writeFileSync(
    file,
    `
    import { defineConfig } from 'tollgate';
    import { defineProvider } from 'tollgate/kit';
    import { bearer } from 'tollgate/plugins/auth/bearer';
    import { balance } from 'tollgate/plugins/meters/balance';
    import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
    import { completions } from 'tollgate/plugins/protocols/completions';
    import { embeddings } from 'tollgate/plugins/protocols/embeddings';
    import { moderations } from 'tollgate/plugins/protocols/moderations/index';
    import { rerank } from 'tollgate/plugins/protocols/rerank/index';
    import { demo } from 'tollgate/plugins/providers/demo';
    const house = defineProvider({
      name: 'house', env: { key: 'HOUSE_KEY', baseUrl: 'HOUSE_URL' }, baseUrl: '${vendor.origin}',
      endpoints: { 'titan-embed': '/embed' }, models: new URL('${pathToFileURL(models).href}'),
    });
    export default defineConfig({
      server: { port: Number(process.env.PORT), workers: 2 },
      dataFolder: ${JSON.stringify(folder)},
      plugins: [
        bearer(), chatCompletions(), completions(), embeddings(), rerank(), moderations(),
        demo({ pace: 0 }), house({ apiKey: 'k' }), balance({ lease: 1, store: { kind: 'postgres' } }),
      ],
    });
  `,
  );
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

afterEach(async () => {
  vendor.conduct((response, _request, body) => sendJson(response, answer(body)));
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0 });
});

async function start(): Promise<RunningGateway> {
  const gateway = await startProcess({ TOLLGATE_CONFIG: file, TOLLGATE_LEDGER_URL: database.url });
  await waitUntil(() => gateway.printed().split(/is ready at|a worker is ready/).length > 2);
  return gateway;
}

const post = ({ url }: RunningGateway, path: string, body: object): Promise<Response> =>
  postJson(url + path, body, { authorization: `Bearer ${key}`, connection: 'close' });

const input = Array.from({ length: 6 }, (_, at) => `a text, number ${at}`);

/** Begins a call of six parts, of which the vendor answers the first two; returns what answers the rest. */
async function beginCall(gateway: RunningGateway) {
  const waiting: (() => void)[] = [];
  let count = 0;
  vendor.conduct((response, _request, body) => {
    count += 1;
    if (count <= 2) return sendJson(response, answer(body));
    waiting.push(() => sendJson(response, answer(body)));
  });
  const reply = post(gateway, '/v1/embeddings', { model: 'house/embed', input, dimensions: 8 });
  await waitUntil(() => waiting.length === 4);
  return { reply, answerRest: () => waiting.forEach((send) => send()) };
}

it('a call killed while its parts are with the vendor is charged for what was sent', async () => {
  const gateway = await start();
  const { reply } = await beginCall(gateway);
  const [pending] = await store.listPending({ limit: 9 });
  const broken = expect(reply).rejects.toThrow();
  await gateway.stop('SIGKILL');
  await broken;
  const next = await start();
  await waitUntil(async () => (await store.sumTotals()).pendingCalls === 0);
  const [reserve, end, ...others] = await store.listEntries({ call: pending?.call ?? '', limit: 9 });
  expect(others).toEqual([]);
  expect(end).toMatchObject({ kind: 'post', basis: 'estimate', flags: ['recovered'] });
  expect(end?.revenue).toBeGreaterThan(0n);
  expect(end?.revenue).toBeLessThanOrEqual(reserve?.reserved ?? 0n);
  expect((await next.stop('SIGTERM')).code).toBe(0);
});

it('a stop waits for the parts of a call and for its charge', async () => {
  const gateway = await start();
  const { reply, answerRest } = await beginCall(gateway);
  const stopped = gateway.stop('SIGTERM');
  await waitUntil(() =>
    fetch(`${gateway.url}/readyz`).then(
      ({ ok }) => !ok,
      () => true,
    ),
  );
  answerRest();
  expect(await (await reply).json()).toMatchObject({
    data: input.map((_, index) => ({ index })),
    usage: { total_tokens: 18 },
  });
  expect((await stopped).code).toBe(0);
});

it('two workers answer calls of all families', async () => {
  const gateway = await start();
  const calls: readonly (readonly [string, object])[] = [
    ['/v1/embeddings', { model: 'house/embed', input }],
    ['/v1/embeddings', { model: 'demo/embed', input }],
    ['/v1/rerank', { model: 'demo/rank', query: 'number 1', documents: input }],
    ['/v2/rerank', { model: 'demo/rank', query: 'number 1', documents: input }],
    ['/v1/moderations', { model: 'demo/guard', input }],
    ['/v1/completions', { model: 'demo/echo', prompt: 'Once' }],
  ];
  const statuses = await Promise.all(
    Array.from({ length: 48 }, async (_, at) => {
      const [path, body] = calls[at % calls.length] ?? ['', {}];
      const response = await post(gateway, path, body);
      await response.arrayBuffer();
      return response.status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
});
