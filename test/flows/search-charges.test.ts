/** What a provider reports of searches and caches, and what the gateway charges for it. */
import { expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { openBooks } from '../support/books.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { withCounts } from '../support/rates.ts';
import { chatReply, generateReply, messagesReply, responsesReply, textItem } from '../support/replies.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';
import { paths } from './search-calls.ts';

const buildSearched = (text: string, webSearchQueries: readonly string[]): object =>
  generateReply(text, {
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [{ text }] },
        finishReason: 'STOP',
        groundingMetadata: { webSearchQueries },
      },
    ],
  });

it.each<[stream: boolean, billed: 'each' | 'once', count: number]>([
  [true, 'each', 2],
  [false, 'each', 2],
  [true, 'once', 1],
  [false, 'once', 1],
])(
  'the gateway charges the searches that Google reports: streamed %s, %s, %i',
  async (stream, searchesBilled, count) => {
    const reply = buildSearched('Sunny.', ['weather today', 'weather tomorrow']);
    const vendor = await startScriptedVendor((response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      response.end(stream ? `data: ${JSON.stringify(reply)}\n\n` : JSON.stringify(reply));
    });
    const price = { input: '1', output: '2', webSearch: '0.014' };
    const gateway = await startGateway({
      plugins: [
        acceptAnyKey(),
        generateContent(),
        testProvider({
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
    await (await postJson(`${gateway.url}/beta/v1beta/models/house/model:${verb}`, body)).text();
    const [end] = await gateway.ended(1);
    // Three tokens in and two out make 7000 nano-USD.
    expect(end).toMatchObject({
      outcome: 'completed',
      charge: {
        basis: 'usage',
        cost: BigInt(count) * 14_000_000n + 7000n,
        suspect: false,
        uses: withCounts({ webSearches: count }),
      },
    });
    await gateway.close();
    await vendor.close();
  },
);

/** Replies of each protocol with three tokens in and two out, and a count of what is charged separately. */
const billed = {
  'chat-completions': (count: number) =>
    chatReply('Hi', {
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        total_tokens: 5,
        server_tool_use: { web_search_requests: count },
      },
    }),
  responses: (count: number) => {
    const runs = Array.from({ length: count }, (_, index) => ({
      type: 'code_interpreter_call',
      id: `ci_${index}`,
      status: 'completed',
      container_id: `cntr_${index}`,
      code: '1',
      outputs: null,
    }));
    return responsesReply('Hi', { output: [...runs, textItem('Hi')] });
  },
  messages: (count: number) =>
    messagesReply('Hi', {
      usage: {
        input_tokens: 3,
        output_tokens: 2,
        server_tool_use: { web_search_requests: count, web_fetch_requests: 0 },
      },
    }),
  'generate-content': (count: number) =>
    buildSearched(
      'Hi',
      Array.from({ length: count }, (_, index) => `query ${index}`),
    ),
};
const offerSearch = (uses?: number): object => ({
  tools: [
    { type: 'web_search_20250305', name: 'web_search', ...(uses === undefined ? {} : { max_uses: uses }) },
  ],
});

it.each<[family: keyof typeof billed, fields: object, count: number, charged: number, suspect: boolean]>([
  ['messages', offerSearch(1), 1, 1, false],
  ['messages', offerSearch(1), 500, 1, true],
  ['messages', offerSearch(), 30, 30, false],
  ['messages', offerSearch(), 1000, 10, true],
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
    const vendor = await startScriptedVendor((response) => sendJson(response, billed[family](count)));
    const endpoints = Object.fromEntries(Object.keys(paths).map((name) => [name, vendor.origin]));
    const price = { input: '1', output: '2', webSearch: '0.01', container: '0.03' };
    const gateway = await startGateway({
      plugins: [
        bearer(),
        ...textProtocols(),
        testProvider({ name: 'plain', endpoints, models: [{ price }] }),
        balance(),
      ],
    });
    const books = await openBooks(gateway);
    await gateway.verb('credit add', ['tester', '9']);
    const [path, body] = paths[family] ?? ['', {}];
    const answer = await postJson(
      gateway.url + path,
      { ...body, ...fields },
      { authorization: `Bearer ${books.key}`, 'anthropic-version': '2023-06-01' },
    );
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Hi')]);
    const [reserve, post, ...more] = await books.store.listEntries({
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
    const reply = generateReply('Paris.', {
      usageMetadata: {
        promptTokenCount: 88_840,
        cachedContentTokenCount: 88_830,
        candidatesTokenCount: 2,
        totalTokenCount: 88_842,
        cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 88_830 }],
      },
    });
    const vendor = await startScriptedVendor((response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      response.end(stream ? `data: ${JSON.stringify(reply)}\n\n` : JSON.stringify(reply));
    });
    const price = { input: '1', output: '2', cacheRead: '0.1' };
    const gateway = await startGateway({
      plugins: [
        bearer(),
        generateContent(),
        testProvider({
          name: 'plain',
          endpoints: { 'generate-content': vendor.origin },
          models: [{ price }],
        }),
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
      const answer = await postJson(`${gateway.url}/beta/v1beta/models/house/model:${verb}`, body, {
        authorization: `Bearer ${books.key}`,
      });
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Paris')]);
      const [reserve, post] = await books.store.listEntries({
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

it('tokens that Google reads again to continue a reply are charged as reported', async () => {
  const usageMetadata = { promptTokenCount: 8005, candidatesTokenCount: 2, totalTokenCount: 8007 };
  const vendor = await startScriptedVendor((response) => {
    sendJson(response, generateReply('Paris.', { usageMetadata }));
  });
  const gateway = await startGateway({
    plugins: [
      bearer(),
      generateContent(),
      testProvider({ name: 'plain', endpoints: { 'generate-content': vendor.origin } }),
      balance(),
    ],
  });
  const books = await openBooks(gateway);
  await gateway.verb('credit add', ['tester', '9']);
  const answer = await postJson(
    `${gateway.url}/beta/v1beta/models/house/model:generateContent`,
    { contents: [{ role: 'user', parts: [{ text: 'Which city?' }] }], continuationToken: 'AAAA' },
    { authorization: `Bearer ${books.key}` },
  );
  expect(await answer.text()).toContain('Paris');
  const call = answer.headers.get('x-request-id') ?? '';
  const [, post] = await books.store.listEntries({ call, limit: 9 });
  expect(post).toMatchObject({ revenue: 8_005_000n + 4000n, flags: [], basis: 'usage' });
});

it.each<[type: string, preview: string | undefined, charged: bigint]>([
  ['web_search', '0.025', 20_000_000n],
  ['web_search_preview', '0.025', 50_000_000n],
  ['web_search_preview_2025_03_11', '0.025', 50_000_000n],
  ['web_search_preview', undefined, 20_000_000n],
])(
  'two searches by the tool %s of a model whose preview searches cost %s are charged %i',
  async (type, previewSearch, charged) => {
    const vendor = await startScriptedVendor((response) =>
      sendJson(response, responsesReply('Hi', { tool_usage: { web_search: { num_requests: 2 } } })),
    );
    const price = { input: '1', output: '2', webSearch: '0.01', ...(previewSearch && { previewSearch }) };
    const gateway = await startGateway({
      plugins: [
        bearer(),
        ...textProtocols(),
        testProvider({ name: 'plain', endpoints: { responses: vendor.origin }, models: [{ price }] }),
        balance(),
      ],
    });
    const books = await openBooks(gateway);
    await gateway.verb('credit add', ['tester', '9']);
    const answer = await postJson(
      `${gateway.url}/v1/responses`,
      { model: 'house/model', input: 'What is new?', tools: [{ type }] },
      { authorization: `Bearer ${books.key}` },
    );
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Hi')]);
    const [reserve, post] = await books.store.listEntries({
      call: answer.headers.get('x-request-id') ?? '',
      limit: 9,
    });
    expect([post?.kind, post?.revenue, post?.flags]).toEqual(['post', 7000n + charged, []]);
    expect(post?.revenue).toBeLessThanOrEqual(reserve?.reserved ?? 0n);
    expect(await books.store.audit()).toMatchObject({ ok: true });
    await books.store.close();
    await gateway.close();
    await vendor.close();
  },
);
