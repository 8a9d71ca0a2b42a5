/**
 * Bodies far under a megabyte that would grow to gigabytes, or take minutes, because one field multiplies all
 * the others.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseJson } from '../../core/http/json-body.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { readSpelling } from '../../plugins/shared/google/spelling.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { isObject } from '../support/json.ts';
import { countOperations } from '../support/operations.ts';
import { postJson } from '../support/post.ts';
import { chatReply, generateReply } from '../support/replies.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';
import type { Endpoint } from './endpoints.ts';
import { openHostileHarness, type HostileHarness } from './inputs.ts';

/** Operations for each byte of a request or reply: four times what the worst of them takes. */
const most = 100;
let harness: HostileHarness;
beforeAll(async () => {
  harness = await openHostileHarness();
});
afterAll(() => harness.close());

/** Counts the operations for each of so many bytes. */
async function measureWork(bytes: number, run: () => Promise<void>): Promise<number> {
  const counter = countOperations();
  try {
    const { blocks, scanned } = await counter.of(run);
    return (blocks + scanned) / bytes;
  } finally {
    counter.stop();
  }
}

async function measureRequest(path: string, words: Endpoint['words'], fields: object): Promise<number> {
  const body = JSON.stringify(fields);
  return measureWork(body.length, async () =>
    expect(await harness.findFault({ endpoint: { path, words, body: {} }, body })).toBeUndefined(),
  );
}

function offerTools(model: string, schemas: readonly object[]): object {
  const tools = schemas.map((parameters, index) => ({
    type: 'function',
    function: { name: `f${index}`, parameters },
  }));
  return { model: `house/${model}`, messages: [{ role: 'user', content: 'Hello!' }], tools };
}

function makeFields(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 0]));
}

const contents = [{ role: 'user', parts: [{ text: 'Hello!' }] }];

it.each(['messages', 'responses'])(
  'a schema that refers to itself in its choices stays as long as it is, for %s',
  async (model) => {
    const itself = {
      type: 'object',
      anyOf: Array.from({ length: 256 }, () => ({ $ref: '#' })),
      properties: makeFields(10_000),
    };
    expect(await measureRequest('/v1/chat/completions', 'openai', offerTools(model, [itself]))).toBeLessThan(
      most,
    );
  },
);

it('a schema that does so is as short with hundreds of choices', async () => {
  const itself = { type: 'object', anyOf: Array.from({ length: 50 }, () => ({ $ref: '#' })) };
  expect(
    await measureRequest(
      '/v1/chat/completions',
      'openai',
      offerTools(
        'messages',
        Array.from({ length: 1200 }, () => itself),
      ),
    ),
  ).toBeLessThan(most);
});

it.each([
  ['words', { description: 'a'.repeat(300_000) }],
  ['values', { enum: Object.keys(makeFields(30_000)) }],
  ['fields', makeFields(20_000)],
])('a schema of many %s is not written out for each reference to it', async (_, long) => {
  const schema = {
    type: 'object',
    $defs: { long },
    properties: { one: { anyOf: Array.from({ length: 4000 }, () => ({ $ref: '#/$defs/long' })) } },
  };
  expect(
    await measureRequest('/v1/chat/completions', 'openai', offerTools('generate-content', [schema])),
  ).toBeLessThan(most);
});

it('a body in snake_case may contain any number of search tools', async () => {
  const tools = Array.from({ length: 10_000 }, () => ({ google_search: {} }));
  expect(
    await measureRequest('/beta/v1beta/models/house/generate-content:generateContent', 'google', {
      contents,
      tools,
    }),
  ).toBeLessThan(most);
});

const many = Array.from({ length: 2000 }, () => ({ mime_type: 'a' }));
it.each([
  ['a long name', { ['a'.repeat(100_000)]: many }],
  ['many names', JSON.parse(`{"${'a'.repeat(54)}":`.repeat(100) + JSON.stringify(many) + '}'.repeat(100))],
])('a body in snake_case does not make %s cache each of its fields', (_, deep) => {
  const { body, spelling } = readSpelling({ contents, ...(isObject(deep) ? deep : {}) });
  expect([...spelling].join('').length).toBeLessThan(10 * JSON.stringify(body).length);
});

it.each([
  ['chat-completions', '/v1/chat/completions', 'openai', 'tools'],
  ['messages', '/alpha/v1/messages', 'anthropic', 'messages'],
  ['responses', '/v1/responses', 'openai', 'tools'],
  ['generate-content', '/beta/v1beta/models/house/messages:generateContent', 'google', 'contents'],
] as const)(
  'a list without a valid entry is refused at its first entry by %s',
  async (_, path, words, field) => {
    const body = {
      model: 'house/messages',
      max_tokens: 20,
      ...(path === '/v1/responses'
        ? { input: 'Hello!' }
        : { messages: [{ role: 'user', content: 'Hello!' }] }),
      [field]: Array.from({ length: 100_000 }, () => 0),
    };
    expect(await measureRequest(path, words, body)).toBeLessThan(most);
  },
);

const gone = Array.from({ length: 100_000 }, () => 0);

