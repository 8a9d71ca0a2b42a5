/** Requests whose bodies a client compressed: decoded within the limits, on every protocol. */
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeAll, expect, it, vi } from 'vitest';
import { BodyBudget } from '../../core/http/bodies.ts';
import { buildEditForm, makePng, openGallery } from '../images/gallery.ts';
import { buildPath, getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { openSocket } from '../support/raw-socket.ts';
import { buildCallHead } from '../support/smuggled.ts';

const limit = 20_000;
const encoders = new Map<string, (bytes: Uint8Array) => Uint8Array>([
  ['gzip', (bytes) => gzipSync(bytes)],
  ['br', (bytes) => brotliCompressSync(bytes)],
  ['deflate', (bytes) => deflateSync(bytes)],
  ['zstd', (bytes) => zstdCompressSync(bytes)],
]);

function encode(encoding: string, body: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return encoding
    .split(',')
    .reduce<Uint8Array<ArrayBuffer>>(
      (bytes, name) => new Uint8Array(encoders.get(name.trim().toLowerCase())?.(bytes) ?? bytes),
      Buffer.from(body),
    );
}

let harness: Harness;
let fourWires: FourWires;
beforeAll(async () => {
  harness = await openHarness({
    settings: { server: { bodyLimit: limit, bodiesLimit: 50_000 } },
  });
  fourWires = await openFourWires();
});

const body = JSON.stringify({
  model: 'openai/gpt-4o-mini',
  messages: [{ role: 'user', content: 'Hello! 1.0' }],
});

it.each([
  'gzip',
  'x-gzip',
  'br',
  'deflate',
  'zstd',
  'GZIP',
  'identity, identity, identity, zstd',
  'gzip, br',
])('a body in %s reaches the vendor as the client wrote it, without the header', async (encoding) => {
  const encoded = encode(encoding.replace('x-', ''), body);
  const response = await harness.post(encoded, { headers: { 'content-encoding': encoding } });
  const sent = harness.vendor.requests.at(-1);
  expect([response.status, String(sent?.body), sent?.headers['content-encoding']]).toEqual([
    200,
    body.replace('openai/', ''),
    undefined,
  ]);
  expect(sent?.headers['content-length']).toBe(String(sent?.body.length));
});

const bodies = {
  'chat-completions': { messages: [{ role: 'user', content: 'Ahoy' }] },
  responses: { input: 'Ahoy' },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Ahoy' }] },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] },
};

/** Posts bytes to a client's own path, for a model of another wire. */
function postEncoded(client: (typeof wires)[number], encoding: string, bytes: Uint8Array<ArrayBuffer>) {
  const { id } = getModel(client === 'messages' ? 'responses' : 'messages');
  return fetch(fourWires.gateway.url + buildPath(client, id, false), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-encoding': encoding,
      'anthropic-version': '2023-06-01',
      authorization: 'Bearer any-key',
    },
    body: bytes,
  });
}

it.each(wires)('a client of %s sends zstd to a model of another wire', async (client) => {
  const { id } = getModel(client === 'messages' ? 'responses' : 'messages');
  const text = JSON.stringify({
    ...(client === 'generate-content' ? {} : { model: id }),
    ...bodies[client],
  });
  const response = await postEncoded(client, 'zstd', encode('zstd', text));
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
});

/** Each protocol's own words for a status. */
const words: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'chat-completions': { 400: 'invalid_request_error', 415: 'unsupported_media_type' },
  responses: { 400: 'invalid_request_error', 415: 'unsupported_media_type' },
  messages: { 400: 'invalid_request_error', 415: 'invalid_request_error' },
  'generate-content': { 400: 'INVALID_ARGUMENT', 415: 'INVALID_ARGUMENT' },
};

it.each(
  wires.flatMap((client): [(typeof wires)[number], number, string, Uint8Array<ArrayBuffer>][] => [
    [client, 400, 'gzip', Buffer.from(body)],
    [client, 400, 'zstd', encode('zstd', body).subarray(0, -4)],
    [client, 400, 'br', Buffer.concat([encode('br', body), Buffer.from('more')])],
    [client, 400, 'gzip, gzip', encode('gzip', body)],
    [client, 415, 'compress', Buffer.from(body)],
    [client, 415, 'gzip, gzip, gzip', encode('gzip,gzip,gzip', body)],
  ]),
)(
  'a client of %s gets a %i that names the header for bad data in %s',
  async (client, status, encoding, bytes) => {
    const response = await postEncoded(client, encoding, bytes);
    const text = await response.text();
    expect([response.status, text]).toEqual([
      status,
      expect.stringContaining(words[client]?.[status] ?? '?'),
    ]);
    expect(text).toContain('content-encoding');
  },
);

