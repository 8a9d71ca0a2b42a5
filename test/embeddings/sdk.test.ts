/** The official SDK's `embeddings.create` through a gateway, to vendors of several wires. */
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { cohere } from '../../plugins/providers/cohere.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { aliases } from '../../plugins/routing/aliases.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';

let gateway: TestGateway;
let vendor: ScriptedVendor;
let client: OpenAI;

const cohereBody = z.strictObject({
  model: z.literal('embed-v4.0'),
  texts: z.array(z.string().min(1)).min(1).max(96),
  input_type: z.enum(['search_document', 'search_query', 'classification', 'clustering']),
  embedding_types: z.array(z.enum(['float', 'base64'])).length(1),
  output_dimension: z.literal([256, 512, 1024, 1536]).optional(),
  truncate: z.enum(['NONE', 'START', 'END']),
});

beforeAll(async () => {
  vendor = await startScriptedVendor((response, _request, body) => {
    const {
      texts,
      embedding_types: [type = 'float'],
    } = cohereBody.parse(JSON.parse(body));
    const vectors = texts.map((text) => [text.length, 0.25, -1.5]);
    const inBase64 = vectors.map((v) => Buffer.from(Float32Array.from(v).buffer).toString('base64'));
    sendJson(response, {
      id: 'e',
      embeddings: { [type]: type === 'float' ? vectors : inBase64 },
      meta: { billed_units: { input_tokens: texts.length * 2 } },
    });
  });
  gateway = await startGateway({
    plugins: [
      bearer(),
      chatCompletions(),
      embeddings(),
      cohere({ apiKey: 'vendor-key', baseUrl: `${vendor.origin}/compatibility/v1` }),
      demo(),
      aliases({ 'house/embed': [{ model: 'cohere/embed-v4.0' }, { model: 'demo/embed', weight: 0 }] }),
      balance({}),
    ],
  });
  const apiKey = await gateway.newKey({ credit: '5' });
  client = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(() => Promise.all([gateway.close(), vendor.close()]));

it.each([undefined, 'float', 'base64'] as const)(
  'the SDK gets the same numbers from Cohere by the format %s',
  async (format) => {
    const { data, response } = await client.embeddings
      .create({ model: 'cohere/embed-v4.0', input: ['ab', 'c'], ...(format && { encoding_format: format }) })
      .withResponse();
    expect(data.data.map(({ embedding }) => embedding)).toEqual(
      format === 'base64'
        ? expect.anything()
        : [
            [2, 0.25, -1.5],
            [1, 0.25, -1.5],
          ],
    );
    expect(data.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
    expect(response.headers.get('x-tollgate-dropped')).toBe('input_type');
    expect(response.headers.get('x-tollgate-cost')).toBe('0.00000048');
  },
);

it('a list longer than Cohere takes is sent in parts and comes back whole', async () => {
  const input = Array.from({ length: 500 }, (_, at) => 'x'.repeat(at + 1));
  const { data, usage } = await client.embeddings.create({ model: 'cohere/embed-v4.0', input });
  expect(data.map(({ embedding: [first] }) => first)).toEqual(input.map(({ length }) => length));
  expect(usage.total_tokens).toBe(1000);
});

it('the demo model answers offline', async () => {
  const { data, usage } = await client.embeddings.create({
    model: 'demo/embed',
    input: 'Hello!',
    dimensions: 8,
  });
  expect(data[0]?.embedding).toHaveLength(8);
  expect(usage.prompt_tokens).toBe(2);
});

it('a chat with a model of embeddings gets a 400 that says where it is called', async () => {
  const messages = [{ role: 'user', content: 'Hello!' }] as const;
  await expect(
    client.chat.completions.create({ model: 'demo/embed', messages: [...messages] }),
  ).rejects.toThrow('The model "demo/embed" makes embeddings, not conversations');
  await expect(client.embeddings.create({ model: 'demo/echo', input: 'a' })).rejects.toThrow(
    'The model "demo/echo" makes text, not embeddings: call an endpoint for that.',
  );
});

it('a call fails rather than go to another model, whose vectors mean something else', async () => {
  vendor.conduct((response) => sendJson(response, { message: 'it is down' }, 503));
  await expect(client.embeddings.create({ model: 'house/embed', input: 'a' })).rejects.toMatchObject({
    status: 503,
  });
});
