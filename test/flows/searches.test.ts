/**
 * Searches that a provider runs for a call and charges separately: the gateway reserves them before it sends
 * the call, in every protocol.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { openBooks } from '../support/books.ts';
import { startGateway } from '../support/gateway.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';
import { openDoors, station } from '../support/station.ts';
import { openVendorHouse, type VendorHouse } from '../support/vendor-house.ts';

let house: VendorHouse;
let store: Store;
let key: string;
beforeAll(async () => {
  house = await openVendorHouse();
  ({ store, key } = await openBooks(house.gateway));
});
afterAll(async () => {
  await store.close();
  await house.close();
});

const user = [{ role: 'user', content: 'What is new?' }];

/** A call of a protocol, with the fields that let its provider search. */
const calls: Readonly<Record<string, (search: object) => readonly [path: string, body: object]>> = {
  'chat-completions': (search) => [
    '/v1/chat/completions',
    { model: 'openai/gpt-5-mini', max_completion_tokens: 100, messages: user, ...search },
  ],
  responses: (search) => [
    '/v1/responses',
    { model: 'openai/gpt-5-mini', max_output_tokens: 100, input: 'What is new?', ...search },
  ],
  messages: (search) => [
    '/alpha/v1/messages',
    { model: 'anthropic/claude-sonnet-4-5', max_tokens: 100, messages: user, ...search },
  ],
  'generate-content': (search) => [
    '/beta/v1beta/models/google/gemini-2.5-flash:generateContent',
    {
      contents: [{ role: 'user', parts: [{ text: 'What is new?' }] }],
      generationConfig: { maxOutputTokens: 100 },
      ...search,
    },
  ],
};

/** What a call reserves, in USD: the status of its reply does not matter here. */
async function reservedFor([path, body]: readonly [string, object]): Promise<number> {
  const response = await fetch(house.gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(body),
  });
  await response.text();
  const call = response.headers.get('x-request-id') ?? '';
  const [reserve] = await store.entries({ call, limit: 1 });
  if (reserve?.kind !== 'reserve') throw new Error(`${response.status}: nothing was reserved`);
  return Number(reserve.reserved) / 1e9;
}

/** The tokens of all readings of a conversation of `sent` tokens that grows by 10,000 with each search. */
const read = (searches: number, sent: number): number =>
  Array.from({ length: searches + 1 }, (_, done) => sent + done * 10_000).reduce(
    (sum, each) => sum + each,
    0,
  );

it.each<
  [family: string, told: string, search: object, count: number, each: number, tokens: number, rate: number]
>([
  ['chat-completions', 'options of a search', { web_search_options: {} }, 10, 0.01, 100_000, 0.25],
  ['responses', 'a tool', { tools: [{ type: 'web_search' }] }, 10, 0.01, 100_000 + read(9, 0) / 10, 0.25],
  [
    'responses',
    'a tool and a limit',
    { tools: [{ type: 'web_search' }], max_tool_calls: 4 },
    4,
    0.01,
    40_000 + read(3, 0) / 10,
    0.25,
  ],
  [
    'messages',
    'a tool',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    10,
    0.01,
    read(10, 0),
    3,
  ],
  [
    'messages',
    'a tool with a limit',
    { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    3,
    0.01,
    read(3, 0),
    3,
  ],
  // Google bills Gemini 2.5 once for a call that searches.
  ['generate-content', 'a tool', { tools: [{ googleSearch: {} }] }, 1, 0.035, 100_000, 1],
])(
  'a call of %s with %s reserves its searches and the tokens they read: %j, %i searches',
  async (family, _, search, count, each, tokens, rate) => {
    const call = calls[family];
    if (!call) throw new Error(family);
    const difference = (await reservedFor(call(search))) - (await reservedFor(call({})));
    const found = difference - count * each;
    expect(found).toBeGreaterThanOrEqual(tokens * rate * 0.999e-6);
    // The request itself has fewer than 300 bytes, and is read up to eleven times.
    expect(found).toBeLessThan((tokens + 11 * 300) * rate * 1.001e-6);
  },
);

it.each<[stream: boolean, billed: 'each' | 'once', count: number]>([
  [true, 'each', 2],
  [false, 'each', 2],
  [true, 'once', 1],
  [false, 'once', 1],
])(
  'the gateway charges the searches that Google reports: streamed %s, %s, %i',
  async (stream, searchesBilled, count) => {
    const reply = {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'Sunny.' }] },
          finishReason: 'STOP',
          index: 0,
          groundingMetadata: { webSearchQueries: ['weather today', 'weather tomorrow'] },
        },
      ],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    };
    const vendor = await startScriptedVendor((response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      response.end(stream ? `data: ${JSON.stringify(reply)}\n\n` : JSON.stringify(reply));
    });
    const price = { input: '1', output: '2', webSearch: '0.014' };
    const gateway = await startGateway({
      plugins: [
        openDoors(),
        generateContent(),
        station({
          name: 'search',
          endpoints: { 'generate-content': vendor.origin },
          models: [{ price, capabilities: { searchesBilled } }],
        }),
      ],
    });
    const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    const body = {
      contents: [{ role: 'user', parts: [{ text: 'What is new?' }] }],
      tools: [{ googleSearch: {} }],
    };
    await (
      await fetch(`${gateway.url}/beta/v1beta/models/house/model:${verb}`, {
        method: 'POST',
        body: JSON.stringify(body),
      })
    ).text();
    const [end] = await gateway.ended(1);
    // Three tokens in and two out make 7000 nano-USD.
    expect(end).toMatchObject({
      outcome: 'completed',
      charge: {
        basis: 'usage',
        cost: BigInt(count) * 14_000_000n + 7000n,
        suspect: false,
        usage: { webSearches: count },
      },
    });
    await gateway.close();
    await vendor.close();
  },
);

