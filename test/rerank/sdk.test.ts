/** The official SDK's `rerank` and the calls of other clients, through a gateway, to fake vendors. */
import { CohereClientV2, CohereError } from 'cohere-ai';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { z, ZodError } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { cohere } from '../../plugins/providers/cohere.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { bareNames } from '../../plugins/routing/bare-names.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { answerBedrock, answerCohere, answerJina } from './vendors.ts';

let gateway: TestGateway;
let vendor: ScriptedVendor;
let client: CohereClientV2;
let apiKey: string;

/** Answers as vendors do: with what `answer` makes of the body, or with the vendor's words for a bad one. */
function conduct(answer: (body: unknown, path: string) => unknown): Conduct {
  return (response, request, body) => {
    try {
      sendJson(
        response,
        request.method === 'GET' ? { data: [] } : answer(JSON.parse(body), request.url ?? ''),
      );
    } catch (error) {
      if (!(error instanceof ZodError)) throw error;
      sendJson(response, { message: `invalid request: ${error.issues[0]?.message}` }, 400);
    }
  };
}

const answerUsual = conduct((body, path) => {
  if (path === '/v2/rerank') return answerCohere(body, { search_units: 1 });
  if (path === '/v1/rerank') return answerJina(body, 120);
  if (path === '/model/cohere.rerank-v3-5%3A0/invoke') return answerBedrock(body);
  throw new Error(`nothing is at ${path}`);
});

beforeAll(async () => {
  vendor = await startScriptedVendor(answerUsual);
  const { origin } = vendor;
  gateway = await startGateway({
    plugins: [
      bearer(),
      chatCompletions(),
      rerank(),
      cohere({ apiKey: 'vendor-key', baseUrl: `${origin}/compatibility/v1` }),
      vllm({
        baseUrl: `${origin}/v1`,
        models: { 'vllm/house': { output: ['scores'], price: { input: '0.02', output: '0' } } },
      }),
      amazonBedrock({ region: 'eu-west-1', apiKey: 'bedrock-key', baseUrl: origin }),
      demo(),
      bareNames(),
      preferences(),
      balance({}),
    ],
  });
  apiKey = await gateway.newKey({ credit: '5' });
  client = new CohereClientV2({ token: apiKey, environment: gateway.url, maxRetries: 0 });
});
afterAll(() => Promise.all([gateway.close(), vendor.close()]));
beforeEach(() => vendor.conduct(answerUsual));

const documents = ['ab', 'abcdef', 'a', 'abcd'];

