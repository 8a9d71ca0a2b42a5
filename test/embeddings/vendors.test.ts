/** Every vendor of the catalogue, called by the official SDKs of OpenAI and Google over real sockets. */
import { GoogleGenAI } from '@google/genai';
import fc from 'fast-check';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { answerCall, listPlugins } from './catalogue-vendors.ts';
import { toVector } from './vectors.ts';

const replySchema = z.looseObject({
  data: z.array(z.looseObject({ embedding: z.array(z.number()) })).optional(),
});

let gateway: TestGateway;
let vendor: ScriptedVendor;
let key: string;
let client: OpenAI;
let googleClient: GoogleGenAI;
/** What the vendor says each request has used. */
let tokens = 3;

const answer: Parameters<ScriptedVendor['conduct']>[0] = (response, request, body) =>
  answerCall(response, request, body, tokens);

beforeAll(async () => {
  vendor = await startScriptedVendor(answer);
  gateway = await startGateway({
    plugins: [
      bearer(),
      googleApiKey(),
      generateContent(),
      preferences(),
      ...listPlugins(vendor.origin),
      balance({}),
    ],
  });
  const apiKey = await gateway.newKey({ credit: '50' });
  key = apiKey;
  client = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  googleClient = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url } });
});
beforeEach(() => {
  vendor.conduct(answer);
  tokens = 3;
});
afterAll(() => Promise.all([gateway.close(), vendor.close()]));

/** Nano-USD of a header with USD. */
function readCost(response: Response): bigint {
  const [whole = '0', part = ''] = (response.headers.get('x-tollgate-cost') ?? '').split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0'));
}

/** USD for a million tokens, in thousandths: so many nano-USD is a token. */
const models = [
  ['openai/text-embedding-3-small', 20n, 1],
  ['azure: openai/text-embedding-3-large', 143n, 1],
  ['mistral/codestral-embed', 150n, 1],
  ['voyage/voyage-4', 60n, 1],
  ['jina/jina-embeddings-v3', 50n, 1],
  ['cohere: cohere/embed-v4.0', 120n, 1],
  ['amazon-bedrock: cohere/embed-v4.0', 120n, 1],
  ['amazon/titan-embed-text-v2', 20n, 2],
  ['google/gemini-embedding-2', 200n, 1],
  ['ollama/nomic-embed-text:latest', 50n, 1],
  ['BAAI/bge-m3', 50n, 1],
] as const;

/** `vendor: model`, or a model that only one has. */
function readName(name: string): { model: string; provider?: { only: string[] } } {
  const [vendorName = '', model] = name.split(': ');
  return model === undefined ? { model: vendorName } : { model, provider: { only: [vendorName] } };
}

it.each(models)(
  '%s gives the SDK its vectors, and the ledger the figure of the vendor',
  async (name, rate, requests) => {
    for (const format of [undefined, 'float', 'base64'] as const) {
      const asked = {
        ...readName(name),
        input: ['ab', 'Zürich'],
        ...(format && { encoding_format: format }),
      };
      const { data, response } = await client.embeddings.create(asked).withResponse();
      const vectors = data.data.map(({ embedding }) =>
        typeof embedding === 'string'
          ? [...new Float32Array(new Uint8Array(Buffer.from(embedding, 'base64')).buffer)]
          : embedding,
      );
      expect(vectors).toEqual([toVector('ab'), toVector('Zürich')]);
      expect(data.usage).toEqual({ prompt_tokens: 3 * requests, total_tokens: 3 * requests });
      expect(readCost(response)).toBe(rate * 3n * BigInt(requests));
    }
  },
);

it('a model of NVIDIA, which is free, gets the purpose that it needs', async () => {
  const { response } = await client.embeddings
    .create({ model: 'nvidia/nv-embedqa-e5-v5', input: 'ab' })
    .withResponse();
  expect(JSON.parse(vendor.bodies.at(-1) ?? '')).toMatchObject({ input_type: 'passage', truncate: 'NONE' });
  expect(response.headers.get('x-tollgate-dropped')).toBe('input_type');
});

it.each(['BAAI/bge-base-en-v1.5', 'google/gemini-embedding-001'])(
  'a reply of %s without usage is charged by an estimate, and never as nothing',
  async (model) => {
    const { data, response } = await client.embeddings
      .create({ model, input: 'x'.repeat(400) })
      .withResponse();
    expect(data.usage.prompt_tokens).toBe(100);
    expect(readCost(response)).toBe(model.startsWith('BAAI') ? 800n : 15_000n);
    expect(gateway.ends.at(-1)).toMatchObject({ charge: { basis: 'estimate' } });
  },
);

it('the ledger has the figure of the vendor for any usage, whatever the length', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...models.slice(0, 7)),
      fc.integer({ min: 1, max: 2000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async ([name, rate], length, share) => {
        // A usage of nothing is no usage.
        tokens = Math.max(1, Math.floor(share * length));
        const input = 'x'.repeat(length);
        const { data, response } = await client.embeddings
          .create({ ...readName(name), input })
          .withResponse();
        expect(data.usage.prompt_tokens).toBe(tokens);
        expect(readCost(response)).toBe(rate * BigInt(tokens));
      },
    ),
    { numRuns: 30 },
  );
});

