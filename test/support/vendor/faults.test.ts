/**
 * The vendor misbehaves exactly as asked: a fault that does not happen would make a broken gateway pass its
 * tests.
 */
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, readData, question } from './ask.ts';
import { processing, startVendor, type Vendor } from './chat-completions.ts';

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

describe('a scripted fault', () => {
  let vendor: Vendor;
  beforeEach(async () => {
    vendor = await startVendor();
  });
  afterEach(() => vendor.close());

  it.each(['fin', 'half-close'] as const)(
    '%s ends the connection after two events and before the end of the message',
    async (how) => {
      vendor.script(model, { text: ['a', 'b', 'c'], cut: { how, events: 2 } });
      const { text, error } = await onSocket(vendor, streamed);
      expect(error).toBeUndefined();
      expect(text.match(/data: /g)).toHaveLength(2);
      expect(text.endsWith('0\r\n\r\n')).toBe(false);
      expect(vendor.journal[0]).toMatchObject({ end: 'cut', events: 2, billed: { completion: 1 } });
    },
  );

  it('rst resets the connection, also before any head', async () => {
    vendor.script(model, { cut: { how: 'rst' } }, { cut: { how: 'rst', events: 1 } });
    expect(await onSocket(vendor, streamed)).toMatchObject({ text: '', error: { code: 'ECONNRESET' } });
    const { text, error } = await onSocket(vendor, streamed);
    expect(error).toMatchObject({ code: 'ECONNRESET' });
    expect(text.match(/data: /g)).toHaveLength(1);
  });

  it('end leaves a proper HTTP message whose content is not all there, counted in bytes', async () => {
    vendor.script(model, { cut: { how: 'end', bytes: 100 } });
    expect((await ask(vendor, streamed)).text).toHaveLength(100);
    expect((await ask(vendor, question)).text).toHaveLength(100);
  });

  it('slivers send a byte at a time, through characters and events', async () => {
    vendor.script(model, { text: ['é'], slivers: 1 });
    const { text } = await onSocket(vendor, streamed);
    expect(text).toContain('\r\n1\r\nd\r\n1\r\na\r\n1\r\nt\r\n1\r\na\r\n');
    expect(text).toContain('1\r\n\u00c3\r\n1\r\n\u00a9\r\n');
    expect(text.endsWith('1\r\n\n\r\n0\r\n\r\n')).toBe(true);
  });

  it('delays come before the head and before each event', async () => {
    vendor.script(model, { text: ['a', 'b'], delayHeaders: 40, delayEvents: 10 });
    const began = performance.now();
    const { text } = await ask(vendor, streamed);
    // A timer may fire a millisecond early by this clock.
    expect(performance.now() - began).toBeGreaterThan(40 + readData(text).length * 10 - 10);
    expect(readData(text)).toHaveLength(5);
  });

  it('hold keeps the head back until the test releases it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    vendor.script(model, { hold: promise });
    let answered = false;
    const reply = ask(vendor, question).finally(() => (answered = true));
    await expect.poll(() => vendor.requests.length).toBe(1);
    expect({ answered, status: vendor.journal[0]?.status }).toEqual({ answered: false, status: undefined });
    resolve();
    expect(await reply).toMatchObject({ status: 200 });
  });

  it('a peer that disconnects is noticed, with what it had by then', async () => {
    vendor.script(model, { text: ['a', 'b', 'c'], hold: 'forever', holdAfter: 3 });
    const client = request(`${vendor.url}/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: buildHeaders(vendor),
    });
    client.on('error', () => undefined).end(JSON.stringify(streamed));
    await expect.poll(() => vendor.journal[0]?.events).toBe(3);
    client.destroy();
    await expect.poll(() => vendor.requests[0]?.closedByPeerAt).toBeGreaterThan(0);
    expect(vendor.journal[0]).toMatchObject({ end: 'closed-by-peer', billed: { prompt: 5, completion: 2 } });
    await expect.poll(() => vendor.openConnections()).toBe(0);
  });

  it('an endless reply continues until its reader disconnects', async () => {
    vendor.script(model, { endless: true });
    const response = await fetch(`${vendor.url}/chat/completions`, {
      method: 'POST',
      headers: buildHeaders(vendor),
      body: JSON.stringify(streamed),
    });
    let bytes = 0;
    for await (const part of response.body ?? []) {
      bytes += part.length;
      if (bytes > 200_000) break;
    }
    await expect.poll(() => vendor.journal[0]?.end).toBe('closed-by-peer');
  });

  it('usage lies as scripted, twice if scripted twice, and is omitted on request', async () => {
    vendor.script(
      model,
      { usage: { prompt_tokens: -5 } },
      { usage: { completion_tokens: '7' } },
      { usage: 'missing' },
      { usage: [{ completion_tokens: 1 }, { completion_tokens: 2 }] },
    );
    const usage = async (): Promise<unknown> => JSON.parse((await ask(vendor, question)).text).usage;
    expect(await usage()).toMatchObject({ prompt_tokens: -5 });
    expect(await usage()).toMatchObject({ completion_tokens: '7' });
    expect(await usage()).toBeUndefined();
    const { text } = await ask(vendor, { ...streamed, stream_options: { include_usage: true } });
    expect(text.match(/"completion_tokens":[12],/g)).toEqual([
      '"completion_tokens":1,',
      '"completion_tokens":2,',
    ]);
    expect(vendor.journal.every(({ billed }) => billed?.completion === 13)).toBe(true);
  });

  it('comments, a missing or doubled [DONE], other line ends, and chunks written by hand', async () => {
    vendor.script(
      model,
      {
        inserts: [
          { before: 0, frame: processing },
          { before: 'end', frame: 'junk' },
        ],
        done: 0,
      },
      { done: 2, frame: (data) => `data:${data}\r\n\r\n` },
      { chunks: [{ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] }] },
    );
    const first = (await ask(vendor, streamed)).text;
    expect(first.startsWith(processing)).toBe(true);
    expect(first.endsWith('junk')).toBe(true);
    expect(first).not.toContain('[DONE]');
    expect((await ask(vendor, streamed)).text.endsWith('data:[DONE]\r\n\r\ndata:[DONE]\r\n\r\n')).toBe(true);
    const [chunk, done] = readData((await ask(vendor, streamed)).text);
    expect(JSON.parse(chunk ?? '')).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ delta: { content: 'x' } }],
    });
    expect(done).toBe('[DONE]');
  });

  it('a form that was not asked for, and garbage in place of a stream', async () => {
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
    expect((await ask(vendor, streamed)).headers.get('content-type')).toBe('application/json');
    expect((await ask(vendor, question)).headers.get('content-type')).toMatch('text/event-stream');
    expect((await ask(vendor, streamed)).headers.get('content-type')).toBe('text/event-stream');
  });

  it('a scripted end of a name and a handler that looks at the call', async () => {
    vendor.script('*-echo', ({ request, turn }) => ({ text: `${request.model} ${turn}` }));
    const content = async (name: string): Promise<unknown> =>
      JSON.parse((await ask(vendor, { ...question, model: name })).text).choices[0].message.content;
    expect([await content('a-echo'), await content('b-echo')]).toEqual(['a-echo 0', 'b-echo 1']);
  });

  it('a script that makes no sense fails the test that wrote it', async () => {
    const other = await startVendor();
    other.script(model, { text: ['a'], cut: { how: 'fin', events: 50 } });
    await ask(other, streamed).catch(() => undefined);
    await expect(other.close()).rejects.toThrow('comes too late');
  });
});
