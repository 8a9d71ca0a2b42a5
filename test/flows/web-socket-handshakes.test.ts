/**
 * Who gets a WebSocket, and who does not: keys, origins, limits, and a key that ends while its connection is
 * open.
 */
import type Koa from 'koa';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { cerebras } from '../../plugins/providers/cerebras.ts';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { openSocket, refuseSocket, type SocketClient } from '../support/web-socket.ts';

const page = 'https://app.example.com';
const model = 'cerebras/gpt-oss-120b';
const upstream = 'gpt-oss-120b';

/** Middleware of an operator. */
async function refuseVisitors(context: Koa.Context, next: () => Promise<unknown>): Promise<void> {
  if (context.get('x-visitor') === 'yes')
    Object.assign(context, { status: 418, body: { by: 'the operator' } });
  else await next();
}

let harness: Harness;
const opened: SocketClient[] = [];
beforeAll(async () => {
  const limits = { origins: [page], perKey: 2, all: 3, frameLimit: 20_000, lanes: 2, waiting: 1 };
  harness = await openHarness({
    provider: cerebras,
    plugins: [responses(), webSockets(limits)],
    settings: { server: { trustedProxies: 1 }, middleware: [refuseVisitors] },
  });
});
afterEach(async () => {
  harness.vendor.unscript();
  for (const { socket } of opened) socket.terminate();
  await Promise.all(opened.splice(0).map(({ closed }) => closed));
});

async function connect(key = harness.key, headers: Record<string, string> = {}): Promise<SocketClient> {
  const client = await openSocket(harness.gateway.url, key, { headers });
  opened.push(client);
  return client;
}

function refuse(headers: Record<string, string>, path?: string): ReturnType<typeof refuseSocket> {
  return refuseSocket(harness.gateway.url, headers, path);
}

