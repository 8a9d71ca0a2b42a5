/**
 * Sockets that break the rules of HTTP: the gateway refuses them in time, and never reads a second request
 * from one.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openHarness, type Harness } from '../support/harness.ts';
import { openSocket, sendRaw } from '../support/raw-socket.ts';
import { buildCallHead, smuggled } from '../support/smuggled.ts';

let harness: Harness;
beforeAll(
  async () =>
    void (harness = await openHarness({
      settings: {
        server: { bodyLimit: 20_000, bodiesLimit: 50_000, bodiesPerKey: 60_000, bodiesPerAccount: 60_000 },
        timeouts: { write: 3 },
      },
    })),
);

/** The gateway's ends of connections, by the ports of their clients. */
const accepted = new Map<number | undefined, Socket>();
const accept = (message: unknown): void => {
  if (typeof message === 'object' && message && 'socket' in message && message.socket instanceof Socket)
    accepted.set(message.socket.remotePort, message.socket);
};
beforeAll(() => subscribe('net.server.socket', accept));
afterAll(() => void unsubscribe('net.server.socket', accept));

const body = JSON.stringify({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] });
const buildAuthorization = (): string => `authorization: Bearer ${harness.key}`;

it.each(smuggled)('two ways to frame a body (%s) are refused as one request', async (_, status, request) => {
  const requestCount = harness.vendor.requests.length;
  expect(await sendRaw(harness.gateway.url, request(buildAuthorization()))).toMatchObject({
    statuses: [status],
    closed: true,
  });
  expect(harness.vendor.requests.length).toBe(requestCount);
});

