/**
 * A gateway with a heap of 96 MB, providers that send without end and clients that send byte by byte: it ends
 * their calls, and continues to serve others.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { buildChunk } from '../support/chat-stream.ts';
import { readMemory, megabyte } from '../support/memory-of.ts';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from '../support/process.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';

const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };
const block = 'x'.repeat(64 * 1024);

/** Resolves when what was sent is flushed, or the reader has gone. */
async function waitForDrain(response: ServerResponse): Promise<void> {
  const over = new AbortController();
  await Promise.race(
    ['drain', 'close'].map((name) => once(response, name, { signal: over.signal }).catch(() => undefined)),
  );
  over.abort();
}

/** Sends as long as the reader takes it, `most` times at most. */
async function pour(response: ServerResponse, piece: string, most = Infinity): Promise<void> {
  for (let sent = 0; sent < most && !response.destroyed; sent += 1) {
    if (!response.write(piece)) await waitForDrain(response);
    // Other calls are served meanwhile.
    else
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  }
}

const buildFrame = (event: { readonly type: string }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  },
};

const head =
  '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,' +
  '"finish_reason":"stop","message":{"role":"assistant","content":"';
const tail = `"}}],"usage":${JSON.stringify(usage)}}`;

/** What providers do, by a word of the prompt. */
const behaviours: Readonly<Record<string, (response: ServerResponse) => Promise<void>>> = {
  async openings(response) {
    response.writeHead(200, events);
    await pour(response, buildChunk([]).repeat(500));
  },
  async pings(response) {
    response.writeHead(200, events).write(buildFrame(start));
    await pour(response, buildFrame({ type: 'ping' }).repeat(500));
  },
  async comments(response) {
    response.writeHead(200, events);
    await pour(response, `: ${block}\n\n`);
  },
  async line(response) {
    response.writeHead(200, events).write('data: {"id":"');
    await pour(response, block);
  },
  async json(response) {
    response.writeHead(200, json).write(head);
    await pour(response, block, (120 * megabyte) / block.length);
    response.end(tail);
  },
  async structure(response) {
    response.writeHead(200, json).write(`{"id":"c","more":[[]`);
    await pour(response, ',[]'.repeat(20_000), (120 * megabyte) / 60_000);
    response.end(`]}`);
  },
  async 'tool-arguments'(response) {
    response.writeHead(200, events);
    const buildToolCall = (args: string): object => ({
      index: 0,
      delta: {
        tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: args } }],
      },
      finish_reason: null,
    });
    await pour(response, buildChunk([buildToolCall('x'.repeat(8000))]).repeat(8));
  },
  async usual(response) {
    response.writeHead(200, json).end(`${head}Hello!${tail}`);
  },
};

let vendor: ScriptedVendor;
let gateway: RunningGateway;
let key = '';
/** Keys of several accounts. */
const keys: string[] = [];
const folder = makeDataFolder();

beforeAll(async () => {
  vendor = await startScriptedVendor(async (response, _, body) => {
    const word = Object.keys(behaviours).find((name) => body.includes(`"${name}"`)) ?? 'usual';
    await behaviours[word]?.(response);
  });
  const environment = {
    TOLLGATE_DATA: folder,
    NODE_OPTIONS: '--max-old-space-size=96',
    TOLLGATE_LOG: 'fatal',
    OPENAI_API_KEY: 'k',
    OPENAI_BASE_URL: `${vendor.origin}/v1`,
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: vendor.origin,
  };
  for (const account of ['one', 'two', 'three', 'four']) {
    const words = ['keys', 'create', '--account', account, '--credit', '1000', '--json'];
    keys.push(String(JSON.parse((await runVerb(words, environment)).output).key));
  }
  [key = ''] = keys;
  gateway = await startProcess(environment);
});

interface ClientReply {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The last bytes the client received. */
  readonly text: string;
}