describe('the upgrade', () => {
  it.each([
    ['without a key', {}, undefined],
    ['with an unknown key', { authorization: 'Bearer sk-unknown' }, undefined],
    ['with its key in the address', {}, (key: string) => `/v1/responses?key=${key}&api_key=${key}`],
    ['with its key as a protocol', { 'sec-websocket-protocol': 'openai-insecure-api-key' }, undefined],
  ])('%s is refused with 401 by HTTP', async (_, headers, buildPath) => {
    const refused = await refuse({ ...headers }, buildPath?.(harness.key));
    expect([refused.status, refused.body]).toMatchObject([401, { error: { code: 'invalid_api_key' } }]);
    expect(refused.headers['x-request-id']).toMatch(/^[\w-]{36}$/);
  });

  it('from a web page is refused unless its origin is configured', async () => {
    const authorization = `Bearer ${harness.key}`;
    for (const origin of ['https://evil.example.com', 'null', `${page}:8443`])
      expect(await refuse({ authorization, origin })).toMatchObject({ status: 403 });
    await connect(harness.key, { origin: page });
  });

  it('at another path gets 426, so that its client falls back to HTTP', async () => {
    const headers = { authorization: `Bearer ${harness.key}` };
    for (const path of ['/v1/realtime', '/v1/responses/input_tokens', '/', '/v1/chat/completions'])
      expect(await refuse(headers, path)).toMatchObject({
        status: 426,
        body: { error: { code: 'upgrade_not_supported' } },
      });
  });

  it('is served without a version and with a slash at the end, as base URLs are written', async () => {
    for (const path of ['/responses', '/v1/responses/'])
      opened.push(await openSocket(harness.gateway.url, harness.key, {}, path));
  });

  it('beyond the limit of a key gets 429, and beyond that of all keys 503', async () => {
    await connect();
    await connect();
    const authorization = `Bearer ${harness.key}`;
    expect(await refuse({ authorization })).toMatchObject({ status: 429 });
    const other = await harness.gateway.newKey({ account: 'other', credit: '1' });
    await connect(other);
    const refused = await refuse({ authorization: `Bearer ${other}` });
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  });

  it('whose handshake is malformed is refused, and the gateway serves the next', async () => {
    const { request } = await import('node:http');
    const headers = {
      authorization: `Bearer ${harness.key}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'short',
    };
    const status = await new Promise((resolve, reject) => {
      const sent = request(`${harness.gateway.url}/v1/responses`, { headers }, (response) => {
        resolve(response.statusCode);
        response.destroy();
      });
      sent.on('error', reject).end();
    });
    expect(status).toBe(400);
    await connect();
  });

  it("passes the operator's middleware first", async () => {
    const authorization = `Bearer ${harness.key}`;
    expect(await refuse({ authorization, 'x-visitor': 'yes' })).toMatchObject({
      status: 418,
      body: { by: 'the operator' },
    });
  });

  it('behind a request whose reply is not finished is dropped, and the gateway serves the next', async () => {
    harness.vendor.script(upstream, { text: 'Late.', hold: new Promise(() => undefined) });
    const body = JSON.stringify({ model, input: 'Hello.' });
    const head = `host: x\r\nauthorization: Bearer ${harness.key}\r\n`;
    const count = harness.gateway.ends.length;
    const { statuses, closed } = await sendRaw(
      harness.gateway.url,
      `POST /v1/responses HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}` +
        `GET /v1/responses HTTP/1.1\r\n${head}connection: Upgrade\r\nupgrade: websocket\r\n` +
        'sec-websocket-key: aaaaaaaaaaaaaaaaaaaaaa==\r\nsec-websocket-version: 13\r\n\r\n',
    );
    expect([statuses, closed]).toEqual([[], true]);
    await harness.gateway.ended(count + 1);
    await connect();
  });

  it('offers no compression and picks no protocol', async () => {
    const { socket } = await connect(harness.key, { 'sec-websocket-extensions': 'permessage-deflate' });
    expect([socket.extensions, socket.protocol]).toEqual(['', '']);
  });
});

describe('a response by WebSocket', () => {
  it('is logged, addressed and charged like one by HTTP', async () => {
    harness.vendor.script(upstream, { text: 'Two boats.' });
    const client = await connect(harness.key, {
      'x-forwarded-for': '203.0.113.9',
      'x-tollgate-tags': 'team:sea',
      'x-long': 'a'.repeat(20_000),
    });
    const before = await harness.balance();
    const count = harness.gateway.ends.length;
    await client.create({ model, input: 'How many?' });
    const end = (await harness.gateway.ended(count + 1))[count];
    if (end?.type !== 'answered') throw new Error('it was not answered');
    const { exchange, charge } = end;
    expect(exchange).toMatchObject({
      transport: 'websocket',
      method: 'POST',
      path: '/v1/responses',
      address: '203.0.113.9',
      principal: { account: 'tester' },
    });
    expect(charge.cost).toBeGreaterThan(0n);
    expect((await harness.balance()).used).toBeGreaterThan(before.used);
    await client.create({ model, input: 'And now?' });
    expect((await harness.gateway.ended(count + 2))[count + 1]?.exchange.id).not.toBe(exchange.id);
  });

  it('reserves for the whole conversation, not for the last frame', async () => {
    harness.vendor.script(upstream, { text: 'Two boats.' });
    const poor = await harness.gateway.newKey({ account: 'poor', credit: '0.008' });
    const client = await connect(poor);
    const long = 'A harbour full of boats. '.repeat(600);
    const first = readObject((await client.create({ model, input: long, max_output_tokens: 20 })).response);
    expect(first.status).toBe('completed');
    const next = { model, input: 'More?', max_output_tokens: 20, previous_response_id: first.id };
    let last = await client.create(next);
    for (let turn = 0; turn < 5 && last.type !== 'error'; turn += 1)
      last = await client.create({ ...next, previous_response_id: readObject(last.response).id });
    expect(last).toMatchObject({ type: 'error', status: 429, error: { code: 'insufficient_quota' } });
    // A frame alone would still be affordable.
    expect(await client.create({ model, input: 'More?', max_output_tokens: 20 })).toMatchObject({
      type: 'response.completed',
    });
  });

  it.each([{}, { generate: false }])(
    'is refused once its key is disabled, also with %j, and the connection ends',
    async (fields) => {
      harness.vendor.script(upstream, { text: 'Two boats.' });
      const created = readObject(
        await harness.gateway.verb('keys create', [], { account: 'leaver', credit: '1' }),
      );
      const client = await connect(String(created.key));
      const call = { model, input: 'How many?', ...fields };
      expect(await client.create(call)).toMatchObject({ type: 'response.completed' });
      await harness.gateway.verb('keys disable', [String(created.id)]);
      let refused = await client.create(call);
      // A key that was just used is known for another second.
      while (refused.type !== 'error') refused = await client.create(call);
      expect(refused).toMatchObject({ status: 401, error: { code: 'invalid_api_key' } });
      expect(await client.closed).toBe(1008);
    },
  );
});

describe('a frame', () => {
  it('that is too long ends the connection', async () => {
    const client = await connect();
    client.send({ type: 'response.create', model, input: 'a'.repeat(30_000) });
    expect(await client.closed).toBe(1009);
  });

  it('in binary is refused, and ends the connection', async () => {
    const client = await connect();
    client.socket.send(Buffer.from('{}'), { binary: true });
    expect(await client.waitFor(({ type }) => type === 'error')).toMatchObject({ status: 400 });
    expect(await client.closed).toBe(1003);
  });

  it('beyond the lanes of a connection, or beyond those that may wait, gets 429', async () => {
    harness.vendor.script(upstream, { text: 'Late.', hold: 'forever' });
    const client = await connect();
    for (const lane of ['a', 'b', 'c'])
      client.send({ type: 'response.create', model, input: 'Hello.', stream_id: lane });
    expect(await client.waitFor(({ type }) => type === 'error')).toMatchObject({
      status: 429,
      stream_id: 'c',
      error: { param: 'stream_id' },
    });
    for (let count = 0; count < 2; count += 1)
      client.send({ type: 'response.create', model, input: 'Hello.', stream_id: 'a' });
    expect(await client.waitFor((frame) => frame.stream_id === 'a')).toMatchObject({
      type: 'error',
      status: 429,
    });
  });
});