async function post(path: string, body: object, headers: object = {}): Promise<Response> {
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

it("Cohere's SDK gets Cohere's own reply, and each search is charged", async () => {
  const { data, rawResponse } = await client
    .rerank({ model: 'cohere/rerank-v4.0-pro', query: 'q', documents: ['abcd', 'x'.repeat(90_000)], topN: 1 })
    .withRawResponse();
  expect(data.results).toEqual([{ index: 1, relevanceScore: 90_000 / 1024 }]);
  expect(data.meta?.billedUnits?.searchUnits).toBe(1);
  expect(rawResponse.headers.get('x-tollgate-cost')).toBe('0.0025');
});

const replySchema = z.looseObject({
  results: z.array(
    z.looseObject({ index: z.int(), relevance_score: z.number(), document: z.unknown().optional() }),
  ),
  usage: z.looseObject({ total_tokens: z.int() }).optional(),
  meta: z.looseObject({ billed_units: z.looseObject({}) }).optional(),
});

const best = { index: 1, relevance_score: 6 / 1024 };

it.each(['/v1/rerank', '/rerank'])('%s gives what Dify, RAGFlow and FastGPT read', async (path) => {
  const response = await post(path, { model: 'cohere/rerank-v3.5', query: 'q', documents, top_n: 2 });
  expect(response.headers.get('x-tollgate-cost')).toBe('0.002');
  expect(await response.json()).toEqual({
    id: expect.any(String),
    object: 'list',
    model: 'cohere/rerank-v3.5',
    results: [
      { ...best, document: { text: 'abcdef' } },
      { index: 3, relevance_score: 4 / 1024, document: { text: 'abcd' } },
    ],
    meta: {
      api_version: { version: '2' },
      billed_units: { search_units: 1 },
      tokens: { input_tokens: 0, output_tokens: 0 },
    },
    usage: { prompt_tokens: 0, total_tokens: 0, search_units: 1 },
  });
});

it('the reply has the documents if they are asked for, or if nothing is said to Jina', async () => {
  const call = { model: 'cohere/rerank-v4.0-fast', query: 'q', documents };
  const read = async (path: string, more: object = {}): Promise<unknown> =>
    replySchema.parse(await (await post(path, { ...call, ...more })).json()).results[0]?.document;
  expect(await read('/v1/rerank')).toEqual({ text: 'abcdef' });
  expect(await read('/v1/rerank', { return_documents: false })).toBeUndefined();
  expect(await read('/v2/rerank', { return_documents: true })).toEqual({ text: 'abcdef' });
  expect(await read('/v2/rerank', { rank_fields: ['text'] })).toBeUndefined();
});

it('documents with fields are sent as texts and come back as they were', async () => {
  const lamp = { title: 'Lamp', text: 'light', year: 1900 };
  const objects = [lamp, { text: 'tea' }, 'a text'];
  const call = { model: 'cohere/rerank-v3.5', query: 'q', documents: objects };
  const reply = replySchema.parse(await (await post('/v1/rerank', call)).json());
  expect(reply.results.map(({ document }) => document)).toEqual([{ text: 'a text' }, lamp, { text: 'tea' }]);
  const sent = z.looseObject({ documents: z.array(z.string()) });
  expect(sent.parse(JSON.parse(vendor.bodies.at(-1) ?? '')).documents).toEqual(['light', 'tea', 'a text']);
  await post('/v1/rerank', { ...call, documents: [lamp], rank_fields: ['title', 'year'] });
  expect(sent.parse(JSON.parse(vendor.bodies.at(-1) ?? '')).documents).toEqual(['title: Lamp\nyear: 1900']);
});

it("a vendor of the client's own wire gets its body and is charged by its tokens", async () => {
  const body = { model: 'vllm/house', query: 'q', documents, top_n: 1, return_documents: false };
  const response = await post('/v1/rerank', body);
  expect(await response.json()).toEqual({
    model: 'vllm/house',
    object: 'list',
    results: [best],
    usage: { total_tokens: 120 },
  });
  expect(JSON.parse(vendor.bodies.at(-1) ?? '')).toEqual({ ...body, model: 'house' });
  expect(response.headers.get('x-tollgate-cost')).toBe('0.0000024');
});

it('a list longer than a vendor takes is sent in parts and sorted as one', async () => {
  const many = Array.from({ length: 2500 }, (_, at) => 'x'.repeat((at * 7919) % 2500));
  const response = await post('/v1/rerank', { model: 'vllm/house', query: 'q', documents: many, top_n: 3 });
  const { results, usage } = replySchema.parse(await response.json());
  expect(results.map(({ index }) => many[index]?.length)).toEqual([2499, 2498, 2497]);
  expect(usage?.total_tokens).toBe(360);
});

it('a vendor that reports no searches is charged for those of the call, and the entry says so', async () => {
  const call = { query: 'q', provider: { only: ['amazon-bedrock'] }, model: 'cohere/rerank-v3.5' };
  const first = await post('/v2/rerank', { ...call, documents, top_n: 1 });
  expect(first.headers.get('x-tollgate-provider')).toBe('amazon-bedrock');
  expect(first.headers.get('x-tollgate-cost')).toBe('0.002');
  expect(await first.json()).toMatchObject({ results: [best], meta: { billed_units: { search_units: 1 } } });
  expect(JSON.parse(vendor.bodies.at(-1) ?? '')).toEqual({ query: 'q', documents, top_n: 1, api_version: 2 });
  // 60 documents of 1,500 tokens count as four each.
  const long = Array.from({ length: 60 }, () => 'word '.repeat(1200));
  const second = await post('/v2/rerank', { ...call, documents: long });
  expect(second.headers.get('x-tollgate-cost')).toBe('0.006');
  await second.body?.cancel();
  const { charge } = z
    .object({ charge: z.looseObject({ basis: z.string(), suspect: z.boolean() }) })
    .parse(gateway.ends.at(-1));
  expect(charge).toMatchObject({ basis: 'estimate', suspect: false });
});

it('the same model at another vendor answers if the first fails, and no other model ever does', async () => {
  const body = { model: 'cohere/rerank-v3.5', query: 'q', documents };
  vendor.conduct((response, request, text) => {
    if (request.url === '/v2/rerank') sendJson(response, { message: 'internal error' }, 500);
    else answerUsual(response, request, text);
  });
  const response = await post('/v2/rerank', body);
  expect([response.status, response.headers.get('x-tollgate-provider')]).toEqual([200, 'amazon-bedrock']);
  const other = await post('/v2/rerank', { ...body, provider: { fallback: ['cohere/rerank-v4.0-pro'] } });
  expect(other.status).toBe(400);
  expect(await other.json()).toEqual({
    id: expect.any(String),
    message: expect.stringContaining('"provider.fallback" names other models'),
  });
});

it('the ledger has what the vendor bills for any number of searches or tokens, to the nano', async () => {
  const units = fc.oneof(
    fc.record({ search_units: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ input_tokens: fc.integer({ min: 1, max: 4000 }) }),
  );
  const path = fc.constantFrom('/v1/rerank', '/v2/rerank');
  await fc.assert(
    fc.asyncProperty(units, path, async (billed, where) => {
      vendor.conduct(conduct((body) => answerCohere(body, billed)));
      const isSearch = 'search_units' in billed;
      // Each may count as five documents, so that 20 searches are plausible.
      const sent = Array.from({ length: isSearch ? 400 : 4 }, () => 'x'.repeat(2400));
      const model = isSearch ? 'cohere/rerank-v4.0-pro' : 'cohere/rerank-v5.0-pro';
      // The cost of a long reply is known after its headers.
      const quiet = where === '/v1/rerank' && { return_documents: false };
      const response = await post(where, { model, query: 'q', documents: sent, ...quiet });
      const { meta } = replySchema.parse(await response.json());
      expect(meta?.billed_units).toEqual(billed);
      const nano = isSearch ? billed.search_units * 2_500_000 : billed.input_tokens * 50;
      expect(response.headers.get('x-tollgate-cost')).toBe((nano / 1e9).toFixed(9).replace(/\.?0+$/, ''));
      expect(gateway.ends.at(-1)).toMatchObject({
        charge: { cost: BigInt(nano), basis: 'usage', suspect: false },
      });
    }),
    { numRuns: 60 },
  );
});

it('a vendor that bills more searches than a call can need gets no more than was reserved', async () => {
  vendor.conduct(conduct((body) => answerCohere(body, { search_units: 1_000_000 })));
  const response = await post('/v2/rerank', { model: 'cohere/rerank-v4.0-pro', query: 'q', documents });
  expect(response.headers.get('x-tollgate-cost')).toBe('0.0025');
  expect(await response.json()).toMatchObject({ meta: { billed_units: { search_units: 1 } } });
  expect(gateway.ends.at(-1)).toMatchObject({ charge: { suspect: true } });
});

it('a vendor that bills nothing, or the wrong unit, is charged by an estimate', async () => {
  for (const billed of [{}, { input_tokens: 7 }, { search_units: 0 }]) {
    vendor.conduct(conduct((body) => answerCohere(body, billed)));
    const response = await post('/v2/rerank', { model: 'cohere/rerank-v4.0-pro', query: 'q', documents });
    expect(response.headers.get('x-tollgate-cost')).toBe('0.0025');
    expect(await response.json()).toMatchObject({ meta: { billed_units: { search_units: 1 } } });
  }
});

it.each([
  ['/v1/rerank', ['usage']],
  ['/v2/rerank', ['meta', 'billed_units']],
])('a reply of %s has the cost beside its usage, if it is asked for', async (path, place) => {
  const call = { model: 'cohere/rerank-v4.0-pro', query: 'q', documents };
  const response = await post(path, call, { 'x-tollgate-cost': 'reply' });
  expect(await response.json()).toHaveProperty([...place, 'cost'], 0.0025);
});

it('a bare name finds its model', async () => {
  const response = await post('/v1/rerank', { model: 'rerank-v4.0-pro', query: 'q', documents });
  expect(response.headers.get('x-tollgate-model')).toBe('cohere/rerank-v4.0-pro');
});

it('a client that leaves pays for the searches that were sent', async () => {
  const before = gateway.ends.length;
  const leaving = new AbortController();
  vendor.conduct(() => leaving.abort());
  const call = { model: 'cohere/rerank-v4.0-pro', query: 'q', documents };
  await expect(client.rerank(call, { abortSignal: leaving.signal })).rejects.toThrow();
  const end = (await gateway.ended(before + 1)).at(-1);
  expect(end).toMatchObject({ charge: { cost: 2_500_000n, basis: 'estimate' } });
});

it.each([
  ['query', { query: '' }],
  ['documents', { documents: [] }],
  ['documents[1]', { documents: ['a', 7] }],
  ['documents[1]', { documents: ['a', {}] }],
  ['documents[0].image', { documents: [{ image: 'https://example.com/a.png' }] }],
  ['documents[0]', { documents: [{ text: 'a' }], rank_fields: ['title'] }],
  ['top_n', { top_n: 0 }],
  ['return_documents', { return_documents: 'yes' }],
  ['rank_fields', { rank_fields: [] }],
  ['max_tokens_per_doc', { max_tokens_per_doc: 1.5 }],
  ['truncation', { truncation: 'END' }],
  ['provider.sorted', { provider: { sorted: true } }],
])('a wrong %s gets a 400 that names it, in the words of both wires: %j', async (param, wrong) => {
  const body = { model: 'demo/rank', query: 'q', documents, ...wrong };
  const first = await post('/v1/rerank', body);
  expect(first.status).toBe(400);
  expect(await first.json()).toMatchObject({ error: { param } });
  const second = await post('/v2/rerank', body);
  expect(second.status).toBe(400);
  expect(await second.json()).toMatchObject({ message: expect.stringContaining(`"${param}"`) });
});

it('more documents than any vendor takes get a 400 that names them', async () => {
  const many = Array.from({ length: 10_001 }, () => '');
  const response = await post('/v1/rerank', { model: 'demo/rank', query: 'q', documents: many });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'documents' } }]);
});

