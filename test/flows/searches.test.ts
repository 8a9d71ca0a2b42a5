/**
 * Searches that a provider runs for a call and charges separately: the gateway reserves them before it sends
 * the call, in every protocol.
 */
import { expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { books, useVendorBooks } from '../support/vendor-books.ts';
import { user } from './search-calls.ts';

useVendorBooks();

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
async function readReserved([path, body]: readonly [string, object]): Promise<number> {
  const response = await postJson(books.harness.gateway.url + path, body, {
    authorization: `Bearer ${books.key}`,
    'anthropic-version': '2023-06-01',
  });
  await response.text();
  const call = response.headers.get('x-request-id') ?? '';
  const [reserve] = await books.store.listEntries({ call, limit: 1 });
  if (reserve?.kind !== 'reserve') throw new Error(`${response.status}: nothing was reserved`);
  return Number(reserve.reserved) / 1e9;
}

/** The tokens of all readings of a conversation of `sent` tokens that grows by 10,000 with each search. */
const sumReadings = (searches: number, sent: number): number =>
  Array.from({ length: searches + 1 }, (_, done) => sent + done * 10_000).reduce(
    (sum, each) => sum + each,
    0,
  );

it.each<
  [family: string, message: string, search: object, count: number, each: number, tokens: number, rate: number]
>([
  ['chat-completions', 'options of a search', { web_search_options: {} }, 10, 0.01, 100_000, 0.25],
  [
    'responses',
    'a tool',
    { tools: [{ type: 'web_search' }] },
    10,
    0.01,
    100_000 + sumReadings(9, 0) / 10,
    0.25,
  ],
  [
    'responses',
    'a tool and a limit',
    { tools: [{ type: 'web_search' }], max_tool_calls: 4 },
    4,
    0.01,
    40_000 + sumReadings(3, 0) / 10,
    0.25,
  ],
  [
    'messages',
    'a tool',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    10,
    0.01,
    sumReadings(10, 0),
    3,
  ],
  [
    'messages',
    'a tool with a limit',
    { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    3,
    0.01,
    sumReadings(3, 0),
    3,
  ],
  // Google bills Gemini 2.5 once for a call that searches.
  ['generate-content', 'a tool', { tools: [{ googleSearch: {} }] }, 1, 0.035, 100_000, 1],
])(
  'a call of %s with %s reserves its searches and the tokens they read: %j, %i searches',
  async (family, _, search, count, each, tokens, rate) => {
    const call = calls[family];
    if (!call) throw new Error(family);
    const difference = (await readReserved(call(search))) - (await readReserved(call({})));
    const found = difference - count * each;
    expect(found).toBeGreaterThanOrEqual(tokens * rate * 0.999e-6);
    // The request itself has fewer than 300 bytes, and is read up to eleven times.
    expect(found).toBeLessThan((tokens + 11 * 300) * rate * 1.001e-6);
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
    (await readReserved(call({ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }))) -
    (await readReserved(call({})));
  expect(more).toBeGreaterThan(0.03 + codeRuns);
  expect(more).toBeLessThan(0.0301 + codeRuns);
});

it.each<[message: string, tools: object[], least: number, most: number]>([
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
  const more = (await readReserved(call({ tools }))) - (await readReserved(call({})));
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
    const reserved = await readReserved(call(fields));
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
  expect((await readReserved(own)) - (await readReserved(plain))).toBeLessThan(0.005);
});
