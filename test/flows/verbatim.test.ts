/** The verbatim lane over real sockets: bytes compared, both ways. */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const cases = readCases<readonly (readonly [string, string, string])[]>('verbatim.json', import.meta.url);

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterEach(() => harness.vendor.unscript());

function readArrived(): string {
  return harness.vendor.requests.at(-1)?.body.toString() ?? '';
}

it("the request reaches the provider with the model's name and nothing else changed", async () => {
  const body =
    '{ "messages" : [ {"role":"user", "content":"caf\\u00e9 \\"q\\" 橋 {\\"model\\":\\"x\\"}"} ] ,\n\t' +
    '"temperature": 1.0,"seed":9007199254740993, "top_p":1e0,\n      "tools":[{"type":"function",' +
    '"function":{"name":"f","parameters":{"type":"object","properties":{"model":{"type":"string"}}}}}],\n' +
    '      "metadata":{"model":"openai/gpt-4o-mini"},  "model" : "openai/gpt-4o-mini" }';
  expect((await harness.post(body)).status).toBe(200);
  expect(readArrived()).toBe(body.replace('"model" : "openai/gpt-4o-mini"', '"model" : "gpt-4o-mini"'));
});

it('the request names the output limit as the model does', async () => {
  await harness.post(
    '{"model":"openai/gpt-4o-mini","max_tokens": 64,"messages":[{"role":"user","content":"a"}]}',
  );
  expect(JSON.parse(readArrived())).toEqual({
    model: 'gpt-4o-mini',
    max_completion_tokens: 64,
    messages: [{ role: 'user', content: 'a' }],
  });
});

const body =
  '{ "id":"chatcmpl-1", "object":"chat.completion","created":1,  "model":"gpt-4o-mini-2024-07-18",' +
  '"odd":1.0,"big":9007199254740993,"choices":[{"index":0,"message":{"role":"assistant",' +
  '"content":"caf\\u00e9 \\"model\\":\\"x\\"","refusal":null},"finish_reason":"stop"}],' +
  '"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3} }';

it("the reply differs from the provider's by the model's name alone", async () => {
  harness.vendor.script('gpt-4o-mini', { reply: { status: 200, body } });
  const response = await harness.post({
    model: 'openai/gpt-4o-mini',
    messages: [{ role: 'user', content: 'a' }],
  });
  expect(await response.text()).toBe(body.replace('gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini'));
});

const chunk = (rest: string): string =>
  'data: {"id":"c","object":"chat.completion.chunk","created":1, ' +
  `"model":"gpt-4o-mini-2024-07-18",${rest}}\n\n`;
const words = chunk(
  '"choices":[{"index":0,"delta":{"role":"assistant","content":"h\\u00e9 橋 \\"model\\":\\"gpt\\""},' +
    '"finish_reason":null}],"usage":null,"obfuscation":"x"',
);
const finish = chunk('"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null');
const usage = chunk('"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}');
const renameModel = (text: string): string => text.replaceAll('gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini');

it.each(cases)('the reply of a stream reaches the client on %s', async (_, sent, received) => {
  harness.vendor.script('gpt-4o-mini', {
    reply: { status: 200, headers: { 'content-type': 'text/event-stream' }, body: sent },
  });
  const response = await harness.post({
    model: 'openai/gpt-4o-mini',
    stream: true,
    messages: [{ role: 'user', content: 'a' }],
  });
  expect(await response.text()).toBe(received);
});

it('the reply keeps the usage chunk of a client that asked for it', async () => {
  harness.vendor.script('gpt-4o-mini', {
    reply: {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: words + finish + usage + 'data: [DONE]\n\n',
    },
  });
  const response = await harness.post({
    model: 'openai/gpt-4o-mini',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'a' }],
  });
  expect(await response.text()).toBe(renameModel(words + finish + usage) + 'data: [DONE]\n\n');
});

it('headers of the client reach no provider unless the gateway sets them', async () => {
  await harness.post(
    { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'a' }] },
    {
      headers: {
        cookie: 'session=canary',
        'x-forwarded-for': '10.0.0.1',
        'x-forwarded-host': 'evil',
        forwarded: 'for=canary',
        via: '1.1 canary',
        'proxy-authorization': 'canary',
        'x-api-key': 'canary',
        'x-goog-api-key': 'canary',
        'openai-organization': 'canary',
        'openai-project': 'canary',
        'x-stainless-lang': 'js',
        te: 'trailers',
        'idempotency-key': 'canary',
        'x-tollgate-x': 'canary',
        origin: 'https://canary',
        referer: 'https://canary',
        'user-agent': 'canary',
        'accept-language': 'canary',
      },
    },
  );
  const seen = harness.vendor.requests.at(-1);
  expect(seen?.leaked).toEqual([]);
  expect(
    seen?.rawHeaders
      .filter((_, index) => index % 2 === 0)
      .map((name) => name.toLowerCase())
      .toSorted(),
  ).toEqual([
    'accept',
    'accept-encoding',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
  ]);
  expect(seen?.headers.authorization).toBe(`Bearer ${harness.vendor.key}`);
  expect(JSON.stringify(seen?.rawHeaders)).not.toContain('canary');
  expect(JSON.stringify(seen?.rawHeaders)).not.toContain(harness.key);
});

it.each([false, true])('headers of the provider reach no client (stream: %s)', async (stream) => {
  const response = await harness.post({
    model: 'openai/gpt-4o-mini',
    stream,
    messages: [{ role: 'user', content: 'a' }],
  });
  await response.text();
  const usual = [
    'connection',
    'content-type',
    'date',
    'keep-alive',
    'request-id',
    'x-request-id',
    'x-tollgate-attempts',
    'x-tollgate-model',
    'x-tollgate-provider',
  ];
  const names = [...response.headers.keys()];
  expect(names).toEqual(
    [
      ...usual,
      ...(stream
        ? ['cache-control', 'transfer-encoding', 'x-accel-buffering']
        : ['content-length', 'x-tollgate-cost']),
    ].toSorted(),
  );
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
});
