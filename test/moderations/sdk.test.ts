/** The official SDK's `moderations.create` through a gateway, to fakes of OpenAI and Mistral. */
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { z, ZodError } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';

let gateway: TestGateway;
let vendor: ScriptedVendor;
let client: OpenAI;
let apiKey: string;

const url = z.strictObject({ url: z.string().regex(/^(https:\/\/|data:image\/)/) });
const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('image_url'), image_url: url }),
]);
const texts = z.union([z.string(), z.array(z.string()).min(1)]);
const openaiBody = z.strictObject({
  model: z.enum(['omni-moderation-latest', 'omni-moderation-2024-09-26']).optional(),
  input: z.union([texts, z.array(part).min(1)]),
});
const mistralBody = z.strictObject({
  model: z.literal('mistral-moderation-2603'),
  input: texts,
  metadata: z.record(z.string(), z.unknown()).optional(),
});
const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullable(),
});
const chatBody = mistralBody.extend({
  input: z.union([z.array(message).min(1), z.array(z.array(message).min(1)).min(1)]),
});

function judge(input: readonly unknown[], category: string): object[] {
  return input.map((each) => {
    const flagged = JSON.stringify(each).includes('bad');
    return {
      flagged,
      categories: { [category]: flagged },
      category_scores: { [category]: flagged ? 0.98765432101 : 1.5e-7 },
    };
  });
}

const isList = (input: unknown): input is unknown[] =>
  Array.isArray(input) && (typeof input[0] === 'string' || Array.isArray(input[0]));

const answerUsual: Conduct = (response, request, body) => {
  try {
    const wire: unknown = JSON.parse(body);
    const [path, of] = [request.url, request.headers.authorization];
    const isChat = path === '/mistral/chat/moderations';
    const schema = of === 'Bearer openai-key' ? openaiBody : isChat ? chatBody : mistralBody;
    const { input, model } = schema.parse(wire);
    const list = isList(input) ? input : [input];
    const results = judge(list, schema === openaiBody ? 'violence/graphic' : 'violence_and_threats');
    sendJson(response, { id: 'modr-1', model, results });
  } catch (error) {
    if (!(error instanceof ZodError)) throw error;
    sendJson(
      response,
      { error: { message: 'not accepted', type: 'invalid_request_error', param: 'input' } },
      400,
    );
  }
};

beforeAll(async () => {
  vendor = await startScriptedVendor(answerUsual);
  gateway = await startGateway({
    plugins: [
      bearer(),
      moderations(),
      openai({ apiKey: 'openai-key', baseUrl: `${vendor.origin}/openai` }),
      mistral({ apiKey: 'mistral-key', baseUrl: `${vendor.origin}/mistral` }),
      demo(),
      balance({}),
    ],
  });
  apiKey = await gateway.newKey({ credit: '0.0001' });
  client = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(() => Promise.all([gateway.close(), vendor.close()]));
beforeEach(() => vendor.conduct(answerUsual));

const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } } as const;

it.each([
  ['a text', 'bad words', [true]],
  ['a list of texts', ['tea', 'bad words'], [false, true]],
  ['parts, which are one input', [{ type: 'text' as const, text: 'bad words' }, picture], [true]],
])("the SDK gets OpenAI's own verdict on %s, for nothing", async (_, input, flags) => {
  const before = gateway.ends.length;
  const { data, response } = await client.moderations
    .create({ model: 'openai/omni-moderation-2024-09-26', input })
    .withResponse();
  expect(data.results.map(({ flagged }) => flagged)).toEqual(flags);
  expect(data.results[0]?.category_scores).toHaveProperty(['violence/graphic']);
  expect(data.model).toBe('openai/omni-moderation-2024-09-26');
  expect(JSON.parse(vendor.bodies.at(-1) ?? '')).toEqual({ model: 'omni-moderation-2024-09-26', input });
  expect(response.headers.get('x-tollgate-cost')).toBe('0');
  expect((await gateway.ended(before + 1)).at(-1)).toMatchObject({ charge: { cost: 0n, suspect: false } });
});

