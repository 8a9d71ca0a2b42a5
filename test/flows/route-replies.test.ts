/** What a plugin's own route answers is what its caller is sent: that status, and those bytes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, isGatewayError, type RouteReply } from '../../core/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const bytes = Buffer.from('before after').subarray(7);
const csv = { 'content-type': 'text/csv' };

/** A reply, and the body and type that its caller is sent. */
const replies: readonly (readonly [name: string, reply: RouteReply, body: string, type: string | null])[] = [
  ['none', { status: 202, body: null }, '', 'text/plain; charset=utf-8'],
  ['undefined', { status: 200, headers: csv, body: undefined }, '', 'text/csv'],
  ['no content', { status: 204, body: null }, '', null],
  ['an error without words', { status: 404, body: null }, '', 'text/plain; charset=utf-8'],
  ['text', { status: 201, headers: csv, body: 'a,b' }, 'a,b', 'text/csv'],
  ['bytes', { status: 200, headers: csv, body: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) }, 'after', 'text/csv'],
  ['an object', { status: 200, body: { one: 1 } }, '{"one":1}', 'application/json; charset=utf-8'],
  ['false', { status: 200, body: false }, 'false', 'application/json; charset=utf-8'],
];

const answering = definePlugin({
  name: 'answering',
  options: z.strictObject({}),
  apply({ routes }) {
    routes.add({ name: 'length', method: 'POST', path: '/length', access: 'public', errors: (error) => ({ status: isGatewayError(error) ? error.status : 500, body: String(error) }), handle: async ({ text }) => ({ status: 200, body: text.length }) });
    for (const [index, [name, reply]] of replies.entries()) {
      for (const method of ['GET', 'POST'] as const) {
        routes.add({ name: `${method} ${name}`, method, path: `/${index}`, access: 'public', errors: () => ({ status: 500, body: '' }), handle: async () => reply });
      }
    }
  },
});

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ plugins: [answering()] });
});
afterAll(() => gateway.close());

describe('a route that answers', () => {
  it.each(replies.map(([name, { status }, body, type], index) => ({ name, status, body, type, path: `/${index}` })))('$name', async ({ status, body, type, path }) => {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(gateway.url + path, { method });
      expect([method, response.status, await response.text(), response.headers.get('content-type')]).toEqual([method, status, body, type]);
    }
  });
});

describe('a body for a route', () => {
  const post = (body: string | ReadableStream): Promise<Response> => fetch(`${gateway.url}/length`, { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' });
  const padded = (length: number): string => '{"a":1}'.padEnd(length);
  const chunked = (text: string): ReadableStream => new Blob([text]).stream();

  it.each([['of a told length', padded], ['in chunks', (length: number) => chunked(padded(length))]])('of a megabyte is taken, %s, and a longer one is told to be too large', async (_, made) => {
    expect(await (await post(made(1_048_576))).text()).toBe('1048576');
    const refused = await post(made(1_048_577));
    expect([refused.status, await refused.text()]).toEqual([413, expect.stringContaining('1 MB')]);
  });

  it('that is no JSON is told to be none', async () => {
    expect((await post('{"a":')).status).toBe(400);
  });
});
