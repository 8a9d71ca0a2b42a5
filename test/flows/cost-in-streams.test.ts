/**
 * A client that asks for it gets the cost of a call in the last usage of its stream, as it was booked: with
 * the official SDKs, in the provider's own bytes and translated.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatUsd, type End } from '../../core/index.ts';
import { postJson } from '../support/post.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { openVendorHarness, type VendorHarness } from '../support/vendor-harness.ts';

const models: Readonly<Record<Wire, string>> = {
  'chat-completions': 'deepseek/deepseek-v4-pro',
  responses: 'openai/gpt-5.3-codex',
  messages: 'anthropic/claude-sonnet-4-5',
  'generate-content': 'google/gemini-2.5-flash',
};
const wish = { 'x-tollgate-cost': 'reply' };
const turns = [{ role: 'user' as const, content: 'Which herbs?' }];

let harness: VendorHarness;
let costs: Readonly<Record<Wire, (model: string) => Promise<unknown[]>>>;

/** The cost in an object with usage, of which the SDK's types know nothing. */
function readCost(usage: unknown): unknown {
  return typeof usage === 'object' && usage !== null && 'cost' in usage ? usage.cost : undefined;
}

beforeAll(async () => {
  harness = await openVendorHarness();
  const { url } = harness.gateway;
  const openai = new OpenAI({
    apiKey: harness.key,
    baseURL: `${url}/v1`,
    maxRetries: 0,
    defaultHeaders: wish,
  });
  const anthropic = new Anthropic({
    apiKey: harness.key,
    baseURL: `${url}/alpha`,
    maxRetries: 0,
    defaultHeaders: wish,
  });
  const google = new GoogleGenAI({
    apiKey: harness.key,
    httpOptions: { baseUrl: `${url}/beta`, headers: wish },
  });
  costs = {
    async 'chat-completions'(model) {
      const settings = { stream: true, stream_options: { include_usage: true } } as const;
      const stream = await openai.chat.completions.create({ model, messages: turns, ...settings });
      return (await Array.fromAsync(stream)).map(({ usage }) => readCost(usage));
    },
    async responses(model) {
      const stream = await openai.responses.create({ model, input: 'Which herbs?', stream: true });
      return (await Array.fromAsync(stream)).map((event) =>
        event.type === 'response.completed' ? readCost(event.response.usage) : undefined,
      );
    },
    async messages(model) {
      const stream = anthropic.messages.stream({ model, max_tokens: 100, messages: turns });
      const events = await Array.fromAsync(stream);
      await stream.finalMessage();
      return events.map((event) => (event.type === 'message_delta' ? readCost(event.usage) : undefined));
    },
    async 'generate-content'(model) {
      const stream = await google.models.generateContentStream({ model, contents: 'Which herbs?' });
      return (await Array.fromAsync(stream)).map(({ usageMetadata }) => readCost(usageMetadata));
    },
  };
});
afterEach(() => harness.vendors.unscript());

function formatCharge(end: End | undefined): string {
  if (end?.type !== 'answered') throw new Error('the call was not answered');
  return formatUsd(end.charge.cost);
}

function buildHeaders(): Record<string, string> {
  const authorization = `Bearer ${harness.key}`;
  return { authorization, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
}

const addresses: Readonly<Record<Wire, (model: string) => { path: string; body: object }>> = {
  'chat-completions': (model) => ({
    path: '/v1/chat/completions',
    body: { model, messages: turns, stream: true, stream_options: { include_usage: true } },
  }),
  responses: (model) => ({ path: '/v1/responses', body: { model, input: 'Which herbs?', stream: true } }),
  messages: (model) => ({
    path: '/alpha/v1/messages',
    body: { model, max_tokens: 100, messages: turns, stream: true },
  }),
  'generate-content': (model) => ({
    path: `/beta/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Which herbs?' }] }] },
  }),
};

async function send({ path, body }: { path: string; body: object }, headers: object = {}) {
  const before = harness.gateway.ends.length;
  const response = await postJson(harness.gateway.url + path, body, { ...buildHeaders(), ...headers });
  const text = await response.text().catch(() => '');
  const end = (await harness.gateway.ended(before + 1))[before];
  return { status: response.status, text, end };
}

const pairs = wires.flatMap((client) => wires.map((wire): [client: Wire, wire: Wire] => [client, wire]));

describe.each(pairs)('a stream of %s from a %s provider', (client, wire) => {
  it('has the booked cost once, in its last usage, for the official SDK', async () => {
    const before = harness.gateway.ends.length;
    const seen = (await costs[client](models[wire])).filter((cost) => cost !== undefined);
    const end = (await harness.gateway.ended(before + 1))[before];
    expect(seen).toEqual([Number(formatCharge(end))]);
    expect(seen[0]).toBeGreaterThan(0);
  });
});

/** What a value is made of, without what differs from call to call. */
function describeShape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(describeShape);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (name === 'cost' ? [] : [[name, describeShape(each)]])),
  );
}

/** The shape of each event, and every other byte of a stream. */
function describeShapes(text: string) {
  const data = /^data: ?(\{.*)$/gm;
  return [
    [...text.matchAll(data)].map(([, json = '']) => describeShape(JSON.parse(json))),
    text.replaceAll(data, ''),
  ];
}

describe.each(wires)('a stream of %s', (wire) => {
  it('has all digits of the amount, and differs in nothing else from one without the header', async () => {
    const asked = addresses[wire](models[wire]);
    const [plain, priced] = [await send(asked), await send(asked, wish)];
    expect(plain.text).not.toContain('"cost"');
    expect(priced.text.split('"cost":')).toHaveLength(2);
    expect(priced.text).toContain(`"cost":${formatCharge(priced.end)}`);
    expect(describeShapes(priced.text)).toEqual(describeShapes(plain.text));
  });

  it('has no cost if the provider breaks off, and the entry says what was charged', async () => {
    harness.vendors.script(models[wire].replace(/^.*\//, ''), {
      text: ['Rose', 'mary', ' and', ' thyme'],
      cut: { how: 'rst', events: 4 },
    });
    const { text, end } = await send(addresses[wire](models[wire]), wish);
    expect(end).toMatchObject({ type: 'answered', outcome: 'cut' });
    expect(text).not.toContain('"cost"');
    expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true });
  });
});

it('elements of an array have it too', async () => {
  const { path, body } = addresses['generate-content'](models['generate-content']);
  for (const model of [models['generate-content'], models.messages]) {
    const array = path.replace('?alt=sse', '').replace(models['generate-content'], model);
    const { text, end } = await send({ path: array, body }, wish);
    const elements: { usageMetadata?: unknown }[] = JSON.parse(text);
    const seen = elements.map(({ usageMetadata }) => readCost(usageMetadata));
    expect(seen.at(-1)).toBe(Number(formatCharge(end)));
    expect(seen.filter((cost) => cost !== undefined)).toHaveLength(1);
  }
});

it('a JSON reply of generate-content has it in its own usage', async () => {
  const { path, body } = addresses['generate-content'](models['generate-content']);
  const whole = path.replace('streamGenerateContent?alt=sse', 'generateContent');
  const { text, end } = await send({ path: whole, body }, wish);
  expect(JSON.parse(text)).toMatchObject({ usageMetadata: { cost: Number(formatCharge(end)) } });
  expect(JSON.parse(text)).not.toHaveProperty('usage');
});
