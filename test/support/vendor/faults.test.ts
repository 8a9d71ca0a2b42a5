/**
 * The vendor misbehaves exactly as asked: a fault that does not happen would make a broken gateway pass its
 * tests.
 */
import { connect } from 'node:net';
import { beforeEach, expect, it } from 'vitest';
import { createChatCaller, question, readData, type Caller } from './call.ts';
import { startVendor, type Vendor } from './chat-completions.ts';

const model = question.model;
const streamed = { ...question, stream: true };

function buildHeaders({ key }: Vendor): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** One request on a socket of its own: the bytes received, and how the connection ended. */
async function onSocket(vendor: Vendor, body: object): Promise<{ text: string; error: unknown }> {
  const { port } = new URL(vendor.url);
  const json = JSON.stringify(body);
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  const headers = {
    ...buildHeaders(vendor),
    host: 'vendor',
    'content-length': Buffer.byteLength(json),
    connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head.join('')}\r\n${json}`);
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  const error: unknown = await new Promise((resolve) => {
    socket.once('end', () => resolve(undefined)).once('error', resolve);
  });
  socket.destroy();
  return { text, error };
}

let vendor: Vendor;
let ask: Caller;
beforeEach(async () => {
  vendor = await startVendor();
  ask = createChatCaller(vendor);
});

it.each(['fin', 'half-close'] as const)(
  'a scripted fault %s ends the connection after two events and before the end of the message',
  async (how) => {
    vendor.script(model, { text: ['a', 'b', 'c'], cut: { how, events: 2 } });
    const { text, error } = await onSocket(vendor, streamed);
    expect(error).toBeUndefined();
    expect(text.match(/data: /g)).toHaveLength(2);
    expect(text.endsWith('0\r\n\r\n')).toBe(false);
    expect(vendor.journal[0]).toMatchObject({ end: 'cut', events: 2, billed: { completion: 1 } });
  },
);

it('a scripted fault rst resets the connection, also before any head', async () => {
  vendor.script(model, { cut: { how: 'rst' } }, { cut: { how: 'rst', events: 1 } });
  expect(await onSocket(vendor, streamed)).toMatchObject({ text: '', error: { code: 'ECONNRESET' } });
  const { text, error } = await onSocket(vendor, streamed);
  expect(error).toMatchObject({ code: 'ECONNRESET' });
  expect(text.match(/data: /g)).toHaveLength(1);
});

it('a scripted fault end leaves a proper HTTP message that lacks content, counted in bytes', async () => {
  vendor.script(model, { cut: { how: 'end', bytes: 100 } });
  expect((await ask(streamed)).text).toHaveLength(100);
  expect((await ask(question)).text).toHaveLength(100);
});

it('a scripted fault delays come before the head and before each event', async () => {
  vendor.script(model, { text: ['a', 'b'], delayHeaders: 40, delayEvents: 10 });
  const began = performance.now();
  const { text } = await ask(streamed);
  // A timer may fire a millisecond early by this clock.
  expect(performance.now() - began).toBeGreaterThan(40 + readData(text).length * 10 - 10);
  expect(readData(text)).toHaveLength(5);
});

it('a scripted fault hold keeps the head back until the test releases it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  vendor.script(model, { hold: promise });
  let answered = false;
  const reply = ask(question).finally(() => (answered = true));
  await expect.poll(() => vendor.requests.length).toBe(1);
  expect({ answered, status: vendor.journal[0]?.status }).toEqual({ answered: false, status: undefined });
  resolve();
  expect(await reply).toMatchObject({ status: 200 });
});

it('a scripted fault a form that was not asked for, and garbage in place of a stream', async () => {
  vendor.script(
    model,
    { shape: 'json' },
    { shape: 'stream' },
    {
      reply: {
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: Buffer.from([0, 255, 254]),
      },
    },
  );
  expect((await ask(streamed)).headers.get('content-type')).toBe('application/json');
  expect((await ask(question)).headers.get('content-type')).toMatch('text/event-stream');
  expect((await ask(streamed)).headers.get('content-type')).toBe('text/event-stream');
});

it('a scripted fault a scripted end of a name and a handler that looks at the call', async () => {
  vendor.script('*-echo', ({ request, turn }) => ({ text: `${request.model} ${turn}` }));
  const content = async (name: string): Promise<unknown> =>
    JSON.parse((await ask({ ...question, model: name })).text).choices[0].message.content;
  expect([await content('a-echo'), await content('b-echo')]).toEqual(['a-echo 0', 'b-echo 1']);
});

it('a scripted fault a script that makes no sense fails the test that wrote it', async () => {
  const other = await startVendor();
  other.script(model, { text: ['a'], cut: { how: 'fin', events: 50 } });
  await createChatCaller(other)(streamed).catch(() => undefined);
  await expect(other.close()).rejects.toThrow('comes too late');
});
