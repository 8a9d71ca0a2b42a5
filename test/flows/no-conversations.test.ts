/** Calls that are no conversations, as operators and clients see them: in listings, limits and figures. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { callLog } from '../../plugins/operations/call-log.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { fetchImages } from '../../plugins/operations/fetch-images.ts';
import { overload } from '../../plugins/operations/overload.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { affinity } from '../../plugins/routing/affinity.ts';
import { aliases } from '../../plugins/routing/aliases.ts';
import { bareNames } from '../../plugins/routing/bare-names.ts';
import { cost } from '../../plugins/routing/cost.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { defineProvider } from '../../plugins/shared/kit.ts';
import { answerCohere } from '../rerank/vendors.ts';
import { openAdminListener, type AdminListener } from '../support/admin-listener.ts';
import { postJson } from '../support/post.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';

const documents = ['Tea', 'A lamp for ships'];
let vendor: ScriptedVendor;
let listener: AdminListener;
let key: string;

function sellScores(name: string, search: string) {
  const provider = defineProvider({
    name,
    env: { key: 'UNSET_KEY', baseUrl: 'UNSET_URL' },
    endpoints: { 'cohere-rerank': '/v2/rerank' },
    models: { discover: '/models' },
  });
  const model = { upstream: 'rerank-v3.5', output: ['scores'], price: { input: '0', output: '0', search } };
  return provider({ apiKey: 'k', baseUrl: vendor.origin, models: { 'house/rank': model } });
}

beforeAll(async () => {
  vendor = await startScriptedVendor((response, { url }, body) => {
    if (url === '/models') sendJson(response, { data: [] });
    else sendJson(response, answerCohere(JSON.parse(body), { search_units: 1 }));
  });
  listener = await openAdminListener([
    apiKeyHeader(),
    googleApiKey(),
    chatCompletions(),
    messages(),
    generateContent(),
    completions(),
    embeddings(),
    rerank(),
    moderations(),
    sellScores('dear', '0.002'),
    sellScores('cheap', '0.001'),
    demo(),
    aliases({ 'own/vectors': 'demo/embed' }),
    bareNames(),
    preferences(),
    cost(),
    affinity({ from: 1 }),
    balance({}),
    rateLimits({ perKey: { tokens: 100_000 } }),
    fetchImages(),
    overload(),
    prometheus(),
    callLog(),
    calls(),
    catalogue(),
  ]);
  key = await listener.gateway.newKey({ credit: '5' });
});
afterAll(() => vendor.close());

async function post(path: string, body: object, secret = key): Promise<Response> {
  return postJson(listener.gateway.url + path, body, { authorization: `Bearer ${secret}` });
}

async function listModels(path: string, headers: Record<string, string> = {}): Promise<string> {
  return (await fetch(listener.gateway.url + path, { headers })).text();
}

it('each listing has the models that its clients can call', async () => {
  const embed = expect.objectContaining({
    id: 'demo/embed',
    architecture: expect.objectContaining({ output_modalities: ['embeddings'] }),
  });
  expect(JSON.parse(await listModels('/v1/models')).data).toContainEqual(embed);
  for (const text of [
    await listModels('/alpha/v1/models', { 'anthropic-version': '2023-06-01' }),
    await listModels('/v1/models?client_version=0.171.0').then((all) => {
      const { models } = z.object({ models: z.array(z.unknown()) }).parse(JSON.parse(all));
      return JSON.stringify(models);
    }),
  ]) {
    expect(text).toContain('demo/echo');
    expect(text).not.toMatch(/demo\/(?:embed|rank|guard)/);
  }
  const listed = z.object({
    models: z.array(z.looseObject({ name: z.string(), supportedGenerationMethods: z.array(z.string()) })),
  });
  const { models } = listed.parse(JSON.parse(await listModels('/v1beta/models')));
  const methods = new Map(models.map((model) => [model.name, model.supportedGenerationMethods]));
  expect(methods.get('models/demo/embed')).toEqual(['embedContent', 'batchEmbedContents']);
  expect(methods.get('models/demo/echo')).toContain('generateContent');
  expect(methods.has('models/demo/rank')).toBe(false);
});

it('an alias and a bare name find models of vectors', async () => {
  for (const model of ['own/vectors', 'embed']) {
    const response = await post('/v1/embeddings', { model, input: 'A lighthouse' });
    expect([response.status, await response.json()]).toMatchObject([200, { model: 'demo/embed' }]);
  }
});

it('the cheapest vendor of searches is asked first, if the call wishes so', async () => {
  const body = { model: 'house/rank', query: 'a lamp', documents };
  for (const [sort, provider, price] of [
    [undefined, 'dear', '0.002'],
    ['price', 'cheap', '0.001'],
    [undefined, 'dear', '0.002'],
  ]) {
    const response = await post('/v2/rerank', { ...body, ...(sort && { provider: { sort } }) });
    expect(response.status, await response.text()).toBe(200);
    expect(response.headers.get('x-tollgate-provider')).toBe(provider);
    expect(response.headers.get('x-tollgate-cost')).toBe(price);
  }
});

it('limits of tokens count the input of vectors, once', async () => {
  const secret = await listener.gateway.newKey({ account: 'limited', credit: '1' });
  const body = { model: 'demo/embed', input: 'x'.repeat(4000) };
  const left = async (): Promise<number> => {
    const response = await post('/v1/embeddings', body, secret);
    await response.text();
    return Number(response.headers.get('x-ratelimit-remaining-tokens'));
  };
  const first = await left();
  expect(first).toBeLessThan(100_000);
  expect(first - (await left())).toBe(1000);
});

it('a key that is limited to a protocol calls nothing else', async () => {
  const secret = await listener.gateway.newKey({ account: 'narrow', credit: '1', protocols: 'rerank' });
  const ranked = await post('/v1/rerank', { model: 'demo/rank', query: 'a lamp', documents }, secret);
  expect(ranked.status, await ranked.text()).toBe(200);
  const refused = await post('/v1/moderations', { model: 'demo/guard', input: 'Tea' }, secret);
  expect([refused.status, await refused.json()]).toMatchObject([403, { error: { message: /protocol/ } }]);
});

it('calls, metrics, the log and the catalogue tell what they used and cost', async () => {
  const before = listener.gateway.ends.length;
  await (await post('/v1/rerank', { model: 'demo/rank', query: 'a lamp', documents })).text();
  await (await post('/v1/completions', { model: 'demo/echo', prompt: 'Once', max_tokens: 9 })).text();
  const [ranked] = (await listener.gateway.ended(before + 2)).slice(before);
  const id = ranked?.exchange.id;
  const { body } = await listener.ask('GET', `/calls/${id}`);
  expect(body).toMatchObject({
    protocol: 'rerank',
    provider: 'demo-rerank',
    cost: '0.001',
    cost_basis: 'usage',
    uses: expect.arrayContaining([{ unit: 'search', count: 1 }]),
  });
  const filtered = await listener.ask('GET', '/calls?protocol=completions');
  expect(filtered.body).toMatchObject({ data: [{ model: 'demo/echo', protocol: 'completions' }] });
  const metrics = await (await fetch(`${listener.url}/metrics`)).text();
  expect(metrics).toMatch(/tollgate_units_total\{[^}]*unit="search"[^}]*\} \d/);
  expect(metrics).toMatch(/protocol="embeddings"/);
  expect(listener.gateway.log.find((line) => line.includes(String(id)))).toContain('"protocol":"rerank"');
  const models = await listener.ask('GET', '/models');
  const priced = (name: string, cost: string) =>
    expect.objectContaining({ id: name, offers: [expect.objectContaining({ example_cost: cost })] });
  expect(models.body).toMatchObject({
    data: expect.arrayContaining([priced('demo/rank', '0.001'), priced('demo/embed', '0.00002')]),
  });
});
