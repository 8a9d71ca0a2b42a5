/** Gemini 3 searches beside a client's functions, in every protocol, and each query is charged. */
import { expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { books, useVendorBooks } from '../support/vendor-books.ts';
import { user } from './search-calls.ts';

const model = 'google/gemini-3.5-flash-lite';

useVendorBooks();

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const calls: readonly (readonly [family: string, path: string, body: object])[] = [
  [
    'chat-completions',
    '/v1/chat/completions',
    {
      model,
      messages: user,
      web_search_options: {},
      tools: [{ type: 'function', function: { name: 'measure', parameters: schema } }],
      tool_choice: 'auto',
    },
  ],
  [
    'responses',
    '/v1/responses',
    {
      model,
      input: 'What is new?',
      tools: [{ type: 'web_search' }, { type: 'function', name: 'measure', parameters: schema }],
      tool_choice: 'auto',
    },
  ],
  [
    'messages',
    '/alpha/v1/messages',
    {
      model,
      max_tokens: 100,
      messages: user,
      tools: [
        { type: 'web_search_20250305', name: 'web_search' },
        { name: 'measure', input_schema: schema },
      ],
      tool_choice: { type: 'auto' },
    },
  ],
  [
    'generate-content',
    `/beta/v1beta/models/${model}:generateContent`,
    {
      contents: [{ role: 'user', parts: [{ text: 'What is new?' }] }],
      tools: [
        { googleSearch: {} },
        { functionDeclarations: [{ name: 'measure', parametersJsonSchema: schema }] },
      ],
      toolConfig: { includeServerSideToolInvocations: true },
    },
  ],
];

it.each(calls)('a client of %s gets a search and a call in one reply', async (_, path, body) => {
  const toolCalls = [{ name: 'measure', arguments: '{"city":"Oslo"}' }];
  books.harness.vendors.google.script('gemini-3.5-flash-lite', { search: 'northern cities', toolCalls });
  const response = await postJson(books.harness.gateway.url + path, body, {
    authorization: `Bearer ${books.key}`,
    'anthropic-version': '2023-06-01',
  });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Oslo')]);
  expect(response.headers.get('x-tollgate-dropped')).toBeNull();
  const sent: unknown = JSON.parse(books.harness.vendors.google.requests.at(-1)?.body.toString() ?? '');
  expect(sent).toMatchObject({ toolConfig: { includeServerSideToolInvocations: true } });
  expect(sent).not.toHaveProperty('toolConfig.functionCallingConfig');
  const [, post] = await books.store.listEntries({
    call: response.headers.get('x-request-id') ?? '',
    limit: 2,
  });
  expect(post).toMatchObject({ kind: 'post', basis: 'usage', flags: [] });
  // One search at 0.014 USD, and less than 0.001 USD of tokens.
  expect(Number(post?.revenue) / 1e9).toBeGreaterThan(0.014);
  expect(Number(post?.revenue) / 1e9).toBeLessThan(0.015);
});