it.each(['br', 'zstd', 'gzip, br'])(
  'a bomb in %s gets a 413, and the next call is served',
  async (encoding) => {
    const bomb = encode(encoding, Buffer.alloc(64 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(limit);
    const refused = await harness.post(bomb, { headers: { 'content-encoding': encoding } });
    expect([refused.status, await refused.json()]).toMatchObject([
      413,
      { error: { message: `The body is larger than the ${limit} bytes this gateway accepts.` } },
    ]);
    expect((await harness.post(body)).status).toBe(200);
  },
);

/** A request as the server gives it, with what its client has sent so far. */
function makeRequest(encoding: string, bytes: Uint8Array, { ends = true } = {}) {
  const sent = new PassThrough();
  sent.write(bytes);
  if (ends) sent.end();
  const request = Object.assign(sent, { headers: { 'content-encoding': encoding } });
  return Object.assign(request, { socket: { bytesRead: 0 }, complete: false });
}

it.each(['gzip', 'br', 'deflate', 'zstd', 'gzip, zstd'])(
  'a bomb in %s takes no more memory than the limit of a body',
  async (encoding) => {
    const most = 200_000;
    const bodies = new BodyBudget({ bodyLimit: most, bodiesLimit: 10 * most, bodyRate: 1 });
    const share = bodies.openShare({ key: 'k', account: 'a' });
    const take = vi.spyOn(share, 'take');
    // @ts-expect-error A request is read by few of its members.
    const reading = share.read(makeRequest(encoding, encode(encoding, Buffer.alloc(32 * 1024 * 1024))));
    await expect(reading).rejects.toMatchObject({ code: 'body_too_large' });
    for (let turn = 0; turn < 100; turn += 1) await setImmediate();
    const taken = take.mock.calls.reduce((sum, [bytes]) => sum + bytes, 0);
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThanOrEqual(most);
  },
);

it('a frame of zstd that asks for more memory than a web server has to give is refused', async () => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 };
  const bytes = zstdCompressSync(Buffer.alloc(130 * 1024 * 1024), { params });
  const refused = await harness.post(new Uint8Array(bytes), { headers: { 'content-encoding': 'zstd' } });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('content-encoding')]);
});

it('what is decoded of a body counts for the share of its key before the body is complete', async () => {
  const bodies = new BodyBudget({
    bodyLimit: 40_000,
    bodiesLimit: 100_000,
    bodiesPerKey: 50_000,
    bodyRate: 1,
  });
  const share = bodies.openShare({ key: 'k', account: 'a' });
  const take = vi.spyOn(share, 'take');
  const arriving = makeRequest('gzip', encode('gzip', Buffer.alloc(40_000)).subarray(0, -4), { ends: false });
  // @ts-expect-error A request is read by few of its members.
  const reading = share.read(arriving);
  await expect.poll(() => take.mock.calls.length).toBe(3);
  expect(() => bodies.openShare({ key: 'k', account: 'a' }).take(20_000)).toThrow('its share of large');
  arriving.destroy(new Error('gone'));
  await expect(reading).rejects.toMatchObject({ code: 'client_gone' });
});

it('a client that disconnects within an encoded body ends its call as gone', async () => {
  const ended = harness.gateway.ends.length;
  const socket = await openSocket(harness.gateway.url);
  socket.write(
    buildCallHead(
      'host: x',
      `authorization: Bearer ${harness.key}`,
      'content-encoding: zstd',
      'content-length: 1000',
    ),
  );
  socket.write(encode('zstd', body).subarray(0, 20));
  await expect
    .poll(() => harness.gateway.ends.length, { timeout: 300 })
    .toBe(ended)
    .catch(() => undefined);
  socket.destroy();
  expect((await harness.gateway.ended(ended + 1))[ended]).toMatchObject({
    type: 'refused',
    error: { code: 'client_gone' },
  });
});

it('a call sent again with its idempotency key in another encoding gets the same reply', async () => {
  const headers = { 'idempotency-key': 'encoded-1' };
  const first = await (await harness.post(body, { headers })).text();
  const asked = harness.vendor.requests.length;
  for (const encoding of ['gzip', 'zstd']) {
    const again = await harness.post(encode(encoding, body), {
      headers: { ...headers, 'content-encoding': encoding },
    });
    expect(await again.text()).toBe(first);
  }
  expect(harness.vendor.requests.length).toBe(asked);
});

it('a form with a picture may be compressed', async () => {
  const gallery = await openGallery();
  const form = new Response(buildEditForm({}, [['image', makePng(), 'a.png']]));
  const response = await fetch(`${gallery.gateway.url}/v1/images/edits`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gallery.key}`,
      'content-type': form.headers.get('content-type') ?? '',
      'content-encoding': 'zstd',
    },
    body: encode('zstd', new Uint8Array(await form.arrayBuffer())),
  });
  expect([response.status, gallery.painter.requests.length]).toEqual([200, 1]);
});
