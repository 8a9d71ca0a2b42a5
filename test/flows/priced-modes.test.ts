/**
 * Calls that a provider serves in a mode with rates of its own: the gateway reserves the requested mode,
 * charges the mode that the provider reports, and refuses a mode without known rates.
 */
import { beforeAll, expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { openBooks } from '../support/books.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply, messagesReply, responsesReply } from '../support/replies.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

const usual = { input: '1', output: '2' };
const fees = { webSearch: '0.01', container: '0.03' };
const fast = { input: '10', output: '20' };
const us = { input: '1.1', output: '2.2' };
const both = { input: '11', output: '22' };

/** What the provider answers next. */
let says: { readonly type: string; readonly body: string };
let vendor: ScriptedVendor;
let gateway: TestGateway;
let store: Store;
let key: string;
beforeAll(async () => {
  vendor = await startScriptedVendor(
    (response) => void response.writeHead(200, { 'content-type': says.type }).end(says.body),
  );
  const endpoints = {
    'chat-completions': `${vendor.origin}/chat`,
    responses: `${vendor.origin}/responses`,
    messages: `${vendor.origin}/messages`,
  };
  const models = [
    { price: { ...usual, ...fees, modes: { fast, us, 'fast us': both } } },
    { id: 'house/one-price', price: usual },
    { id: 'house/painter', price: { ...usual, ...fees, modes: { image_generation: fast } } },
  ];
  const abroad = testProvider({
    name: 'w',
    endpoints: { messages: endpoints.messages },
    models: [{ id: 'house/abroad', price: { ...usual, modes: { fast } } }],
  });
  gateway = await startGateway({
    plugins: [
      bearer(),
      chatCompletions(),
      responses(),
      messages(),
      testProvider({ name: 'v', endpoints, models }),
      abroad,
      preferences(),
      balance(),
    ],
  });
  ({ store, key } = await openBooks(gateway));
  await gateway.verb('credit add', ['tester', '50']);
});

const json = (body: object): typeof says => ({ type: 'application/json', body: JSON.stringify(body) });
const chat = (tier?: string): object => chatReply('Hi', { service_tier: tier });
const response = (tier?: string): object => responsesReply('Hi', { service_tier: tier });
const message = (speed?: string, inference_geo?: string): object =>
  messagesReply('Hi', { usage: { input_tokens: 3, output_tokens: 2, speed, inference_geo } });

const requests = [{ role: 'user', content: 'Hi' }];
const families = {
  'chat-completions': {
    path: '/v1/chat/completions',
    field: 'service_tier',
    word: 'priority',
    usual: 'default',
    body: { messages: requests, max_completion_tokens: 100 },
    reply: chat,
  },
  responses: {
    path: '/v1/responses',
    field: 'service_tier',
    word: 'priority',
    usual: 'default',
    body: { input: 'Hi', max_output_tokens: 100 },
    reply: response,
  },
  messages: {
    path: '/alpha/v1/messages',
    field: 'speed',
    word: 'fast',
    usual: 'standard',
    body: { messages: requests, max_tokens: 100 },
    reply: message,
  },
} as const;
const names = ['chat-completions', 'responses', 'messages'] as const;

interface Booked {
  readonly status: number;
  readonly reserved: bigint;
  readonly charged: bigint;
  readonly suspect: boolean;
  readonly text: string;
}

async function call(family: (typeof names)[number], fields: object, reply: typeof says): Promise<Booked> {
  says = reply;
  const { path, body } = families[family];
  const sent = await postJson(
    gateway.url + path,
    { model: 'house/model', ...body, ...fields },
    { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' },
  );
  const text = await sent.text();
  const [reserve, end] = await store.listEntries({ call: sent.headers.get('x-request-id') ?? '', limit: 2 });
  return {
    status: sent.status,
    reserved: reserve?.reserved ?? 0n,
    charged: end?.revenue ?? 0n,
    suspect: end?.flags.includes('suspect') ?? false,
    text,
  };
}

function expectRefusal({ status, reserved, text }: Booked, word: string): void {
  expect([status, reserved, text]).toEqual([400, 0n, expect.stringContaining(word)]);
}

/** Three tokens in and two out, in nano-USD. */
const [slowCost, fastCost] = [7000n, 70_000n];

it.each(names)(
  'a call of %s that asks for a mode and is served in it costs the rates of that mode',
  async (family) => {
    const { field, word, reply } = families[family];
    const plain = await call(family, {}, json(reply()));
    const served = await call(family, { [field]: word }, json(reply(word)));
    expect([plain.charged, served.charged]).toEqual([slowCost, fastCost]);
    expect(served.reserved).toBeGreaterThan(plain.reserved * 9n);
  },
);

it.each(names)(
  'a call of %s that asks for a mode and is served without it costs the standard rates',
  async (family) => {
    const { field, word, usual, reply } = families[family];
    const served = await call(family, { [field]: word }, json(reply(usual)));
    expect(served).toMatchObject({ status: 200, charged: slowCost });
  },
);

it.each(names)(
  'a call of %s counts as served in the requested mode if the provider reports none',
  async (family) => {
    const { field, word, reply } = families[family];
    expect((await call(family, { [field]: word }, json(reply()))).charged).toBe(fastCost);
  },
);

it('a call to a provider of another protocol does not count as served in the requested mode', async () => {
  expect(
    await call('chat-completions', { model: 'house/abroad', service_tier: 'priority' }, json(message())),
  ).toMatchObject({ status: 200, charged: slowCost });
});

it.each(names)(
  'a call of %s for a mode is refused by the names of its field and mode if its model has one price',
  async (family) => {
    const { field, word, reply } = families[family];
    const refused = await call(family, { model: 'house/one-price', [field]: word }, json(reply(word)));
    expect(refused).toMatchObject({ status: 400, reserved: 0n, charged: 0n });
    expect(refused.text).toContain(`\\"${field}\\" asks for the service mode \\"${word}\\"`);
  },
);

it.each(names)(
  "a call of %s in a mode it did not ask for costs that mode's rates, and is suspect if they are unknown",
  async (family) => {
    const { word, reply } = families[family];
    expect(await call(family, {}, json(reply(word)))).toMatchObject({ charged: fastCost, suspect: false });
    const dear = await call(family, { model: 'house/one-price' }, json(reply(word)));
    expect(dear).toMatchObject({ status: 200, charged: slowCost, suspect: true });
  },
);

it.each(['flex', 'auto', 'default', 'scale'])('the tier "%s" costs the standard rates', async (tier) => {
  expect(
    await call('chat-completions', { model: 'house/one-price', service_tier: tier }, json(chat(tier))),
  ).toMatchObject({ status: 200, charged: slowCost, suspect: false });
});

it.each(['ultrafast', 'constructor'])('the tier "%s", which has no known price, is refused', async (tier) => {
  const refused = await call('responses', { service_tier: tier }, json(response(tier)));
  expectRefusal(refused, tier);
});

it('a tool that costs more than the model has a price for is refused by its name', async () => {
  const tools = [{ type: 'web_search' }, { type: 'image_generation' }];
  const refused = await call('responses', { tools }, json(response()));
  expectRefusal(refused, 'tools[1].type');
  expect(refused.text).toContain('asks for \\"image_generation\\", whose price is not known');
  const roomy = await call(
    'responses',
    { tools: [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } }] },
    json(response()),
  );
  expectRefusal(roomy, 'tools[0].container.memory_limit');
  for (const tier of [undefined, 'default']) {
    const served = await call('responses', { model: 'house/painter', tools }, json(response(tier)));
    expect(served.charged, tier).toBe(fastCost);
  }
});