/**
 * Ten runs of code that print 2000 tokens each, and the conversation read from the cache after each of them.
 */
const codeRuns = (20_000 * 0.25 + 90_000 * 0.025) / 1e6;

it('a call whose provider may run code reserves a container', async () => {
  const call = calls.responses;
  if (!call) throw new Error('no responses');
  const more =
    (await reservedFor(call({ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }))) -
    (await reservedFor(call({})));
  expect(more).toBeGreaterThan(0.03 + codeRuns);
  expect(more).toBeLessThan(0.0301 + codeRuns);
});

it.each<[told: string, tools: object[], least: number, most: number]>([
  [
    'a search of files',
    [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
    10 * 0.0025 + 160_000 * 0.25e-6 + 720_000 * 0.025e-6,
    10 * 0.0025 + 160_000 * 0.25e-6 + 725_000 * 0.025e-6,
  ],
  [
    'a shell in a container',
    [{ type: 'shell', environment: { type: 'container_auto' } }],
    0.03 + codeRuns,
    0.0301 + codeRuns,
  ],
  [
    'a container that was opened before',
    [{ type: 'code_interpreter', container: 'cntr_1' }],
    codeRuns,
    codeRuns + 0.0001,
  ],
])('a call reserves %s', async (_, tools, least, most) => {
  const call = calls.responses;
  if (!call) throw new Error('no responses');
  const more = (await reservedFor(call({ tools }))) - (await reservedFor(call({})));
  expect(more).toBeGreaterThan(least);
  expect(more).toBeLessThan(most);
});

const film = 'https://example.com/film';
it.each<[family: string, fields: object, least: number]>([
  [
    'chat-completions',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
    0.099,
  ],
  [
    'responses',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_url: `${film}.pdf` }] }] },
    0.099,
  ],
  [
    'messages',
    {
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'url', url: `${film}.pdf` } }] },
      ],
    },
    0.599,
  ],
  ['generate-content', { contents: [{ role: 'user', parts: [{ fileData: { fileUri: film } }] }] }, 1.04],
  [
    'responses',
    {
      tools: [
        {
          type: 'mcp',
          server_label: 'wiki',
          server_url: 'https://example.com/mcp',
          require_approval: 'never',
        },
      ],
    },
    0.099,
  ],
  ['messages', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 1 }] }, 0.599],
  ['messages', { mcp_servers: [{ type: 'url', url: 'https://example.com/mcp', name: 'wiki' }] }, 0.599],
  [
    'chat-completions',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: `${film}.pdf` } }] }] },
    0.099,
  ],
  ['generate-content', { tools: [{ urlContext: {} }] }, 1.04],
  ['generate-content', { tools: [{ url_context: {} }] }, 1.04],
  [
    'generate-content',
    { tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/mine'] } }] },
    1.04,
  ],
])(
  'a call of %s whose provider fetches pages reserves the whole context: %j',
  async (family, fields, least) => {
    const call = calls[family];
    if (!call) throw new Error(family);
    const reserved = await reservedFor(call(fields));
    expect(reserved).toBeGreaterThan(least);
    expect(reserved).toBeLessThan(least * 1.05);
  },
);

