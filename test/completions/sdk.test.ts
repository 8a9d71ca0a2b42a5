/** The official SDK's `completions.create` through a gateway: verbatim, by Mistral's wire, and by chats. */
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { completion } from '../support/vendor/completions.ts';

let gateway: TestGateway;
let openaiVendor: ScriptedVendor;
let mistralVendor: ScriptedVendor;
let client: OpenAI;

const instruct = 'openai/gpt-3.5-turbo-instruct';
const codestral = 'mistral/codestral-2508';

const completionBody = completion.extend({ model: z.literal('gpt-3.5-turbo-instruct') });

const fimBody = z.strictObject({
  model: z.literal('codestral-2508'),
  prompt: z.string(),
  suffix: z.string().optional(),
  max_tokens: z.int().min(0).optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  stop: z.array(z.string()).optional(),
  random_seed: z.int().optional(),
  stream: z.boolean().optional(),
});

const head = {
  id: 'cmpl-1',
  object: 'text_completion',
  created: 1_790_000_000,
  model: 'gpt-3.5-turbo-instruct',
};
const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };

function countPrompts(prompt: z.output<typeof completionBody>['prompt']): number {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
}

beforeAll(async () => {
  openaiVendor = await startScriptedVendor((response, _request, text) => {
    const read = completionBody.safeParse(JSON.parse(text));
    if (!read.success) return sendJson(response, { error: { message: read.error.message } }, 400);
    const { stream, prompt, n = 1, stream_options: options } = read.data;
    const count = countPrompts(prompt) * n;
    const choices = Array.from({ length: count }, (_, index) => ({
      text: ` upon ${index}`,
      index,
      logprobs: null,
      finish_reason: 'stop',
    }));
    if (!stream) return sendJson(response, { ...head, choices, usage });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (chunk: object): void =>
      void response.write(`data: ${JSON.stringify({ ...head, ...chunk })}\n\n`);
    for (const choice of choices) {
      write({ choices: [{ ...choice, text: ' upon', finish_reason: null }] });
      write({ choices: [{ ...choice, text: ` ${choice.index}` }] });
    }
    if (options?.include_usage) write({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  });
  mistralVendor = await startScriptedVendor((response, request, text) => {
    if (request.url !== '/v1/fim/completions') return sendJson(response, { message: 'no such path' }, 404);
    const read = fimBody.safeParse(JSON.parse(text));
    if (!read.success) return sendJson(response, { message: read.error.message }, 422);
    const { stream } = read.data;
    const fim = { ...head, object: 'chat.completion', model: 'codestral-2508' };
    const message = { role: 'assistant', content: 'return 1' };
    if (!stream)
      return sendJson(response, { ...fim, choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of [
      { choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: { content: 'return' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: { content: ' 1' }, finish_reason: 'length' }], usage },
    ])
      response.write(`data: ${JSON.stringify({ ...fim, object: 'chat.completion.chunk', ...chunk })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  gateway = await startGateway({
    plugins: [
      bearer(),
      chatCompletions(),
      completions(),
      openai({ apiKey: 'vendor-key', baseUrl: `${openaiVendor.origin}/v1` }),
      mistral({ apiKey: 'vendor-key', baseUrl: `${mistralVendor.origin}/v1` }),
      demo({ pace: 0 }),
      balance({}),
    ],
  });
  const apiKey = await gateway.newKey({ credit: '5' });
  client = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(() => Promise.all([gateway.close(), openaiVendor.close(), mistralVendor.close()]));

it("a model that completes texts gets the body as sent, and its cost is the vendor's figure", async () => {
  const { data, response } = await client.completions
    .create({ model: instruct, prompt: 'Once', max_tokens: 20, logprobs: 2, echo: true })
    .withResponse();
  expect(data.choices).toEqual([{ text: ' upon 0', index: 0, logprobs: null, finish_reason: 'stop' }]);
  expect(data.model).toBe(instruct);
  expect(JSON.parse(openaiVendor.bodies.at(-1) ?? '')).toEqual({
    model: 'gpt-3.5-turbo-instruct',
    prompt: 'Once',
    max_tokens: 20,
    logprobs: 2,
    echo: true,
  });
  // 5 × 1.50 and 7 × 2.00 for a million.
  expect(response.headers.get('x-tollgate-cost')).toBe('0.0000215');
});

it('several prompts and the numbers of tokens go on to a model that takes them', async () => {
  const several = await client.completions.create({ model: instruct, prompt: ['Once', 'Twice'], n: 2 });
  expect(several.choices.map(({ text }) => text)).toEqual([' upon 0', ' upon 1', ' upon 2', ' upon 3']);
  const tokens = await client.completions.create({ model: instruct, prompt: [[1, 2], [3]] });
  expect(tokens.choices).toHaveLength(2);
});

it('a stream arrives piece by piece with the usage that was asked for', async () => {
  const texts: string[] = [];
  let tokens: number | undefined;
  const stream = await client.completions.create({
    model: instruct,
    prompt: ['Once', 'Twice'],
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const { choices, usage: counted } of stream) {
    for (const { text } of choices) texts.push(text);
    tokens = counted?.total_tokens ?? tokens;
  }
  expect([texts.join(''), tokens]).toEqual([' upon 0 upon 1', 12]);
});

it('Mistral fills in the middle of a text, whole and streamed', async () => {
  const asked = { model: codestral, prompt: 'def one():', suffix: '# end', max_tokens: 40 };
  const { choices } = await client.completions.create({ ...asked, seed: 3 });
  expect(choices).toEqual([{ text: 'return 1', index: 0, logprobs: null, finish_reason: 'stop' }]);
  expect(JSON.parse(mistralVendor.bodies.at(-1) ?? '')).toEqual({
    model: 'codestral-2508',
    prompt: 'def one():',
    suffix: '# end',
    max_tokens: 40,
    random_seed: 3,
  });
  const stream = await client.completions.create({ ...asked, stream: true });
  const chunks = await Array.fromAsync(stream);
  expect(chunks.map(({ choices: [choice] }) => choice?.text).join('')).toBe('return 1');
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('length');
});

it('a model of chats continues a prompt as a message, and says what it cannot take', async () => {
  const { data, response } = await client.completions
    .create({ model: 'demo/echo', prompt: 'Hello!', best_of: 2, max_tokens: 100 })
    .withResponse();
  expect(data.object).toBe('text_completion');
  expect(data.choices[0]?.text).toContain('You said: Hello!');
  expect(response.headers.get('x-tollgate-dropped')).toBe('best_of');
});

it.each([
  ['a suffix', { prompt: 'Hello!', suffix: 'Bye!' }, 'suffix'],
  ['two prompts', { prompt: ['Hello!', 'Bye!'] }, 'prompt'],
  ['the numbers of tokens', { prompt: [1, 2] }, 'prompt'],
])('a model of chats refuses %s by the name of the field', async (_, asked, param) => {
  const call = client.completions.create({ model: 'demo/echo', ...asked });
  await expect(call).rejects.toMatchObject({ status: 400, param });
});

it('a model that completes texts takes one message of a user and no conversation', async () => {
  const user = { role: 'user', content: 'Once' } as const;
  const { choices } = await client.chat.completions.create({ model: instruct, messages: [user] });
  expect(choices[0]?.message.content).toBe(' upon 0');
  const system = { role: 'system', content: 'Be brief.' } as const;
  await expect(client.chat.completions.create({ model: instruct, messages: [system, user] })).rejects.toThrow(
    'completes texts and holds no conversations',
  );
});

it.each([
  [{ prompt: {} }, 'prompt'],
  [{ prompt: [] }, 'prompt'],
  [{ prompt: 'a', n: 2, best_of: 1 }, 'best_of'],
  [{ prompt: 'a', best_of: 2, stream: true }, 'best_of'],
  [{ prompt: ['a', 'b'], suffix: 'c' }, 'suffix'],
  [{ prompt: 'a', logprobs: true }, 'logprobs'],
])('a body %j is refused by the name of its field', async (body, param) => {
  const response = await fetch(`${gateway.url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: instruct, ...body }),
  });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
});
