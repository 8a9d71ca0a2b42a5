/** Searches that a vendor makes for a call and charges apart: reserved for before it is sent, in every family's words. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
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

/** A call of a family, with the fields that let its vendor search. */
const calls: Readonly<Record<string, (search: object) => readonly [path: string, body: object]>> = {
  'chat-completions': (search) => ['/v1/chat/completions', { model: 'openai/gpt-5-mini', max_completion_tokens: 100, messages: user, ...search }],
  responses: (search) => ['/v1/responses', { model: 'openai/gpt-5-mini', max_output_tokens: 100, input: 'What is new?', ...search }],
  messages: (search) => ['/alpha/v1/messages', { model: 'anthropic/claude-sonnet-4-5', max_tokens: 100, messages: user, ...search }],
  'generate-content': (search) => ['/beta/v1beta/models/google/gemini-2.5-flash:generateContent', { contents: [{ role: 'user', parts: [{ text: 'What is new?' }] }], generationConfig: { maxOutputTokens: 100 }, ...search }],
};

/** What is reserved for a call, in USD: the status of its reply does not matter here. */
async function reservedFor([path, body]: readonly [string, object]): Promise<number> {
  const response = await fetch(house.gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  });
  await response.text();
  const call = response.headers.get('x-request-id') ?? '';
  const [reserve] = await store.entries({ call, limit: 1 });
  if (reserve?.kind !== 'reserve') throw new Error(`${response.status}: nothing was reserved`);
  return Number(reserve.reserved) / 1e9;
}

it.each<[family: string, told: string, search: object, count: number, each: number]>([
  ['chat-completions', 'options of a search', { web_search_options: {} }, 10, 0.01],
  ['responses', 'a tool', { tools: [{ type: 'web_search' }] }, 10, 0.01],
  ['responses', 'a tool and a limit', { tools: [{ type: 'web_search' }], max_tool_calls: 4 }, 4, 0.01],
  ['messages', 'a tool', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 10, 0.01],
  ['messages', 'a tool with a limit', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }, 3, 0.01],
  ['generate-content', 'a tool', { tools: [{ googleSearch: {} }] }, 10, 0.014],
])('a call of %s with %s is reserved for with its searches, and what they find: %j, %i of them', async (family, _, search, count, each) => {
  const call = calls[family];
  if (!call) throw new Error(family);
  const difference = (await reservedFor(call(search))) - (await reservedFor(call({})));
  const found = difference - count * each;
  expect(found).toBeGreaterThan(count * 8000 * 0.25e-6);
  expect(found).toBeLessThan(count * 8000 * 7e-6);
});

it.each([true, false])('what Google tells of its searches is charged: streamed %s', async (stream) => {
  const reply = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Sunny.' }] }, finishReason: 'STOP', index: 0, groundingMetadata: { webSearchQueries: ['weather today', 'weather tomorrow'] } }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  };
  const vendor = await startScriptedVendor((response) => {
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    response.end(stream ? `data: ${JSON.stringify(reply)}\n\n` : JSON.stringify(reply));
  });
  const price = { input: '1', output: '2', webSearch: '0.014' };
  const gateway = await startGateway({ plugins: [openDoors(), generateContent(), station({ name: 'search', endpoints: { 'generate-content': vendor.origin }, models: [{ price }] })] });
  const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  const body = { contents: [{ role: 'user', parts: [{ text: 'What is new?' }] }], tools: [{ googleSearch: {} }] };
  await (await fetch(`${gateway.url}/beta/v1beta/models/house/model:${verb}`, { method: 'POST', body: JSON.stringify(body) })).text();
  const [end] = await gateway.ended(1);
  // Three tokens in and two out make 7000 nano-USD.
  expect(end).toMatchObject({ outcome: 'completed', charge: { basis: 'usage', cost: 2n * 14_000_000n + 7000n, usage: { webSearches: 2 } } });
  await gateway.close();
  await vendor.close();
});

it('code that a vendor may run is reserved for with a container', async () => {
  const call = calls['responses'];
  if (!call) throw new Error('no responses');
  const more = (await reservedFor(call({ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }))) - (await reservedFor(call({})));
  expect(more).toBeGreaterThan(0.03);
  expect(more).toBeLessThan(0.0301);
});

it('a call without any reserves for none', async () => {
  const tool = { name: 'web_search_of_mine', description: 'Looks.', input_schema: { type: 'object', properties: {} } };
  const plain = calls['messages']?.({});
  const own = calls['messages']?.({ tools: [tool] });
  if (!plain || !own) throw new Error('messages');
  expect((await reservedFor(own)) - (await reservedFor(plain))).toBeLessThan(0.005);
});