it('a call without searches reserves none', async () => {
  const tool = {
    name: 'web_search_of_mine',
    description: 'Looks.',
    input_schema: { type: 'object', properties: {} },
  };
  const plain = calls.messages?.({});
  const own = calls.messages?.({ tools: [tool] });
  if (!plain || !own) throw new Error('messages');
  expect((await reservedFor(own)) - (await reservedFor(plain))).toBeLessThan(0.005);
});

/** A request of a protocol, to a model that has a price for its tokens alone. */
const paths: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'chat-completions': ['/v1/chat/completions', { model: 'house/model', messages: user }],
  responses: ['/v1/responses', { model: 'house/model', input: 'What is new?' }],
  messages: ['/alpha/v1/messages', { model: 'house/model', max_tokens: 100, messages: user }],
  'generate-content': [
    '/beta/v1beta/models/house/model:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'What is new?' }] }] },
  ],
};

/** A gateway whose provider answers in chat that it has searched, and a count of its requests. */
async function openPlain(price: object) {
  let asked = 0;
  const reply = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 3,
      completion_tokens: 2,
      total_tokens: 5,
      server_tool_use_details: { web_search_requests: 2 },
    },
  };
  const vendor = await startScriptedVendor((response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  });
  const endpoints = Object.fromEntries(Object.keys(paths).map((family) => [family, vendor.origin]));
  const gateway = await startGateway({
    plugins: [
      openDoors(),
      chatCompletions(),
      responses(),
      messages(),
      generateContent(),
      station({ name: 'plain', endpoints, models: [{ price: { input: '1', output: '2', ...price } }] }),
    ],
  });
  const ask = async (family: string, fields: object) => {
    const [path, body] = paths[family] ?? ['', {}];
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ ...body, ...fields }),
    });
    return { status: response.status, told: await response.text() };
  };
  return { gateway, ask, asked: () => asked, close: async () => (await gateway.close(), vendor.close()) };
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
    expect(refused.told).toContain(named);
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
  const item = {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
  };
  const reply = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output: [item],
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  };
  const vendor = await startScriptedVendor(
    (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply)),
  );
  const gateway = await startGateway({
    plugins: [openDoors(), responses(), station({ name: 'plain', endpoints: { responses: vendor.origin } })],
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
  const answer = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect([answer.status, answer.headers.get('x-tollgate-dropped')]).toEqual([200, 'tools[1]']);
  expect(vendor.bodies.map((text): unknown => JSON.parse(text))).toEqual([
    { ...body, model: 'upstream-model', tools: [shell] },
  ]);
  await gateway.close();
  await vendor.close();
});

it('a search without a request and without a known price makes a call suspect', async () => {
  const plain = await openPlain({});
  expect((await plain.ask('chat-completions', {})).status).toBe(200);
  const [end] = await plain.gateway.ended(1);
  expect(end).toMatchObject({ charge: { cost: 7000n, suspect: true } });
  await plain.close();
});

/** Replies of each protocol with three tokens in and two out, and a count of what is charged separately. */
const billed = {
  'chat-completions': (count: number) => ({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 3,
      completion_tokens: 2,
      total_tokens: 5,
      server_tool_use: { web_search_requests: count },
    },
  }),
  responses: (count: number) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    output: [
      ...Array.from({ length: count }, (_, index) => ({
        type: 'code_interpreter_call',
        id: `ci_${index}`,
        status: 'completed',
        container_id: `cntr_${index}`,
        code: '1',
        outputs: null,
      })),
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
      },
    ],
  }),
  messages: (count: number) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 3,
      output_tokens: 2,
      server_tool_use: { web_search_requests: count, web_fetch_requests: 0 },
    },
  }),
  'generate-content': (count: number) => ({
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'Hi' }] },
        finishReason: 'STOP',
        index: 0,
        groundingMetadata: {
          webSearchQueries: Array.from({ length: count }, (_, index) => `query ${index}`),
        },
      },
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  }),
};
const claudeSearch = (uses?: number): object => ({
  tools: [
    { type: 'web_search_20250305', name: 'web_search', ...(uses === undefined ? {} : { max_uses: uses }) },
  ],
});