it("a tool that paints is charged for the usage it reports beside the model's", async () => {
  const painted = {
    ...response('default'),
    tool_usage: { image_gen: { input_tokens: 7, output_tokens: 100, total_tokens: 107 } },
  };
  const tools = [{ type: 'image_generation' }];
  // Ten tokens in, and a hundred and two out, at ten and twenty USD a million.
  expect(
    await call('responses', { model: 'house/painter', max_output_tokens: 200, tools }, json(painted)),
  ).toMatchObject({ status: 200, charged: 100_000n + 2_040_000n, suspect: false });
});

/** Three tokens in and two out, in nano-USD, at the rates of a single country. */
const [localCost, fastLocalCost] = [7700n, 77_000n];

it.each<[asked: object, reported: [speed?: string | undefined, place?: string], charged: bigint]>([
  [{ inference_geo: 'us' }, [undefined, 'us'], localCost],
  [{ inference_geo: 'us' }, ['standard', 'us'], localCost],
  [{ inference_geo: 'us' }, [undefined, 'global'], slowCost],
  [{ inference_geo: 'us' }, [], localCost],
  [{ inference_geo: 'global' }, [undefined, 'global'], slowCost],
  [{}, ['standard', 'not_available'], slowCost],
  [{}, [undefined, 'us'], localCost],
  [{ inference_geo: 'us', speed: 'fast' }, ['fast', 'us'], fastLocalCost],
  [{ inference_geo: 'us', speed: 'fast' }, ['standard', 'us'], localCost],
  [{ inference_geo: 'us', speed: 'fast' }, [undefined, 'us'], fastLocalCost],
])(
  'a message that asks for %j and is reported as served with %j costs %s',
  async (asked, reported, charged) => {
    const served = await call('messages', asked, json(message(...reported)));
    expect(served).toMatchObject({ status: 200, charged, suspect: false });
  },
);

it('the gateway reserves the rates of the region that a message asks for', async () => {
  const [plain, local] = [
    await call('messages', { inference_geo: 'none' }, json(message())),
    await call('messages', { inference_geo: 'us' }, json(message())),
  ];
  expect(plain.status).toBe(400);
  const { reserved } = await call('messages', {}, json(message()));
  expect(local.reserved).toBeGreaterThan((reserved * 21n) / 20n);
});

it('a message that asks for a region without a price is refused by the name of the field', async () => {
  for (const fields of [
    { inference_geo: 'eu' },
    { model: 'house/one-price', inference_geo: 'us' },
    { inference_geo: 'eu', speed: 'fast' },
  ]) {
    const refused = await call('messages', fields, json(message()));
    expectRefusal(refused, 'inference_geo');
  }
});

it('a stream reports its mode with its usage', async () => {
  const { model: _, ...whole } = { ...chat('priority'), model: 'm' };
  const chunk = {
    ...whole,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  };
  const streamed = { type: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` };
  const served = await call('chat-completions', { stream: true, service_tier: 'priority' }, streamed);
  expect(served.charged).toBe(fastCost);
});

it('a maximum price below those rates excludes the model', async () => {
  const limited = { provider: { max_price: { prompt: '5', completion: '50' } } };
  expect((await call('chat-completions', limited, json(chat()))).status).toBe(200);
  expect(
    (await call('chat-completions', { ...limited, service_tier: 'priority' }, json(chat('priority')))).status,
  ).toBe(404);
});

it('the ledger passes its audit after all of this', async () => {
  expect(await store.audit()).toMatchObject({ ok: true });
});
