/**
 * A client that asks for JSON gets a format the provider enforces, or an instruction in the prompt. The
 * gateway checks what it only asked for in the prompt, and reports a reply that does not match.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint, ModelFacts } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openBooks } from '../support/books.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { isObject, type Json } from '../support/json.ts';
import { postJson } from '../support/post.ts';
import { chatReply, generateReply, messagesReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

let vendor: ScriptedVendor;
let gateway: TestGateway;
let key: string;
/** What the model says. */
let says = '{}';
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const replies: Readonly<Record<string, () => object>> = {
  chat: () =>
    chatReply(says, {
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: says,
            ...(says === 'I look.' ? { tool_calls: [call] } : {}),
          },
          finish_reason: 'stop',
        },
      ],
    }),
  messages: () => messagesReply(says),
  google: () => generateReply(says),
};

beforeAll(async () => {
  vendor = await startScriptedVendor((response, { url = '' }) => {
    sendJson(response, replies[url.slice(1)]?.());
  });
  const createStation = (
    name: string,
    protocol: string,
    models: readonly Partial<ModelFacts>[],
  ): ReturnType<typeof testProvider> => {
    const endpoints: Record<string, Endpoint> = { [protocol]: `${vendor.origin}/${name}` };
    return testProvider({ name: `${name}-vendor`, endpoints, models });
  };
  gateway = await startGateway({
    plugins: [
      bearer(),
      ...textProtocols(),
      balance(),
      createStation('chat', 'chat-completions', [
        { id: 'house/schemas' },
        { id: 'house/json', capabilities: { structuredOutput: false, jsonMode: 'always' } },
        { id: 'house/json-alone', capabilities: { structuredOutput: false, jsonMode: 'without-tools' } },
        { id: 'house/words', capabilities: { structuredOutput: false } },
      ]),
      createStation('messages', 'messages', [
        { id: 'house/claude', capabilities: { structuredOutput: false } },
      ]),
      createStation('google', 'generate-content', [{ id: 'house/gemini-2.5' }]),
    ],
  });
  const books = await openBooks(gateway);
  key = books.key;
  await books.store.close();
  await gateway.verb('credit add', ['tester', '5']);
});

const schema = {
  type: 'object',
  properties: { age: { type: 'integer' } },
  required: ['age'],
  additionalProperties: false,
};
const tools = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
];
const formats = {
  json: { type: 'json_object' },
  schema: { type: 'json_schema', json_schema: { name: 'person', schema } },
} as const;

interface Asked {
  /** What the provider was asked. */
  readonly sent: Json;
  readonly lost: string;
  /** What the call record says of the reply. */
  readonly reported: readonly unknown[];
}

async function ask(model: string, format: keyof typeof formats, more: object = {}): Promise<Asked> {
  const body = {
    model,
    messages: [{ role: 'user', content: 'Who?' }],
    response_format: formats[format],
    ...more,
  };
  const before = gateway.ends.length;
  const response = await postJson(`${gateway.url}/v1/chat/completions`, body, {
    authorization: `Bearer ${key}`,
  });
  expect(response.status, await response.clone().text()).toBe(200);
  await response.text();
  await gateway.ended(before + 1);
  const sent: unknown = JSON.parse(vendor.bodies.at(-1) ?? '');
  const reported =
    gateway.ends
      .at(-1)
      ?.losses.filter(({ path }) => path === 'reply.format')
      .map(({ reason }) => reason) ?? [];
  return {
    sent: isObject(sent) ? sent : {},
    lost: response.headers.get('x-tollgate-dropped') ?? '',
    reported,
  };
}

it('a request for JSON reaches a provider that enforces the format unchanged', async () => {
  expect((await ask('house/schemas', 'schema')).sent.response_format).toEqual(formats.schema);
  expect((await ask('house/json', 'json')).sent.response_format).toEqual(formats.json);
});

it('a request for JSON becomes JSON mode and an instruction for a model without schemas', async () => {
  says = '{"age":5}';
  const { sent, lost, reported } = await ask('house/json', 'schema');
  expect(sent.response_format).toEqual(formats.json);
  expect(JSON.stringify(sent.messages)).toContain('keeps to this schema');
  expect([lost, reported]).toEqual([expect.stringContaining('response_format'), []]);
});

it('a request for JSON becomes an instruction for models without it, or not beside tools', async () => {
  for (const [model, more] of [
    ['house/words', {}],
    ['house/json-alone', { tools }],
  ] as const) {
    for (const [format, expectation] of [
      ['schema', 'keeps to this schema'],
      ['json', 'JSON object'],
    ] as const) {
      const { sent, lost } = await ask(model, format, more);
      expect(sent).not.toHaveProperty('response_format');
      expect(JSON.stringify(sent.messages)).toContain(expectation);
      expect(lost).toContain('response_format');
    }
  }
  expect((await ask('house/json-alone', 'schema')).sent.response_format).toEqual(formats.json);
});

it('a request for JSON becomes an instruction for Gemini 2 with tools, and for Claude', async () => {
  const google = await ask('house/gemini-2.5', 'schema', { tools });
  expect(JSON.stringify(google.sent.systemInstruction)).toContain('keeps to this schema');
  expect(JSON.stringify((await ask('house/claude', 'schema')).sent.system)).toContain('keeps to this schema');
  expect(JSON.stringify((await ask('house/claude', 'json')).sent.system)).toContain('JSON object');
});

describe.each(['house/words', 'house/claude'])('an answer of %s that only the prompt asked for', (model) => {
  it.each([
    ['fits', '{"age":5}', []],
    ['is no JSON', 'She is five.', ['the answer is not valid JSON']],
    ['is JSON in a fence', '```json\n{"age":5}\n```', ['the answer is not valid JSON']],
    ['lacks a member', '{}', ['the answer is JSON that does not match the schema']],
    ['has a member of another type', '{"age":"five"}', ['the answer is JSON that does not match the schema']],
    ['has an extra member', '{"age":5,"name":"Ann"}', ['the answer is JSON that does not match the schema']],
  ])('is recorded with whether it %s', async (_what, text, expected) => {
    says = text;
    expect((await ask(model, 'schema')).reported).toEqual(expected);
  });
});

it('an answer that calls a tool does not count as invalid JSON', async () => {
  says = 'I look.';
  expect((await ask('house/json-alone', 'schema', { tools })).reported).toEqual([]);
});
