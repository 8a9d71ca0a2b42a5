/**
 * What happens at the sockets of providers and clients around a reply: early responses, connections that
 * close, silence.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import type { Plugin } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { chunk } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatReply } from '../support/replies.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { serve } from '../support/serve.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const ending = `${chunk({}, 'stop', { usage })}data: [DONE]\n\n`;
const whole = chatReply('well', { usage });

const beginStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });
const replyWell: Conduct = (response, _, body) => {
  if (body.includes('"stream":true')) beginStream(response).end(chunk({ content: 'well' }) + ending);
  else sendJson(response, whole);
};

afterEach(() => void vi.useRealTimers());

const standAt = (origin: string): Plugin =>
  testProvider({ name: 'v', endpoints: { 'chat-completions': `${origin}/v1/chat/completions` } });

async function open(
  conduct: Conduct,
  timeouts: Parameters<typeof startGateway>[0]['timeouts'] = {},
): Promise<{ vendor: ScriptedVendor; gateway: TestGateway }> {
  const vendor = await startScriptedVendor(conduct);
  const gateway = await startGateway({
    timeouts,
    plugins: [acceptAnyKey(), chatCompletions(), standAt(vendor.origin)],
  });
  return { vendor, gateway };
}

function call({ url }: TestGateway, body: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'house/model', messages: [{ role: 'user', content: 'Hi' }], ...body }),
    ...(signal ? { signal } : {}),
  });
}

it.each([true, false])(
  'an informational response does not count as the reply (a stream: %s)',
  async (stream) => {
    const { gateway } = await open((response, request, body) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      replyWell(response, request, body);
    });
    const reply = await call(gateway, { stream });
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('well')]);
  },
);

const bodies: ReadonlyMap<boolean, string> = new Map([
  [true, `: hello\n\n${chunk({ content: 'well' })}${ending}`],
  [false, `\n ${JSON.stringify(whole)}`],
]);

it.each([
  [true, undefined, true],
  [true, 'text/plain', true],
  [true, 'application/json', true],
  [true, 'application/json', false],
  [false, 'text/event-stream', true],
  [false, 'text/event-stream', false],
])(
  'a reply of another type is read by its first character (asked for a stream: %s, type: %s, a stream: %s)',
  async (stream, type, sent) => {
    const { vendor, gateway } = await open((response) => {
      response.writeHead(200, type ? { 'content-type': type } : {});
      // The blanks and the first character come alone.
      for (const piece of bodies.get(sent)?.match(/^\s+|^.|[^]+/g) ?? []) response.write(piece);
      response.end();
    });
    const reply = await call(gateway, { stream });
    expect([reply.status, reply.headers.get('content-type')?.split(';')[0], await reply.text()]).toEqual([
      200,
      stream ? 'text/event-stream' : 'application/json',
      expect.stringContaining('well'),
    ]);
    expect([vendor.bodies.length, await gateway.ended(1)]).toMatchObject([
      1,
      [{ outcome: 'completed', charge: { basis: 'usage' } }],
    ]);
  },
);

it.each([
  ['without a word', ''],
  [
    'after a change of protocols',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n',
  ],
])(
  'a connection that closes on first use, %s, is followed by attempts on other connections',
  async (_, words) => {
    const { vendor, gateway } = await open((response) => void response.socket?.end(words));
    expect((await call(gateway)).status).toBe(502);
    expect([vendor.bodies.length, (await gateway.ended(1))[0]?.attempts.length]).toEqual([3, 3]);
  },
);

it('a connection that closes after a reply is followed by the same attempt on another', async () => {
  const { vendor, gateway } = await open(replyWell);
  expect((await call(gateway)).status).toBe(200);
  vendor.conduct((response) => {
    vendor.conduct(replyWell);
    response.socket?.destroy();
  });
  expect((await call(gateway)).status).toBe(200);
  expect([vendor.bodies.length, (await gateway.ended(2))[1]?.attempts.length]).toEqual([3, 1]);
});

it('a connection that closes after long work is followed by attempts on others', async () => {
  const { vendor, gateway } = await open(replyWell);
  expect((await call(gateway)).status).toBe(200);
  vendor.conduct((response) => void setTimeout(() => response.socket?.destroy(), 1200));
  expect((await call(gateway)).status).toBe(502);
  expect([vendor.bodies.length, (await gateway.ended(2))[1]?.attempts.length]).toEqual([4, 3]);
});

it('a client that disconnects before there is a connection ends its call, and owes nothing', async () => {
  // The server never speaks TLS.
  const silent = createServer();
  const { port } = await serve(silent);
  const gateway = await startGateway({
    timeouts: { connect: 120 },
    plugins: [
      acceptAnyKey(),
      chatCompletions(),
      openai({ apiKey: 'k', baseUrl: `https://127.0.0.1:${port}`, onAbort: 'drain' }),
    ],
  });
  const controller = new AbortController();
  const left = call(gateway, { model: 'openai/gpt-4.1-mini' }, controller.signal).catch(() => 'left');
  await once(silent, 'connection');
  controller.abort();
  expect(await left).toBe('left');
  expect(await gateway.ended(1)).toMatchObject([
    { type: 'failed', attempts: [{ sent: false }], charge: { basis: 'none' } },
  ]);
});

it('silence is no stall of a client that has read everything there was', async () => {
  const { gateway } = await open(
    async (response) => {
      beginStream(response).write(chunk({ content: 'long '.repeat(50_000) }));
      await pause(6000);
      response.end(ending);
    },
    { write: 5 },
  );
  expect(await (await call(gateway, { stream: true })).text()).toMatch(/data: \[DONE\]\n\n$/);
  expect(await gateway.ended(1)).toMatchObject([{ outcome: 'completed' }]);
});

it('silence is filled with keep-alives, which end with the stream', async () => {
  const began = Promise.withResolvers<ServerResponse>();
  const { gateway } = await open((response) => began.resolve(beginStream(response)), { keepAlive: 1 });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const asking = call(gateway, { stream: true });
  const vendor = await began.promise;
  vendor.write(chunk({ content: 'word 0' }));
  const reader = (await asking).body?.pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  const hear = async (words: string): Promise<void> => {
    while (!heard.includes(words)) heard += (await reader?.read())?.value ?? '(the end)';
  };
  for (const word of ['word 1', 'word 2', 'word 3']) {
    vi.advanceTimersByTime(700);
    vendor.write(chunk({ content: word }));
    await hear(word);
  }
  expect(heard).not.toContain('keep-alive');
  vi.advanceTimersByTime(1100);
  await hear('keep-alive');
  vendor.end(ending);
  await hear('[DONE]');
  await gateway.ended(1);
  expect(vi.getTimerCount()).toBe(0);
});
