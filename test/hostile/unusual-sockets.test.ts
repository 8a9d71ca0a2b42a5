/** Clients whose sockets behave unusually: they half-close early, reset, or encode their bodies twice. */
import { connect } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { openHarness, type Harness } from '../support/harness.ts';
import { openSocket, sendRaw } from '../support/raw-socket.ts';

let harness: Harness;
beforeAll(async () => void (harness = await openHarness()));

const buildBody = (stream: boolean): string =>
  JSON.stringify({ model: 'openai/gpt-4o-mini', stream, messages: [{ role: 'user', content: 'Hello!' }] });
const buildRequest = (text: string, ...lines: string[]): string =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'host: x',
    `authorization: Bearer ${harness.key}`,
    'content-type: application/json',
    ...lines,
    '',
    text,
  ].join('\r\n');

/** Sends a request and half-closes at once; resolves with everything that comes back. */
function sendHalfClosed(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      port: Number(new URL(harness.gateway.url).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    let reply = '';
    socket.on('data', (chunk) => void (reply += chunk.toString()));
    socket.on('end', () => resolve(reply));
    socket.on('error', reject);
    socket.end(text);
  });
}

it.each([false, true])(
  'a client that half-closes receives its whole reply (stream: %s), and pays as usual',
  async (stream) => {
    harness.vendor.script('gpt-4o-mini', { text: ['one ', 'two'], delayHeaders: 300 });
    const before = harness.gateway.ends.length;
    const sent = buildBody(stream);
    const reply = await sendHalfClosed(buildRequest(sent, `content-length: ${sent.length}`));
    expect(reply).toContain('HTTP/1.1 200 OK');
    expect(reply).toContain(stream ? '[DONE]' : 'one two');
    expect((await harness.gateway.ended(before + 1))[before]).toMatchObject({
      type: 'answered',
      outcome: 'completed',
    });
  },
);

it("a client that half-closes and disconnects ends the provider's request before it answers", async () => {
  harness.vendor.script('gpt-4o-mini', { hold: 'forever', holdAfter: 0, delayHeaders: 30_000 });
  const [before, requestCount] = [harness.gateway.ends.length, harness.vendor.requests.length];
  const socket = await openSocket(harness.gateway.url);
  const sent = buildBody(false);
  socket.write(buildRequest(sent, `content-length: ${sent.length}`));
  await expect.poll(() => harness.vendor.requests.length, { timeout: 120_000 }).toBe(requestCount + 1);
  socket.destroy();
  expect((await harness.gateway.ended(before + 1))[before]).toMatchObject({
    type: 'failed',
    error: { code: 'client_gone' },
  });
  harness.vendor.unscript();
});

it('a body that is encoded twice is refused, and the gateway reads nothing after it', async () => {
  const requestCount = harness.vendor.requests.length;
  const chunk = '5\r\nhello\r\n0\r\n\r\n';
  const reply = await sendRaw(
    harness.gateway.url,
    buildRequest(chunk + buildRequest('', 'content-length: 0'), 'transfer-encoding: gzip, chunked'),
  );
  expect(reply).toMatchObject({ statuses: [415], closed: true });
  expect(reply.text).toMatch(/connection: close/i);
  expect(harness.vendor.requests).toHaveLength(requestCount);
});

it.each(['/healthz', '/metrics', '/v1/models', '/nowhere'])(
  'an unknown client that resets its connection at %s leaves no error in the log',
  async (path) => {
    const logged = harness.gateway.log.length;
    for (let count = 0; count < 5; count += 1) {
      const socket = await openSocket(harness.gateway.url);
      socket.on('error', () => undefined);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(50));
      await new Promise((resolve) => setImmediate(resolve));
      socket.resetAndDestroy();
    }
    expect((await fetch(`${harness.gateway.url}/healthz`)).status).toBe(200);
    expect(
      harness.gateway.log.slice(logged).filter((line) => JSON.stringify(line).includes('stack')),
    ).toEqual([]);
  },
);