it("the vendor's refusal has its words and its status, for Cohere's SDK too", async () => {
  const call = { model: 'cohere/rerank-v4.0-pro', query: 'q', documents, priority: 1000 };
  const error: unknown = await client.rerank(call).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CohereError);
  expect(error).toMatchObject({
    statusCode: 400,
    body: { message: expect.stringContaining('invalid request') },
  });
});

it('fields that a vendor lacks are named as lost, and one that only the client knows, too', async () => {
  const limits = { max_tokens_per_doc: 10, truncation: false, x_unknown: 1 };
  const call = { query: 'q', documents, ...limits };
  const read = async (path: string, model: string): Promise<string | null> =>
    (await post(path, { ...call, model })).headers.get('x-tollgate-dropped');
  expect(await read('/v1/rerank', 'cohere/rerank-v4.0-pro')).toBe('truncation,x_unknown');
  expect(await read('/v2/rerank', 'vllm/house')).toBe('max_tokens_per_doc,x_unknown');
});

it.each([
  { results: [] },
  { results: [{ index: 0, relevance_score: 0.5 }] },
  { results: documents.map(() => ({ index: 0, relevance_score: 0.5 })) },
  { results: documents.map((_, at) => ({ index: at + 1, relevance_score: 0.5 })) },
  { results: documents.map((_, index) => ({ index, relevance_score: 'high' })) },
  { results: documents.map((_, at) => ({ index: -at, relevance_score: 0.5 })) },
  { scores: [1, 2, 3, 4] },
  [],
])('a reply that does not score each document is a failure of the vendor: %j', async (reply) => {
  vendor.conduct((response) => sendJson(response, reply));
  const response = await post('/v1/rerank', { model: 'cohere/rerank-v4.0-pro', query: 'q', documents });
  expect(response.status).toBe(502);
  expect(response.headers.get('x-tollgate-cost') ?? '0').toBe('0');
});