it.each<[string, string, Endpoint['words'], object]>([
  ['embeddings', '/v1/embeddings', 'openai', { model: 'demo/embed', input: [...gone, 'a'] }],
  [
    'embed-content',
    '/beta/v1beta/models/demo/embed:batchEmbedContents',
    'google',
    { requests: gone.map(() => ({ content: 0 })).slice(0, 90_000) },
  ],
  ['rerank', '/v1/rerank', 'openai', { model: 'demo/rank', query: 'a', documents: gone }],
  ['cohere-rerank', '/v2/rerank', 'cohere', { model: 'demo/rank', query: 'a', documents: gone }],
  ['moderations', '/v1/moderations', 'openai', { model: 'demo/guard', input: gone }],
  ['completions', '/v1/completions', 'openai', { model: 'demo/echo', prompt: [...gone, 'a'] }],
])('a list without a valid entry is refused in linear time by %s', async (_, path, words, body) => {
  expect(await measureRequest(path, words, body)).toBeLessThan(most);
});

const each = (length: number, make: (at: number) => unknown): unknown[] =>
  Array.from({ length }, (_, at) => make(at));

it.each<[string, string, Endpoint['words'], object]>([
  [
    '2,048 texts',
    '/v1/embeddings',
    'openai',
    { model: 'house/titan-embed', input: each(2048, (at) => `${at} ${'a'.repeat(500)}`) },
  ],
  ['2,048 short texts', '/v1/embeddings', 'openai', { model: 'house/embeddings', input: each(2048, String) }],
  ['numbers of tokens', '/v1/embeddings', 'openai', { model: 'demo/embed', input: each(490_000, Number) }],
  [
    'lists of tokens',
    '/v1/embeddings',
    'openai',
    { model: 'house/embeddings', input: each(2048, () => each(200, Number)) },
  ],
  [
    '100 contents of many parts',
    '/beta/v1beta/models/house/embed-content:batchEmbedContents',
    'google',
    { requests: each(100, () => ({ content: { parts: each(200, () => ({ text: 'a' })) } })) },
  ],
  [
    '10,000 documents',
    '/v1/rerank',
    'openai',
    { model: 'house/tei-rerank', query: 'a'.repeat(500), documents: each(10_000, String) },
  ],
  [
    'documents of many fields',
    '/v1/rerank',
    'openai',
    { model: 'house/rerank', query: 'a', documents: each(40, () => makeFields(2000)) },
  ],
  [
    'many names of fields',
    '/v1/rerank',
    'openai',
    {
      model: 'house/rerank',
      query: 'a',
      documents: each(9000, () => makeFields(9)),
      rank_fields: each(100, (at) => `a${at}`),
    },
  ],
  [
    '1,000 texts to judge',
    '/v1/moderations',
    'openai',
    { model: 'house/moderations', input: each(1000, () => 'b'.repeat(500)) },
  ],
  [
    '2,048 prompts',
    '/v1/completions',
    'openai',
    { model: 'demo/echo', prompt: each(2048, String), max_tokens: 1 },
  ],
])('a body of %s is read and translated in linear time', async (_, path, words, body) => {
  expect(await measureRequest(path, words, body)).toBeLessThan(most);
});

it.each([{}, []])(
  'a list without a valid entry and of empty entries is refused where it is long: %j',
  async (empty) => {
    const parts = Array.from({ length: 300_000 }, () => empty);
    expect(() => parseJson(Buffer.from(JSON.stringify({ contents: [{ parts }] })))).toThrow('fields');
  },
);

describe('a reply', () => {
  const answer = (text: string): void => void (reply = text);
  let reply = '';
  let gateway: TestGateway;
  beforeAll(async () => {
    const vendors = ['chat-completions', 'generate-content'].map((wire) =>
      tappedVendor(`${wire}-house`, [wire], () => ({ body: reply }), { id: `house/${wire}` }),
    );
    gateway = await startGateway({
      plugins: [acceptAnyKey(), chatCompletions(), responses(), generateContent(), ...vendors],
    });
  });

  async function measureReply(path: string, body: object, status = 200): Promise<number> {
    return measureWork(reply.length, async () => {
      const response = await postJson(gateway.url + path, body);
      expect([response.status, (await response.text()).length > 0]).toEqual([status, true]);
    });
  }

  it('of very many calls is reported in linear time', async () => {
    const calls = Array.from({ length: 5000 }, (_, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    }));
    const message = { role: 'assistant', content: null, tool_calls: calls };
    const choice = { index: 0, message, finish_reason: 'tool_calls' };
    answer(JSON.stringify(chatReply('', { choices: [choice] }, [5, 50])));
    expect(
      await measureReply('/v1/responses', { model: 'house/chat-completions', input: 'Hello!' }),
    ).toBeLessThan(most);
  });

  it.each([
    ['passed on', 40, 200],
    ['refused', 500, 502],
  ])(
    'in which every passage has every source is %s in linear time: %i of them',
    async (_, length, status) => {
      const groundingChunks = Array.from({ length }, (_, index) => ({
        web: { uri: `https://example.com/${index}`, title: 't' },
      }));
      const groundingSupports = groundingChunks.map((_, index) => ({
        segment: { startIndex: index, endIndex: index + 5 },
        groundingChunkIndices: groundingChunks.keys().toArray(),
      }));
      const candidate = {
        index: 0,
        content: { role: 'model', parts: [{ text: 'Hello world. '.repeat(2000) }] },
        finishReason: 'STOP',
        groundingMetadata: { groundingChunks, groundingSupports },
      };
      answer(JSON.stringify(generateReply('', { candidates: [candidate] }, [5, 50])));
      expect(
        await measureReply(
          '/v1/chat/completions',
          { model: 'house/generate-content', messages: [{ role: 'user', content: 'Hello!' }] },
          status,
        ),
      ).toBeLessThan(most);
    },
  );
});