it.each<[family: keyof typeof billed, fields: object, count: number, charged: number, suspect: boolean]>([
  ['messages', claudeSearch(1), 1, 1, false],
  ['messages', claudeSearch(1), 500, 1, true],
  ['messages', claudeSearch(), 30, 30, false],
  ['messages', claudeSearch(), 1000, 10, true],
  ['messages', {}, 1000, 0, true],
  ['chat-completions', {}, 1000, 0, true],
  ['chat-completions', { web_search_options: {} }, 2, 2, false],
  ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }, 1, 1, false],
  ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }, 900, 1, true],
  ['responses', {}, 900, 0, true],
  ['generate-content', {}, 1000, 0, true],
])(
  'a provider of %s whose call with %j allows such charges, and that reports %i, is paid for %i',
  async (family, fields, count, charged, suspect) => {
    const vendor = await startScriptedVendor(
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(billed[family](count))),
    );
    const endpoints = Object.fromEntries(Object.keys(paths).map((name) => [name, vendor.origin]));
    const price = { input: '1', output: '2', webSearch: '0.01', container: '0.03' };
    const gateway = await startGateway({
      plugins: [
        bearer(),
        chatCompletions(),
        responses(),
        messages(),
        generateContent(),
        station({ name: 'plain', endpoints, models: [{ price }] }),
        balance(),
      ],
    });
    const books = await openBooks(gateway);
    await gateway.verb('credit add', ['tester', '9']);
    const [path, body] = paths[family] ?? ['', {}];
    const answer = await fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${books.key}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({ ...body, ...fields }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Hi')]);
    const [reserve, post, ...more] = await books.store.entries({
      call: answer.headers.get('x-request-id') ?? '',
      limit: 9,
    });
    expect([reserve?.kind, post?.kind, more]).toEqual(['reserve', 'post', []]);
    expect(post?.revenue).toBe(
      7000n + BigInt(charged) * (family === 'responses' ? 30_000_000n : 10_000_000n),
    );
    expect(post?.revenue).toBeLessThanOrEqual(reserve?.reserved ?? 0n);
    expect(post?.flags.includes('suspect')).toBe(suspect);
    expect(await books.store.audit()).toMatchObject({ ok: true });
    await books.store.close();
    await gateway.close();
    await vendor.close();
  },
);

it.each([true, false])(
  'tokens of a cache named in a call to Google are reserved, and charged as reported (stream: %s)',
  async (stream) => {
    const reply = {
      candidates: [
        { content: { role: 'model', parts: [{ text: 'Paris.' }] }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: {
        promptTokenCount: 88_840,
        cachedContentTokenCount: 88_830,
        candidatesTokenCount: 2,
        totalTokenCount: 88_842,
        cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 88_830 }],
      },
    };
    const vendor = await startScriptedVendor((response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      response.end(stream ? `data: ${JSON.stringify(reply)}\n\n` : JSON.stringify(reply));
    });
    const price = { input: '1', output: '2', cacheRead: '0.1' };
    const gateway = await startGateway({
      plugins: [
        bearer(),
        generateContent(),
        station({ name: 'plain', endpoints: { 'generate-content': vendor.origin }, models: [{ price }] }),
        balance(),
      ],
    });
    const books = await openBooks(gateway);
    await gateway.verb('credit add', ['tester', '9']);
    const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    for (const field of ['cachedContent', 'cached_content']) {
      const body = {
        [field]: 'cachedContents/one',
        contents: [{ role: 'user', parts: [{ text: 'Which city?' }] }],
      };
      const answer = await fetch(`${gateway.url}/beta/v1beta/models/house/model:${verb}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${books.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Paris')]);
      const [reserve, post] = await books.store.entries({
        call: answer.headers.get('x-request-id') ?? '',
        limit: 9,
      });
      // Ten fresh tokens, the cached ones at a tenth of the price, and two of output.
      expect(post).toMatchObject({ revenue: 10_000n + 8_883_000n + 4000n, flags: [], basis: 'usage' });
      // A context of 100,000 tokens at the price of cached ones, a fresh token for each byte, and the longest
      // output.
      expect(reserve?.reserved).toBeGreaterThan(10_000_000n + 2_000_000n);
      expect(reserve?.reserved).toBeLessThan(10_200_000n + 2_000_000n);
    }
    await books.store.close();
    await gateway.close();
    await vendor.close();
  },
);