it('the demo scores more documents than one request takes', async () => {
  const many = Array.from({ length: 2500 }, (_, at) => (at === 2400 ? 'A lamp for ships.' : 'Tea'));
  const { results } = await client.rerank({
    model: 'demo/rank',
    query: 'a lamp for ships',
    documents: many,
    topN: 1,
  });
  expect(results).toEqual([{ index: 2400, relevanceScore: 1 }]);
});

it('the demo scores by the words that a document shares with the query, and sells searches', async () => {
  const { data, rawResponse } = await client
    .rerank({
      model: 'demo/rank',
      query: 'a lamp for ships',
      documents: ['Tea for two', 'A lighthouse is a lamp for ships.', 'Salt'],
    })
    .withRawResponse();
  expect(data.results).toEqual([
    { index: 1, relevanceScore: 1 },
    { index: 0, relevanceScore: 0.25 },
    { index: 2, relevanceScore: 0 },
  ]);
  expect(rawResponse.headers.get('x-tollgate-cost')).toBe('0.001');
});

it('a key without enough money is refused before the vendor is asked', async () => {
  const poor = await gateway.newKey({ account: 'poor', credit: '0.002' });
  const asked = vendor.bodies.length;
  const response = await post(
    '/v2/rerank',
    { model: 'cohere/rerank-v4.0-pro', query: 'q', documents },
    { authorization: `Bearer ${poor}` },
  );
  expect(response.status).toBe(402);
  expect(await response.json()).toEqual({
    id: expect.any(String),
    message: expect.stringContaining('0.002'),
  });
  expect(vendor.bodies).toHaveLength(asked);
});

it('a chat with a model of scores gets a 400 that says where it is called', async () => {
  const chat = { model: 'demo/rank', messages: [{ role: 'user', content: 'Hello!' }] };
  expect(await (await post('/v1/chat/completions', chat)).json()).toMatchObject({
    error: { message: expect.stringContaining('makes scores, not conversations') },
  });
  const rank = await post('/v1/rerank', { model: 'demo/echo', query: 'q', documents });
  expect(await rank.json()).toMatchObject({
    error: {
      message: 'The model "demo/echo" makes text, not scores: call an endpoint for that.',
      param: 'model',
    },
  });
});

it('the listing of models has those of scores, with the price of a search', async () => {
  const response = await fetch(`${gateway.url}/v1/models/demo/rank`);
  expect(await response.json()).toMatchObject({
    id: 'demo/rank',
    architecture: { output_modalities: ['scores'] },
    pricing: { search: '0.001' },
  });
});