it.each(['google/gemini-embedding-001', 'openai/text-embedding-3-small', 'voyage/voyage-4'])(
  "Google's SDK gets a vector for each text from %s",
  async (model) => {
    const { embeddings } = await googleClient.models.embedContent({
      model,
      contents: ['ab', 'c'],
      config: { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 256 },
    });
    expect(embeddings?.map(({ values }) => values)).toEqual([toVector('ab', 256), toVector('c', 256)]);
    const sent = JSON.parse(vendor.bodies.at(-1) ?? '');
    if (model.startsWith('google/')) expect(sent.requests[0].taskType).toBe('RETRIEVAL_QUERY');
    if (model.startsWith('voyage/')) expect(sent.input_type).toBe('query');
  },
);

it('a list of parts for Gemini Embedding 2 is one vector, and a list of texts is one for each', async () => {
  const model = 'google/gemini-embedding-2';
  const { embeddings } = await googleClient.models.embedContent({ model, contents: ['ab', 'c'] });
  expect(embeddings).toHaveLength(1);
  const { data } = await client.embeddings.create({ model, input: ['ab', 'c'] });
  expect(data).toHaveLength(2);
});

it("Google's clients get faults in Google's words", async () => {
  const call = googleClient.models.embedContent({
    model: 'mistral/mistral-embed',
    contents: 'ab',
    config: { outputDimensionality: 256 },
  });
  await expect(call).rejects.toThrow(/"field":"requests\[0\]\.outputDimensionality"/);
  const other = await fetch(`${gateway.url}/v1beta/models/openai%2Ftext-embedding-3-small:embedContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ content: { parts: [{ text: 'ab' }] } }),
  });
  expect(await other.json()).toMatchObject({ embedding: { values: toVector('ab') } });
  const looked = await fetch(`${gateway.url}/v1beta/models/openai/text-embedding-3-small:embedContent`, {
    headers: { 'x-goog-api-key': key },
  });
  expect([looked.status, await looked.json()]).toMatchObject([405, { error: { code: 405 } }]);
});

it.each([
  [{ dimensions: 300 }, 'voyage/voyage-4', 'dimensions', 'one of 256, 512, 1024, 2048'],
  [{ dimensions: 300 }, 'mistral/mistral-embed', 'dimensions', 'leave it out'],
  [{ input: [[1, 2]] }, 'voyage/voyage-4', 'input', 'check_embedding_ctx_length=False'],
  [{ input: Array.from({ length: 2049 }, () => 'a') }, 'openai/text-embedding-3-small', 'input', '2048'],
  [{ input: '' }, 'openai/text-embedding-3-small', 'input', 'not empty'],
  [
    { provider: { fallback: ['voyage/voyage-4'] } },
    'jina/jina-embeddings-v3',
    'provider.fallback',
    'compared',
  ],
] as const)('%j to %s is refused by the name of the field', async (fields, model, param, text) => {
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'a', ...fields, model }),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param, message: expect.stringContaining(text) } });
});

it.each([
  [400, { error: { message: 'too many tokens' } }, 400, 'too many tokens'],
  [401, { error: { message: 'the key of house' } }, 502, 'could not take'],
  [429, { detail: 'slow down' }, 429, 'slow down'],
  [200, { data: [], model: 'm', object: 'list' }, 502, '0 vectors for 2 inputs'],
  [200, { data: [{ embedding: [1] }, { embedding: [null] }] }, 502, 'could not be read'],
] as const)('a vendor that answers %i with %j gives the client %i', async (status, body, given, text) => {
  vendor.conduct((response) => sendJson(response, body, status));
  for (const model of ['mistral/mistral-embed', 'jina/jina-embeddings-v3']) {
    const call = client.embeddings.create({ model, input: ['ab', 'c'] });
    await expect(call).rejects.toThrow(text);
    await expect(call).rejects.toMatchObject({ status: given });
    expect(gateway.ends.at(-1)?.type).toBe('failed');
  }
});

it('a list whose second part fails costs nothing, and none of it is sent', async () => {
  let asked = 0;
  vendor.conduct((response, request, body) => {
    asked += 1;
    if (asked === 2) sendJson(response, { error: { message: 'too long' } }, 400);
    else answer(response, request, body);
  });
  const input = Array.from({ length: 200 }, (_, at) => `text ${at}`);
  const call = client.embeddings.create({ ...readName('cohere: cohere/embed-v4.0'), input });
  await expect(call).rejects.toMatchObject({ status: 400 });
  expect(gateway.ends.at(-1)?.type).toBe('failed');
});

it('a client that leaves closes the connection to the vendor', async () => {
  const leaving = new AbortController();
  const closed = new Promise<void>((resolve) => {
    vendor.conduct((response) => {
      response.on('close', resolve);
      leaving.abort();
    });
  });
  const call = client.embeddings.create(
    { model: 'jina/jina-embeddings-v3', input: 'ab' },
    { signal: leaving.signal },
  );
  await expect(call).rejects.toThrow();
  await closed;
});

it.each([
  [
    [1, 0],
    [200, toVector('ab'), toVector('c')],
  ],
  [
    [undefined, undefined],
    [200, toVector('c'), toVector('ab')],
  ],
  [[0, 0], [502]],
  [[0, 2], [502]],
] as const)('vectors with the indexes %j are put in order, or refused', async (indexes, expected) => {
  vendor.conduct((response) => {
    const embeddings = [toVector('c'), toVector('ab')];
    sendJson(response, { data: embeddings.map((embedding, at) => ({ index: indexes[at], embedding })) });
  });
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: ['ab', 'c'], model: 'jina/jina-embeddings-v3' }),
  });
  const { data = [] } = replySchema.parse(await response.json());
  expect([response.status, ...data.map(({ embedding }) => embedding)]).toEqual(expected);
});
