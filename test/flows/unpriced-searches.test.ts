/** Searches and tools whose price is unknown: refused by their field, omitted, or suspect. */
import { expect, it } from 'vitest';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply, responsesReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';
import { paths } from './search-calls.ts';

/** A gateway whose provider answers in chat that it has searched, and a count of its requests. */
async function openPlain(price: object) {
  let requestCount = 0;
  const usage = {
    prompt_tokens: 3,
    completion_tokens: 2,
    total_tokens: 5,
    server_tool_use_details: { web_search_requests: 2 },
  };
  const reply = chatReply('Hi', { usage });
  const vendor = await startScriptedVendor((response) => {
    requestCount += 1;
    sendJson(response, reply);
  });
  const endpoints = Object.fromEntries(Object.keys(paths).map((family) => [family, vendor.origin]));
  const gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      ...textProtocols(),
      testProvider({ name: 'plain', endpoints, models: [{ price: { input: '1', output: '2', ...price } }] }),
    ],
  });
  const ask = async (family: string, fields: object) => {
    const [path, body] = paths[family] ?? ['', {}];
    const response = await postJson(
      gateway.url + path,
      { ...body, ...fields },
      { 'anthropic-version': '2023-06-01' },
    );
    return { status: response.status, text: await response.text() };
  };
  return {
    gateway,
    ask,
    asked: () => requestCount,
    close: async () => (await gateway.close(), vendor.close()),
  };
}

it.each<[family: string, fields: object, named: string]>([
  ['chat-completions', { web_search_options: {} }, 'web_search_options'],
  ['chat-completions', { tools: [{ type: 'openrouter:web_search' }] }, 'tools[0].type'],
  [
    'chat-completions',
    { tools: [{ type: 'openrouter:datetime' }, { type: 'openrouter:image_generation' }] },
    'tools[1].type',
  ],
  ['chat-completions', { tools: [{ type: 'browser_search' }] }, 'tools[0].type'],
  ['chat-completions', { search_parameters: { mode: 'auto' } }, 'search_parameters'],
  ['chat-completions', { plugins: [{ id: 'response-healing' }, { id: 'web' }] }, 'plugins[1].id'],
  ['chat-completions', { plugins: [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }] }, 'plugins[0].id'],
  ['responses', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, 'tools[0].type'],
  ['responses', { tools: [{ type: 'x_search' }] }, 'tools[0].type'],
  ['responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0].type'],
  ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }, 'tools[0].type'],
  ['responses', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }, 'tools[0].type'],
  ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
  ['generate-content', { tools: [{ codeExecution: {} }, { googleSearch: {} }] }, 'tools[1].googleSearch'],
  ['generate-content', { tools: [{ google_search: {} }] }, 'tools[0].google_search'],
  ['generate-content', { tools: [{ google_maps: {} }] }, 'tools[0].google_maps'],
  [
    'generate-content',
    { tools: [{ retrieval: { vertexAiSearch: { datastore: 'd' } } }] },
    'tools[0].retrieval',
  ],
])(
  'what a provider of %s charges separately is refused by its field if its price is unknown: %j',
  async (family, fields, named) => {
    const plain = await openPlain({});
    const refused = await plain.ask(family, fields);
    expect([refused.status, plain.asked()]).toEqual([400, 0]);
    expect(refused.text).toContain(named);
    await plain.close();
  },
);

it.each<[what: string, price: object, fields: object]>([
  ['has a price, be it nothing', { webSearch: '0' }, { web_search_options: {} }],
  [
    'costs nothing',
    {},
    {
      plugins: [
        { id: 'file-parser', pdf: { engine: 'pdf-text' } },
        { id: 'context-compression' },
        { id: 'web', enabled: false },
      ],
      search_parameters: { mode: 'off' },
      tools: [{ type: 'openrouter:datetime' }],
    },
  ],
])('what a provider does on its own reaches it where it %s', async (_, price, fields) => {
  const plain = await openPlain(price);
  expect((await plain.ask('chat-completions', fields)).status).toBe(200);
  expect(plain.asked()).toBe(1);
  await plain.close();
});

it('a search that Codex always offers is omitted and reported as lost if its price is unknown', async () => {
  const vendor = await startScriptedVendor((response) => sendJson(response, responsesReply('Hi')));
  const gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      responses(),
      testProvider({ name: 'plain', endpoints: { responses: vendor.origin } }),
    ],
  });
  const shell = {
    type: 'function',
    name: 'shell',
    parameters: { type: 'object', properties: {} },
    strict: false,
  };
  const body = {
    model: 'house/model',
    input: 'What is new?',
    tools: [shell, { type: 'web_search', external_web_access: false }],
    tool_choice: 'auto',
    client_metadata: { of: 'Codex' },
  };
  const answer = await postJson(`${gateway.url}/v1/responses`, body);
  expect([answer.status, answer.headers.get('x-tollgate-dropped')]).toEqual([200, 'tools[1]']);
  expect(vendor.bodies.map((text): unknown => JSON.parse(text))).toEqual([
    { ...body, model: 'upstream-model', tools: [shell] },
  ]);
});

it('a search without a request and without a known price makes a call suspect', async () => {
  const plain = await openPlain({});
  expect((await plain.ask('chat-completions', {})).status).toBe(200);
  const [end] = await plain.gateway.ended(1);
  expect(end).toMatchObject({ charge: { cost: 7000n, suspect: true } });
  await plain.close();
});
