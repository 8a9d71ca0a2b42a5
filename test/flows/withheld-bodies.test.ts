/**
 * Bodies whose last byte never comes. A key with a cent holds no more than its share with them, other keys
 * and small calls are served meanwhile, and each is cut with an error in its client's protocol.
 */
import type { Socket } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { openSocket } from '../support/raw-socket.ts';

const bodyLimit = 1_000_000;
const model = 'openai/gpt-4o-mini';
let harness: Harness;
let poorKey = '';
beforeAll(async () => {
  harness = await openHarness({
    plugins: [responses(), messages(), generateContent(), images(), completions(), embeddings(), rerank()],
    settings: { server: { bodyLimit, bodiesLimit: 4 * bodyLimit } },
  });
  poorKey = await harness.gateway.newKey({ account: 'poor', credit: '0.01' });
});

/** A short call, made long by blanks. */
const buildText = (length: number): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }).padStart(length);

interface Withheld {
  readonly socket: Socket;
  readHeard(): string;
}

/** Sends all of a body but its last byte. */
async function withhold(
  path: string,
  key: string,
  length: number,
  type = 'application/json',
): Promise<Withheld> {
  const socket = await openSocket(harness.gateway.url);
  let heard = '';
  socket.on('data', (bytes) => void (heard += bytes.toString())).on('error', () => undefined);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\n` +
      `content-length: ${length}\r\n\r\n`,
  );
  socket.write(type === 'application/json' ? ' '.repeat(length - 1) : '--b\r\n');
  return { socket, readHeard: () => heard };
}

const post = (text: string, key: string): Promise<Response> =>
  harness.post(text, { headers: { authorization: `Bearer ${key}` } });

it('sixteen withheld bodies leave room for other keys, and small bodies of the same', async () => {
  const withheld = await Promise.all(
    Array.from({ length: 16 }, () => withhold('/v1/chat/completions', poorKey, bodyLimit)),
  );
  const listRefused = (): string[] =>
    withheld.map(({ readHeard }) => readHeard()).filter((heard) => heard !== '');
  await expect.poll(() => listRefused().length).toBeGreaterThanOrEqual(15);
  for (const heard of listRefused()) {
    expect(heard).toMatch(/^HTTP\/1\.1 429/);
    expect(heard).toContain('This API key holds its share');
  }
  expect((await post(buildText(900_000), harness.key)).status).toBe(200);
  expect((await post(buildText(10_000), poorKey)).status).toBe(200);
  const own = await post(buildText(900_000), poorKey);
  expect([own.status, own.headers.get('retry-after')]).toEqual([429, '2']);
  for (const { socket } of withheld) socket.destroy();
  await expect.poll(async () => (await post(buildText(300_000), poorKey)).status).not.toBe(429);
});

describe.concurrent('a withheld body', () => {
  it.for<[path: string, type: string, error: object]>([
    ['/v1/chat/completions', 'application/json', { error: { type: 'invalid_request_error' } }],
    ['/v1/responses', 'application/json', { error: { type: 'invalid_request_error' } }],
    ['/v1/images/generations', 'application/json', { error: { type: 'invalid_request_error' } }],
    ['/v1/images/edits', 'multipart/form-data; boundary=b', { error: { type: 'invalid_request_error' } }],
    ['/alpha/v1/messages', 'application/json', { type: 'error', error: { type: 'invalid_request_error' } }],
    [`/beta/v1beta/models/${model}:generateContent`, 'application/json', { error: { code: 408 } }],
    ['/v1/embeddings', 'application/json', { error: { type: 'invalid_request_error' } }],
    ['/beta/v1beta/models/demo/embed:embedContent', 'application/json', { error: { code: 408 } }],
    ['/v2/rerank', 'application/json', { message: expect.any(String) }],
    ['/v1/completions', 'application/json', { error: { type: 'invalid_request_error' } }],
  ])(
    'at %s, sent as %s, is cut with a 408 of its protocol',
    async ([path, type, error], { expect: claim }) => {
      const key = await harness.gateway.newKey({ account: 'slow', credit: '1' });
      const { socket, readHeard } = await withhold(path, key, bodyLimit / 5, type);
      await claim.poll(() => socket.readableEnded || socket.destroyed).toBe(true);
      const [head = '', body = ''] = readHeard().split('\r\n\r\n');
      claim(head).toMatch(/^HTTP\/1\.1 408/);
      claim(head).toMatch(/connection: close/i);
      claim(JSON.parse(body)).toMatchObject(error);
      claim(body).toContain('arrives too slowly');
    },
  );
});
