/**
 * Providers that are slow, or compress what they send without being asked: the official SDKs still get the
 * whole reply.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { chunk, ending } from '../support/chat-stream.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { chatReply } from '../support/replies.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const events = [
  chunk({ role: 'assistant', content: 'slow ' }),
  chunk({ content: 'and ' }),
  chunk({ content: 'sure' }),
  chunk({}, 'stop') + ending(usage),
];

/**
 * Milliseconds: how long a stream may be silent, and how long the provider is; other timeouts are far longer.
 */
const keepAlive = 100;
const silence = 400;
let vendor: ScriptedVendor;
let gateway: TestGateway;
beforeAll(async () => {
  vendor = await startScriptedVendor(() => undefined);
  gateway = await startGateway({
    timeouts: { keepAlive: keepAlive / 1000, firstEvent: 120, idle: 120, reply: 120 },
    plugins: [
      acceptAnyKey(),
      ...textProtocols(),
      testProvider({
        name: 'slow',
        endpoints: { 'chat-completions': `${vendor.origin}/v1/chat/completions` },
        models: [{ free: true }],
      }),
    ],
  });
});

const question = 'How is it?';
const request = { model: 'house/model', messages: [{ role: 'user' as const, content: question }] };

/** What each SDK receives of a stream, put together by its own helpers. */
const ask: Readonly<Record<Wire, () => Promise<string | null | undefined>>> = {
  'chat-completions': async () =>
    (
      await new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/v1`, maxRetries: 0 }).chat.completions
        .stream(request)
        .finalChatCompletion()
    ).choices[0]?.message.content,
  responses: async () =>
    (
      await new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/v1`, maxRetries: 0 }).responses
        .stream({ model: 'house/model', input: question })
        .finalResponse()
    ).output_text,
  messages: async () =>
    new Anthropic({ apiKey: 'k', baseURL: `${gateway.url}/alpha`, maxRetries: 0 }).messages
      .stream({ ...request, max_tokens: 100 })
      .finalText(),
  'generate-content': async () => {
    const stream = await new GoogleGenAI({
      apiKey: 'k',
      httpOptions: { baseUrl: `${gateway.url}/beta` },
    }).models.generateContentStream({ model: 'house/model', contents: question });
    return (await Array.fromAsync(stream)).map(({ text = '' }) => text).join('');
  },
};

describe.each(wires)('the SDK of %s', (wire) => {
  it('waits for a provider that is silent before its head and between its events', async () => {
    vendor.conduct(async (response) => {
      await sleep(silence);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events) {
        response.write(event);
        await sleep(silence / 2);
      }
      response.end();
    });
    expect(await ask[wire]()).toBe('slow and sure');
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['deflate', deflateSync],
  ] as const)('receives all of a stream compressed with %s', async (encoding, pack) => {
    vendor.conduct(
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding })
          .end(pack(events.join(''))),
    );
    expect(await ask[wire]()).toBe('slow and sure');
  });

  it('receives all of a stream whose content type is in capitals', async () => {
    vendor.conduct(
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'Text/Event-Stream; charset=UTF-8' })
          .end(events.join('')),
    );
    expect(await ask[wire]()).toBe('slow and sure');
  });
});

it.each<[string, object, RegExp | undefined]>([
  ['/v1/chat/completions', { ...request, stream: true }, /^: keep-alive$/m],
  ['/v1/responses', { model: 'house/model', input: question, stream: true }, /^: keep-alive$/m],
  ['/alpha/v1/messages', { ...request, max_tokens: 100, stream: true }, /^event: ping$/m],
  [
    '/beta/v1beta/models/house/model:streamGenerateContent?alt=sse',
    { contents: [{ parts: [{ text: question }] }] },
    undefined,
  ],
])('a stream at %s sends keep-alives in a form its clients accept', async (path, body, sign) => {
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  vendor.conduct(async (response) => {
    asked.resolve();
    await held.promise;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''));
  });
  const asking = postJson(gateway.url + path, body, { 'anthropic-version': '2023-06-01' });
  let text = '';
  if (sign) {
    const parts = (await asking).body?.pipeThrough(new TextDecoderStream());
    for await (const part of parts ?? []) {
      text += part;
      if (sign.test(text)) held.resolve();
    }
  } else {
    await asked.promise;
    await sleep(silence);
    held.resolve();
    text = await (await asking).text();
  }
  expect(text).toContain('sure');
  if (!sign) for (const line of text.split(/\r?\n/)) expect(line).toMatch(/^(data: \{.*\})?$/);
});

it.each<[string, object]>([
  ['/v1/chat/completions', { ...request, stream: true }],
  ['/alpha/v1/messages', { ...request, max_tokens: 100, stream: true }],
])(
  'a provider that sends on after its end is disconnected, and the rest is ignored: %s',
  async (path, body) => {
    const closed = Promise.withResolvers<void>();
    vendor.conduct((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events.join(''));
      const more = setInterval(() => response.write(chunk({ content: 'never heard' })), 5);
      response.on('close', () => {
        clearInterval(more);
        closed.resolve();
      });
    });
    const text = await (
      await postJson(gateway.url + path, body, { 'anthropic-version': '2023-06-01' })
    ).text();
    expect(text).toMatch(/sure[^]*(\[DONE\]|message_stop[^]*)\n\n$/);
    expect(text).not.toContain('never heard');
    await closed.promise;
  },
);

it('a compressed stream reaches the client as it arrives', async () => {
  const held = Promise.withResolvers<void>();
  vendor.conduct(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    const packing = createGzip();
    packing.pipe(response);
    packing.write(events.slice(0, 2).join(''));
    packing.flush();
    await held.promise;
    packing.end(events.slice(2).join(''));
  });
  const stream = await new OpenAI({
    apiKey: 'k',
    baseURL: `${gateway.url}/v1`,
    maxRetries: 0,
  }).chat.completions.create({ ...request, stream: true });
  let heard = '';
  for await (const { choices } of stream) {
    heard += choices[0]?.delta.content ?? '';
    if (heard === 'slow and ') held.resolve();
  }
  expect(heard).toBe('slow and sure');
});

const whole = JSON.stringify(chatReply('slow and sure', { usage }));

const packed = gzipSync(whole);

it.each([
  ['packed, comes whole', 'gzip', packed, 200, 'slow and sure'],
  ['packed and broken off, is an error', 'gzip', packed.subarray(0, -12), 502, 'upstream_error'],
  ['packed otherwise than it says, is an error', 'br', packed, 502, 'upstream_error'],
  ['of an unknown encoding, is an error', 'compress', packed, 502, 'upstream_error'],
])('a JSON reply is read by its encoding: one %s', async (_, encoding, bytes, status, expected) => {
  vendor.conduct(
    (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding })
        .end(bytes),
  );
  const response = await postJson(`${gateway.url}/v1/chat/completions`, request);
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(expected)]);
});