it("a call without a model gets OpenAI's usual one, and a header that says so", async () => {
  const { data, response } = await client.moderations.create({ input: 'tea' }).withResponse();
  expect(data.model).toBe('openai/omni-moderation-latest');
  expect(response.headers.get('x-tollgate-defaulted')).toBe('model');
  expect(JSON.parse(vendor.bodies.at(-1) ?? '')).toEqual({ model: 'omni-moderation-latest', input: 'tea' });
  const named = await client.moderations.create({ model: 'demo/guard', input: 'tea' }).withResponse();
  expect(named.response.headers.get('x-tollgate-defaulted')).toBeNull();
});

it('Mistral gets texts, and its own categories reach the client', async () => {
  const { results } = await client.moderations.create({
    model: 'mistral/mistral-moderation-2603',
    input: ['bad words', 'tea'],
  });
  expect(results).toEqual([
    expect.objectContaining({ flagged: true, categories: { violence_and_threats: true } }),
    {
      flagged: false,
      categories: { violence_and_threats: false },
      category_scores: { violence_and_threats: 1.5e-7 },
    },
  ]);
});

it('parts reach a model of texts as one text, and a picture is refused by name', async () => {
  const model = 'mistral/mistral-moderation-2603';
  const parts = ['bad', 'words'].map((text) => ({ type: 'text' as const, text }));
  const { results } = await client.moderations.create({ model, input: parts });
  expect(results).toHaveLength(1);
  expect(JSON.parse(vendor.bodies.at(-1) ?? '')).toEqual({
    model: 'mistral-moderation-2603',
    input: 'bad\nwords',
  });
  const asked = vendor.bodies.length;
  await expect(client.moderations.create({ model, input: [...parts, picture] })).rejects.toMatchObject({
    status: 400,
    param: 'input[2]',
    message: expect.stringContaining('takes texts only'),
  });
  expect(vendor.bodies).toHaveLength(asked);
});

async function post(body: object): Promise<Response> {
  return fetch(`${gateway.url}/moderations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

it.each([
  ['input', {}],
  ['input', { input: [] }],
  ['input', { input: 7 }],
  ['input[1]', { input: ['a', 7] }],
  ['input', { input: ['a', { type: 'text', text: 'b' }] }],
  ['input[0].type', { input: [{ type: 'audio' }] }],
  ['input[0].image_url', { input: [{ type: 'image_url' }] }],
  [
    'input[0].image_url.url',
    { input: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,*' } }] },
  ],
  ['model', { input: 'a', model: 7 }],
  ['provider.fallback', { input: 'a', provider: { fallback: ['demo/guard'] } }],
])('a wrong %s gets a 400 that names it: %j', async (param, body) => {
  const response = await post({ model: 'demo/guard', ...body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param } });
});

it("the vendor's refusal and a reply that is no verdict have their statuses", async () => {
  const body = { model: 'openai/omni-moderation-latest', input: 'a', x_unknown: 1 };
  await expect(client.moderations.create(body)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('not accepted'),
  });
  for (const results of [undefined, [], [{ flagged: true }], judge(['a', 'b'], 'violence')]) {
    vendor.conduct((response) => sendJson(response, { id: 'modr-1', model: 'm', results }));
    const refused = client.moderations.create({ input: 'a' });
    await expect(refused).rejects.toMatchObject({ status: 502 });
  }
});

it('a client that leaves costs nothing, and its call has an entry', async () => {
  const before = gateway.ends.length;
  const leaving = new AbortController();
  vendor.conduct(() => leaving.abort());
  await expect(client.moderations.create({ input: 'a' }, { signal: leaving.signal })).rejects.toThrow();
  expect((await gateway.ended(before + 1)).at(-1)).toMatchObject({ charge: { cost: 0n } });
});

it('the demo flags a few words', async () => {
  const { results } = await client.moderations.create({
    model: 'demo/guard',
    input: ['Tea or coffee?', 'I will attack you.'],
  });
  expect(results.map(({ flagged }) => flagged)).toEqual([false, true]);
  expect(results[1]?.category_scores).toEqual({ harassment: 0, 'self-harm': 0, violence: 1 });
});