it.each<[string, string, number]>([
  ['of one long line', buildCallHead('host: x', `x: ${'a'.repeat(40_000)}`), 431],
  [
    'of three thousand lines',
    buildCallHead('host: x', ...Array.from({ length: 3000 }, (_, index) => `x-${index}: aaaaa`)),
    431,
  ],
  ['with a path of 64 kB', `GET /${'a'.repeat(65_536)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431],
  ['of no protocol', 'hello there\r\n\r\n', 400],
  ['of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
])('a head %s is refused', async (_, request, status) => {
  const logged = harness.gateway.log.length;
  expect(await sendRaw(harness.gateway.url, request)).toMatchObject({
    statuses: [status],
    closed: true,
  });
  // A client that sends many of them does not fill a disk.
  expect(harness.gateway.log.slice(logged)).toEqual([]);
});

it.each(['http://[', 'http://h:99999/v1/models', 'foo://bar['])(
  'a head with the malformed target %s gets a 404, and the gateway serves the next',
  async (target) => {
    const request = `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
    const logged = harness.gateway.log.length;
    expect(await sendRaw(harness.gateway.url, request)).toMatchObject({ statuses: [404], closed: true });
    expect(harness.gateway.log.slice(logged)).toEqual([]);
  },
);

it('a head that asks for a tunnel, or another version, is refused', async () => {
  expect(
    (await sendRaw(harness.gateway.url, 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: x\r\n\r\n')).text,
  ).not.toMatch(/^HTTP\/1\.1 2/);
  expect((await sendRaw(harness.gateway.url, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).text).not.toMatch(
    /^HTTP\/1\.1 2/,
  );
});

it('an upgrade to a WebSocket is refused at once, and the error names the alternative', async () => {
  const { statuses, closed, text } = await sendRaw(
    harness.gateway.url,
    'GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n' +
      'sec-websocket-key: aaaaaaaaaaaaaaaaaaaaaa==\r\nsec-websocket-version: 13\r\n\r\n',
  );
  expect([statuses, closed]).toEqual([[426], true]);
  expect(text).toContain('upgrade_not_supported');
  expect(text).toMatch(/\r\nx-request-id: [\w-]{36}\r\n/);
});

it('an upgrade to HTTP/2, which some clients offer with every request, is ignored', async () => {
  const head = buildCallHead(
    'host: x',
    buildAuthorization(),
    'connection: Upgrade, HTTP2-Settings, close',
    'upgrade: h2c',
    'http2-settings: AAMAAABkAARAAAAAAAIAAAAA',
    `content-length: ${body.length}`,
  );
  expect(await sendRaw(harness.gateway.url, head + body)).toMatchObject({ statuses: [200], closed: true });
});

it('a body longer than its content-length is refused, and the rest is not a second request', async () => {
  const requestCount = harness.vendor.requests.length;
  const { statuses, closed } = await sendRaw(
    harness.gateway.url,
    buildCallHead('host: x', buildAuthorization(), `content-length: ${body.length - 10}`) + body,
  );
  expect([closed, statuses[0], statuses.slice(1).every((status) => status === 400)]).toEqual([
    true,
    400,
    true,
  ]);
  expect(harness.vendor.requests.length).toBe(requestCount);
});

it('a body shorter than its content-length is waited for, and dropped on disconnect', async () => {
  const [requestCount, ended] = [harness.vendor.requests.length, harness.gateway.ends.length];
  expect(
    await sendRaw(
      harness.gateway.url,
      buildCallHead('host: x', buildAuthorization(), `content-length: ${body.length + 10}`) + body,
      500,
    ),
  ).toMatchObject({ statuses: [], closed: false });
  expect((await harness.gateway.ended(ended + 1))[ended]).toMatchObject({
    type: 'refused',
    error: { code: 'client_gone' },
  });
  expect(harness.vendor.requests.length).toBe(requestCount);
});

it('a body that never ends is refused at the size limit, however much follows', async () => {
  const socket = await openSocket(harness.gateway.url);
  let answer = '';
  socket.on('data', (chunk) => void (answer += chunk.toString())).on('error', () => undefined);
  socket.write(buildCallHead('host: x', buildAuthorization(), 'transfer-encoding: chunked'));
  const piece = `10000\r\n${'a'.repeat(65_536)}\r\n`;
  for (let sent = 0; sent < 800 && !socket.destroyed; sent += 1)
    if (!socket.write(piece))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), sleep(2000)]);
  expect(answer).toMatch(/^HTTP\/1\.1 413/);
  socket.destroy();
});

it('a body is refused while others fill the memory limit, and accepted when they end', async () => {
  const text = body.replace('Hello!', 'a'.repeat(18_000));
  const half = text.slice(0, 17_000);
  await (await harness.post(body)).json();
  const waiting = await Promise.all(
    Array.from({ length: 2 }, async () => {
      const socket = await openSocket(harness.gateway.url);
      const start = buildCallHead('host: x', buildAuthorization(), `content-length: ${text.length}`) + half;
      socket.write(start);
      // Calls on the connection that stays open would otherwise be faster, and take their room.
      await expect.poll(() => accepted.get(socket.localPort)?.bytesRead).toBe(start.length);
      return socket;
    }),
  );
  await expect.poll(async () => (await harness.post(text)).status).toBe(503);
  const refused = await harness.post(text);
  expect([refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
    '2',
    { error: { message: expect.stringContaining('large requests') } },
  ]);
  expect((await harness.post(body)).status).toBe(200);
  for (const socket of waiting) socket.destroy();
  await expect.poll(async () => (await harness.post(text)).status).toBe(200);
});

it('clients that send slowly delay no other client', async () => {
  const sockets = await Promise.all(Array.from({ length: 200 }, () => openSocket(harness.gateway.url)));
  for (const [index, socket] of sockets.entries()) {
    socket.on('error', () => undefined);
    socket.write(
      index % 2 === 0
        ? 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-'
        : `${buildCallHead('host: x', buildAuthorization(), 'content-length: 1000')}{`,
    );
  }
  expect((await harness.post(body)).status).toBe(200);
  for (const socket of sockets) socket.destroy();
});

/**
 * A connection with a call on it that reads nothing until it resumes; tells how much arrived once it is
 * closed, and whether the gateway closed it.
 */
async function call(
  text: string,
): Promise<{ socket: Socket; length: Promise<number>; isCut(): boolean | undefined }> {
  const socket = await openSocket(harness.gateway.url);
  socket.on('error', () => undefined).pause();
  const length = new Promise<number>((resolve) => {
    let sum = 0;
    socket.on('data', ({ length: more }) => void (sum += more)).on('close', () => resolve(sum));
  });
  socket
    .pause()
    .write(
      buildCallHead('host: x', buildAuthorization(), 'connection: close', `content-length: ${text.length}`) +
        text,
    );
  return { socket, length, isCut: () => accepted.get(socket.localPort)?.destroyed };
}

it('clients that read nothing of a stream are disconnected, and pay for what was sent', async () => {
  harness.vendor.script('gpt-4o-mini', { text: ['word '.repeat(2000)], endless: true });
  const requestCount = harness.vendor.requests.length;
  const listOutcomes = (): string[] =>
    harness.gateway.ends.flatMap((end) => (end.type === 'answered' ? [end.outcome] : []));
  const before = listOutcomes().length;
  const calls = await Promise.all(
    Array.from({ length: 10 }, () => call(body.replace('{', '{"stream":true,'))),
  );
  await expect.poll(() => listOutcomes().slice(before)).toEqual(Array.from({ length: 10 }, () => 'aborted'));
  harness.vendor.unscript();
  await expect
    .poll(() =>
      harness.vendor.requests.slice(requestCount).every(({ closedByPeerAt }) => closedByPeerAt !== undefined),
    )
    .toBe(true);
  for (const { socket } of calls) socket.destroy();
  expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
});

it.each<[string, number, number]>([
  ['are disconnected if they read nothing', 0, 0],
  ['stay connected if they read a little now and then', 20, 10_000_000],
])('clients that read nothing of a complete reply %s', async (_, reads, least) => {
  harness.vendor.script('gpt-4o-mini', { text: 'word '.repeat(2_000_000), overrun: true });
  const ended = harness.gateway.ends.length;
  const { socket, length, isCut } = await call(body);
  await harness.gateway.ended(ended + 1);
  for (let read = 0; read < reads; read += 1) {
    await sleep(200);
    socket.resume();
    await sleep(5);
    socket.pause();
  }
  if (reads === 0) await expect.poll(isCut).toBe(true);
  socket.resume();
  harness.vendor.unscript();
  if (reads === 0) expect(await length).toBeLessThan(9_000_000);
  else expect(await length).toBeGreaterThan(least);
});
