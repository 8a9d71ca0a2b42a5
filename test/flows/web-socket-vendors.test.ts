/**
 * Vendors that send garbage, too much or nothing, for a client on a WebSocket: each response ends once, with
 * its own text or an error, and the connection serves the next one.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { cerebras } from '../../plugins/providers/cerebras.ts';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { isEnd, openSocket, type SocketClient } from '../support/web-socket.ts';

const model = 'cerebras/gpt-oss-120b';
const upstream = 'gpt-oss-120b';
const sse = { 'content-type': 'text/event-stream' };

let harness: Harness;
let client: SocketClient;
beforeAll(async () => {
  harness = await openHarness({
    provider: cerebras,
    plugins: [responses(), webSockets()],
    settings: { retries: { attempts: 1 } },
  });
  client = await openSocket(harness.gateway.url, harness.key);
});
afterEach(() => harness.vendor.unscript());
afterAll(async () => {
  client.socket.terminate();
  await harness.close();
});

function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: upstream };
  return `data: ${JSON.stringify({ ...head, choices })}\n\n`;
}

const answer = chunk({ role: 'assistant', content: 'Calm.' }) + chunk({}, 'stop');

function readText({ response }: Record<string, unknown>): string {
  return JSON.stringify(readObject(response).output);
}

it.each<[string, string | Uint8Array, Readonly<Record<string, string>>]>([
  ['a page of HTML', '<html><body>Busy</body></html>', { 'content-type': 'text/html' }],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0, 1, 2, 0x80]), sse],
  ['an event that is no JSON', 'data: {"id":\n\n', sse],
  ['a comment and nothing else', ': wait\n\n', sse],
  ['nothing', '', sse],
  ['an error with status 200', '{"error":{"message":"No sea.","code":"server_error"}}', sse],
  ['a beginning without an end', chunk({ role: 'assistant', content: 'Ca' }), sse],
  ['an event that is too long to be one', `data: ${'x'.repeat(20 * 1024 * 1024)}`, sse],
])(
  '%s from a vendor ends the response with an error, and the next one is answered',
  async (_, body, headers) => {
    const { length } = client.frames;
    harness.vendor.script(upstream, { reply: { status: 200, headers, body } }, { text: ['Calm.'] });
    const end = await client.create({ model, input: 'The sea?' });
    expect(['error', 'response.failed']).toContain(end.type);
    expect(await client.create({ model, input: 'And now?' })).toMatchObject({ type: 'response.completed' });
    const completed = client.frames.slice(length).filter(({ type }) => type === 'response.completed');
    expect(completed).toHaveLength(1);
  },
);

it.each<[string, string | Uint8Array, Readonly<Record<string, string>>]>([
  ['after the end', `${answer}data: [DONE]\n\n${chunk({ content: ' Late.' }).repeat(50)}`, sse],
  ['with CR and a byte-order mark', `\uFEFF${answer}data: [DONE]\n\n`.replaceAll('\n', '\r\n'), sse],
  ['compressed', gzipSync(`${answer}data: [DONE]\n\n`), { ...sse, 'content-encoding': 'gzip' }],
])('what a vendor sends %s changes no word of the answer', async (_, body, headers) => {
  const { length } = client.frames;
  harness.vendor.script(upstream, { reply: { status: 200, headers, body } });
  const end = await client.create({ model, input: 'The sea?' });
  expect(end.type).toBe('response.completed');
  expect(readText(end)).toContain('"Calm."');
  expect(client.frames.slice(length).filter(isEnd)).toHaveLength(1);
});

it('a vendor that is silent for longer than a connection may be idle is waited for', async () => {
  const plugins = [responses(), webSockets({ idle: 1 })];
  const own = await openHarness({ provider: cerebras, plugins });
  own.vendor.script(upstream, { text: ['Calm.'], delayHeaders: 1500, delayEvents: 1200 });
  const patient = await openSocket(own.gateway.url, own.key);
  try {
    const end = await patient.create({ model, input: 'The sea?' });
    expect(end).toMatchObject({ type: 'response.completed' });
  } finally {
    patient.socket.terminate();
    await own.close();
  }
});

it('a frame in pieces, cut within a character, is read whole', async () => {
  harness.vendor.script(upstream, { text: ['Calm.'] });
  const frame = Buffer.from(
    JSON.stringify({ type: 'response.create', model, input: 'Ist das Meer schön? 🌊' }),
  );
  const { length } = client.frames;
  for (const byte of frame.keys())
    client.socket.send(frame.subarray(byte, byte + 1), { binary: false, fin: false });
  client.socket.send('', { fin: true });
  expect(await client.waitFor(isEnd, length)).toMatchObject({ type: 'response.completed' });
  expect(harness.vendor.requests.at(-1)?.body.toString()).toContain('Ist das Meer schön? 🌊');
});
