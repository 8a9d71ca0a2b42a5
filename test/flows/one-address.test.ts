/**
 * One address for all clients: the official SDKs at the gateway's own address, at the mounts, and with base
 * URLs without a version, against the delivered configuration.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { startDelivered } from '../support/delivered.ts';
import type { TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startDelivered();
  key = await gateway.newKey({ account: 'tester', credit: '5' });
});

const model = 'demo/echo';
const messages = [{ role: 'user' as const, content: 'Hello!' }];

async function join<Part>(parts: AsyncIterable<Part>, readText: (part: Part) => string): Promise<string> {
  return (await Array.fromAsync(parts, readText)).join('');
}

it.each(['', '/v1'])('OpenAI\'s SDK generates, streams, counts and lists at "%s"', async (base) => {
  const client = new OpenAI({ apiKey: key, baseURL: gateway.url + base, maxRetries: 0 });
  const whole = await client.chat.completions.create({ model, messages });
  expect(whole.choices[0]?.message.content).toContain('Hello!');
  const chunks = await client.chat.completions.create({ model, messages, stream: true });
  expect(await join(chunks, ({ choices }) => choices[0]?.delta.content ?? '')).toContain('Hello!');
  expect((await client.responses.create({ model, input: 'Hello!' })).output_text).toContain('Hello!');
  expect((await client.responses.inputTokens.count({ model, input: 'Hello!' })).input_tokens).toBeGreaterThan(
    0,
  );
  const picture = await client.images.generate({
    model: 'demo/paint',
    prompt: 'A lighthouse',
    quality: 'auto',
    size: '512x512',
  });
  expect(picture.data).toHaveLength(1);
  const ids = await Array.fromAsync(await client.models.list(), ({ id }) => id);
  expect(ids).toContain(model);
  expect((await client.models.retrieve(model)).object).toBe('model');
});

it.each(['', '/alpha'])('Anthropic\'s SDK generates, streams, counts and lists at "%s"', async (base) => {
  const client = new Anthropic({ apiKey: key, baseURL: gateway.url + base, maxRetries: 0 });
  const asked = { model, messages, max_tokens: 100 };
  expect(JSON.stringify((await client.messages.create(asked)).content)).toContain('Hello!');
  expect(await client.messages.stream(asked).finalText()).toContain('Hello!');
  expect((await client.messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(0);
  const listed = await Array.fromAsync(client.models.list());
  expect(listed).toContainEqual(expect.objectContaining({ id: model, type: 'model' }));
  expect((await client.models.retrieve(model)).type).toBe('model');
});

it.each([
  ['', 'v1beta'],
  ['', 'v1'],
  ['', ''],
  ['/beta', 'v1beta'],
  ['/beta', 'v1'],
  ['/beta', ''],
])(
  `Google's SDK generates, streams, counts and lists at "%s" with the version "%s"`,
  async (base, apiVersion) => {
    const httpOptions = { baseUrl: gateway.url + base, apiVersion };
    const { models } = new GoogleGenAI({ apiKey: key, httpOptions });
    const asked = { model, contents: 'Hello!' };
    expect((await models.generateContent(asked)).text).toContain('Hello!');
    const chunks = await models.generateContentStream(asked);
    expect(await join(chunks, ({ text }) => text ?? '')).toContain('Hello!');
    expect((await models.countTokens(asked)).totalTokens).toBeGreaterThan(0);
    const names = await Array.fromAsync(await models.list(), ({ name }) => name);
    expect(names).toContain(`models/${model}`);
    expect((await models.get({ model })).name).toBe(`models/${model}`);
  },
);

it.each(['/messages', '/alpha/messages'])(
  'a base URL without a version reaches messages at %s',
  async (path) => {
    const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
    const response = await postJson(gateway.url + path, { model, messages, max_tokens: 100 }, headers);
    expect([response.status, await response.json()]).toMatchObject([200, { type: 'message' }]);
    const count = await postJson(`${gateway.url}${path}/count_tokens`, { model, messages }, headers);
    expect(await count.json()).toMatchObject({ input_tokens: expect.any(Number) });
  },
);

const chat = { object: 'list', data: expect.any(Array) };
const ofMessages = { data: expect.any(Array), has_more: false };
const ofGoogle = { models: expect.any(Array) };

it.each([
  ['nothing', '', {}, chat],
  ['a bearer key', '', { authorization: 'Bearer none' }, chat],
  ['anthropic-version', '', { 'anthropic-version': '2023-06-01' }, ofMessages],
  ['partner-version', '', { 'partner-version': '2023-06-01' }, ofMessages],
  ['x-goog-api-key', '', { 'x-goog-api-key': 'none' }, ofGoogle],
  ['x-partner-api-key', '', { 'x-partner-api-key': 'none' }, ofGoogle],
  ['?key=', '?key=none', {}, ofGoogle],
])(
  'GET /v1/models answers a request with %s in its style, again and again',
  async (_name, query, headers, style) => {
    const sent: Record<string, string> = headers;
    for (let times = 0; times < 2; times += 1)
      for (const path of ['/v1/models', '/models']) {
        const response = await fetch(gateway.url + path + query, { headers: sent });
        expect([response.status, await response.json()]).toMatchObject([200, style]);
        expect(response.headers.get('vary')).toMatch(/anthropic-version/);
      }
  },
);

it('GET /v1/models lists in the style of the version of the path', async () => {
  expect(await (await fetch(`${gateway.url}/v1beta/models`)).json()).toMatchObject(ofGoogle);
});

it('GET /v1/models refuses an unknown model in the style of the request', async () => {
  const get = async (headers: Record<string, string>): Promise<unknown> =>
    (await fetch(`${gateway.url}/v1/models/demo%2Fnone`, { headers })).json();
  expect(await get({})).toMatchObject({ error: { code: 'model_not_found' } });
  expect(await get({ 'anthropic-version': '2023-06-01' })).toMatchObject({ type: 'error' });
  expect(await get({ 'x-goog-api-key': 'none' })).toMatchObject({ error: { status: 'NOT_FOUND' } });
});