/** Calls until the reply ends, or `milliseconds` have passed. */
async function call(
  client: 'chat' | 'messages',
  model: string,
  prompt: string | readonly object[],
  stream: boolean,
  milliseconds = 60_000,
  caller = key,
): Promise<ClientReply> {
  const path = client === 'chat' ? '/v1/chat/completions' : '/alpha/v1/messages';
  const body = { model, stream, max_tokens: 1000, messages: [{ role: 'user', content: prompt }] };
  const headers = {
    authorization: `Bearer ${caller}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
  let [status, retryAfter, text]: [number, string | null, string] = [0, null, ''];
  try {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(milliseconds),
    });
    status = response.status;
    retryAfter = response.headers.get('retry-after');
    for await (const part of response.body ?? []) text = (text + Buffer.from(part).toString()).slice(-2000);
  } catch {
    // The client disconnected.
  }
  return { status, retryAfter, text };
}

/** Expects that the process lives, uses no more memory than it may, and serves once it has room. */
async function expectService(): Promise<void> {
  expect(gateway.child.exitCode ?? gateway.child.signalCode, gateway.printed().slice(-2000)).toBeNull();
  await expect
    .poll(async () => (await call('chat', 'openai/gpt-4.1-mini', 'usual', false)).text)
    .toContain('Hello!');
  expect(readMemory(gateway) / megabyte).toBeLessThan(400);
}

const gpt = 'openai/gpt-4.1-mini';
const claude = 'anthropic/claude-haiku-4-5';

it.each<[string, 'chat' | 'messages', string]>([
  ['openings', 'chat', gpt],
  ['openings', 'messages', gpt],
  ['pings', 'messages', claude],
  ['pings', 'chat', claude],
  ['comments', 'chat', gpt],
  ['comments', 'messages', gpt],
])(
  'a heap of 96 MB survives providers that only ever open their streams: %s for a client of %s',
  async (word, client, model) => {
    for (const { status, text } of await Promise.all(
      Array.from({ length: 4 }, () => call(client, model, word, true, 1000)),
    ))
      expect([0, 200, 502, 503, 529], text).toContain(status);
    await expectService();
  },
);

it.each<[string, 'chat' | 'messages']>([
  ['json', 'chat'],
  ['json', 'messages'],
  ['structure', 'chat'],
  ['structure', 'messages'],
])('a heap of 96 MB survives 120 MB in one reply: %s for a client of %s', async (word, client) => {
  const { status, text } = await call(client, gpt, word, false);
  expect(text).toContain('error');
  expect(status).toBeGreaterThanOrEqual(500);
  await expectService();
});

it.each(['chat', 'messages'] as const)(
  'a heap of 96 MB survives twelve endless lines at once, for clients of %s',
  async (client) => {
    const lines = Array.from({ length: 12 }, () => call(client, gpt, 'line', true, 30_000));
    const replies = await Promise.all(lines);
    for (const { status, text } of replies)
      expect([status, text]).toEqual([expect.any(Number), expect.stringContaining('error')]);
    await expectService();
  },
);

it.each(['chat', 'messages'] as const)(
  'a heap of 96 MB survives endless tool arguments, for clients of %s',
  async (client) => {
    await Promise.all(Array.from({ length: 12 }, () => call(client, gpt, 'tool-arguments', true, 3000)));
    await expectService();
  },
);

it.each([
  ['of one picture', 'chat', false],
  ['of one picture', 'messages', false],
  ['of text', 'chat', false],
  ['of text', 'messages', false],
  ['of one picture, beside endless streams', 'chat', true],
] as const)(
  'a heap of 96 MB survives twenty bodies of 8 MB, %s, for clients of %s',
  async (what, client, beside) => {
    const streams = Array.from({ length: beside ? 8 : 0 }, () =>
      call(client, gpt, 'tool-arguments', true, 4000),
    );
    const data = 'A'.repeat(7_900_000);
    const image =
      client === 'chat'
        ? { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
        : { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const content =
      what === 'of text' ? 'usual '.repeat(1_300_000) : [{ type: 'text', text: 'usual' }, image];
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { status, text } = await call(client, gpt, content, false, 60_000, keys[index % keys.length]);
        expect(status === 200 ? text : '', text).not.toContain('error');
        return status;
      }),
    );
    for (const status of statuses) expect([200, 400, 429, 503, 529]).toContain(status);
    // The streams may hold all of the memory until the last body has come.
    if (!beside) expect(statuses.some((status) => status === 200 || status === 400)).toBe(true);
    expect(statuses.some((status) => status > 400)).toBe(true);
    await Promise.all(streams);
    await expectService();
  },
);

const form = '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n';
it.each([
  ['JSON', '/v1/chat/completions', 'application/json', '{"model":"', '"}'],
  ['a form', '/v1/images/edits', 'multipart/form-data; boundary=b', form, '\r\n--b--\r\n'],
])(
  'a heap of 96 MB survives a million bytes that a client sends one by one, as %s',
  async (_, path, type, begin, end) => {
    const toChunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const { statuses } = await sendRaw(gateway.url, [
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\n` +
        'transfer-encoding: chunked\r\nconnection: close\r\n\r\n',
      toChunk(begin),
      ...Array.from({ length: 100 }, () => toChunk('x').repeat(10_000)),
      `${toChunk(end)}0\r\n\r\n`,
    ]);
    expect(statuses).toEqual([expect.any(Number)]);
    await expectService();
  },
);
