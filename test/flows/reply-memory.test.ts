/**
 * All calls share one memory budget for replies: a call beyond it ends with an error of its own, and the
 * others are served.
 */
import type { ServerResponse } from 'node:http';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { openBooks } from '../support/books.ts';
import { chunk, buildChunk, ending } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

const free = 64 * 1024;
const repliesLimit = 200_000;
const longest = 1;

let vendor: ScriptedVendor;
let gateway: TestGateway;
let store: Store;
let key: string;
beforeAll(async () => {
  vendor = await startScriptedVendor((response) => void response.end());
  const endpoints = { 'chat-completions': `${vendor.origin}/chat` };
  gateway = await startGateway({
    server: { repliesLimit },
    timeouts: { reply: longest, firstEvent: longest },
    plugins: [bearer(), chatCompletions(), messages(), testProvider({ name: 'v', endpoints }), balance()],
  });
  ({ store, key } = await openBooks(gateway));
  await gateway.verb('credit add', ['tester', '5']);
});
beforeEach(() => vendor.conduct((response) => sendReply(response)));

const figures = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const sendReply = (response: ServerResponse, content = 'Hello!'): void =>
  sendJson(response, chatReply(content, { usage: figures }));
const beginStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

const paths = { chat: '/v1/chat/completions', messages: '/alpha/v1/messages' } as const;
type Client = keyof typeof paths;
const clients = ['chat', 'messages'] as const;

function call(
  client: Client,
  streamed: boolean,
  signal?: AbortSignal,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    ...more,
  };
  const body = {
    model: 'house/model',
    stream: streamed,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hi' }],
  };
  return fetch(gateway.url + paths[client], {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
}

async function readUsed(): Promise<bigint> {
  return (await store.readBalance('tester'))?.used ?? 0n;
}

describe.each(clients)('a client of %s', (client) => {
  it('receives a reply that fits, and an error for one that is too long, which costs nothing', async () => {
    vendor.conduct((response) => sendReply(response, 'x'.repeat(repliesLimit)));
    expect((await call(client, false)).status).toBe(200);
    const before = await readUsed();
    vendor.conduct((response) => sendReply(response, 'x'.repeat(repliesLimit + free)));
    const refused = await call(client, false);
    expect([refused.status, await refused.text()]).toEqual([
      502,
      expect.stringContaining('longer reply than the gateway accepts'),
    ]);
    expect(await readUsed()).toBe(before);
  });

  it('receives an error for a short reply that is mostly structure', async () => {
    vendor.conduct(
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"more":[${'[],'.repeat(40_000)}[]]}`),
    );
    expect((await call(client, false)).status).toBe(502);
  });

  it('keeps the part of a stream before an event that is too long, and pays for it', async () => {
    vendor.conduct(
      (response) =>
        void beginStream(response).write(
          chunk({ content: 'One two three four.' }) + `data: {"id":"${'x'.repeat(repliesLimit + free)}`,
        ),
    );
    const before = await readUsed();
    const reply = await (await call(client, true)).text();
    expect(reply).toContain('One two three four.');
    expect(reply).toContain('longer reply than the gateway accepts');
    expect(reply).not.toMatch(/\[DONE\]|message_stop/);
    expect(await readUsed()).toBeGreaterThan(before);
  });

  it('gets a retryable error while others hold the whole budget, and is served afterwards', async () => {
    const controller = new AbortController();
    vendor.conduct(
      (response) =>
        void beginStream(response).write(
          chunk({ content: 'One' }) + `data: {"id":"${'x'.repeat(repliesLimit + free - 5000)}`,
        ),
    );
    const first = await call('chat', true, controller.signal);
    expect(first.status).toBe(200);
    vendor.conduct((response) => sendReply(response));
    const fetchRefusal = async (): Promise<unknown> =>
      call(client, false).then(({ status, headers }) => [status, headers.get('retry-after')]);
    await expect.poll(fetchRefusal).toEqual([client === 'messages' ? 529 : 503, '2']);
    controller.abort();
    await expect.poll(async () => (await call(client, false)).status).toBe(200);
  });

  it('does not wait forever for a stream that only ever opens', async () => {
    vendor.conduct((response) => {
      beginStream(response);
      const timer = setInterval(() => response.write(buildChunk([])), 20);
      response.on('close', () => clearInterval(timer));
    });
    const reply = await call(client, true);
    expect(await reply.text()).toMatch(/did not begin to answer in time/);
  });
});

const piece = chunk({ content: 'x'.repeat(10_000) });
const last = chunk({}, 'stop') + ending(figures);
const ask = (order: string): Promise<Response> => call('chat', true, undefined, { 'idempotency-key': order });
/** How much content it has, and whether it is complete. */
const measureLength = (text: string): unknown => [
  text.split('xxxxxxxxxx').length - 1,
  text.includes('[DONE]'),
];
const fetchText = async (order: string): Promise<string> => (await ask(order)).text();

it('the recording of a reply takes only memory to spare, and releases it with its call', async () => {
  const long = piece.repeat(15);
  const open: ServerResponse[] = [];
  onTestFinished(() => void open[0]?.destroy());
  vendor.conduct((response) => {
    open.push(beginStream(response));
    response.write(long);
  });
  const running = await ask('running');
  const reader = running.body?.getReader();
  let seen = '';
  while (seen.length < long.length) seen += Buffer.from((await reader?.read())?.value ?? []).toString();

  vendor.conduct((response) => void beginStream(response).end(long + last));
  const crowded = await fetchText('crowded');
  expect(measureLength(crowded)).toEqual([15_000, true]);
  const refused = await fetchText('crowded');
  expect(refused).toContain('outcome_not_kept');
  expect(measureLength(refused)).toEqual([0, false]);
  vendor.conduct((response) => void beginStream(response).end(piece + last));
  expect(measureLength(await fetchText('short'))).toEqual([1000, true]);

  open[0]?.end(last);
  while (!(await reader?.read())?.done);
  vendor.conduct((response) => void beginStream(response).end(long + last));
  expect(measureLength(await fetchText('later'))).toEqual([15_000, true]);
  vendor.conduct((response) => void response.destroy());
  expect(measureLength(await fetchText('short'))).toEqual([1000, true]);
  for (const order of ['running', 'later'])
    expect(measureLength(await fetchText(order))).toEqual([15_000, true]);
});
