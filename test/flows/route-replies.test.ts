/** What a plugin's own route returns is what its client receives: that status, and those bytes. */
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, isGatewayError, type RouteReply } from '../../core/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const bytes = Buffer.from('before after').subarray(7);
const csv = { 'content-type': 'text/csv' };

/** A reply, and the body and type that its client receives. */
const replies: readonly (readonly [name: string, reply: RouteReply, body: string, type: string | null])[] = [
  ['none', { status: 202, body: null }, '', 'text/plain; charset=utf-8'],
  ['undefined', { status: 200, headers: csv, body: undefined }, '', 'text/csv'],
  ['no content', { status: 204, body: null }, '', null],
  ['an error without words', { status: 404, body: null }, '', 'text/plain; charset=utf-8'],
  ['text', { status: 201, headers: csv, body: 'a,b' }, 'a,b', 'text/csv'],
  [
    'bytes',
    { status: 200, headers: csv, body: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) },
    'after',
    'text/csv',
  ],
  ['an object', { status: 200, body: { one: 1 } }, '{"one":1}', 'application/json; charset=utf-8'],
  ['false', { status: 200, body: false }, 'false', 'application/json; charset=utf-8'],
];

const answering = definePlugin({
  name: 'answering',
  options: z.strictObject({}),
  apply({ routes }) {
    routes.add({
      name: 'length',
      method: 'POST',
      path: '/length',
      access: 'public',
      encodeError: (error) => ({ status: isGatewayError(error) ? error.status : 500, body: String(error) }),
      handle: async ({ text }) => ({ status: 200, body: text.length }),
    });
    for (const [index, [name, reply]] of replies.entries()) {
      for (const method of ['GET', 'POST'] as const) {
        routes.add({
          name: `${method} ${name}`,
          method,
          path: `/${index}`,
          access: 'public',
          encodeError: () => ({ status: 500, body: '' }),
          handle: async () => reply,
        });
      }
    }
  },
});

/** What a plugin in plain JavaScript may return, past the types. */
function passUntyped(value: unknown): never {
  return value as never;
}

const unsendable: readonly (readonly [name: string, reply: unknown, message: string])[] = [
  ['nothing', undefined, 'nothing'],
  ['a status that is none', { status: 99, body: '' }, 'the status 99'],
  ['no status', { body: 'a' }, 'the status undefined'],
  ['a number no JSON has', { status: 200, body: { nano: 1n } }, 'BigInt'],
  ['a function', { status: 200, body: () => 'a' }, 'a body that is not JSON: a function'],
  ['a name no header has', { status: 200, headers: { 'a b': 'c' }, body: 'a' }, '"a b"'],
  ['a header of two lines', { status: 200, headers: { a: 'b\r\nset-cookie: c' }, body: 'a' }, '"a"'],
];

const careless = definePlugin({
  name: 'careless',
  options: z.strictObject({}),
  apply({ routes, readiness }) {
    for (const [index, [name, reply]] of unsendable.entries()) {
      for (const method of ['GET', 'POST'] as const) {
        routes.add({
          name: `${method} ${name}`,
          method,
          path: `/unsendable/${index}`,
          access: 'public',
          encodeError: () => ({ status: 500, body: 'in its own words' }),
          handle: async () => passUntyped(reply),
        });
        routes.add({
          name: `${method} ${name} of an error`,
          method,
          path: `/wordless/${index}`,
          access: 'public',
          encodeError: () => passUntyped(reply),
          handle: async () => Promise.reject(new Error('out of luck')),
        });
      }
    }
    readiness.add({ name: 'well', findFault: () => undefined });
    readiness.add({
      name: 'mill',
      findFault() {
        throw new TypeError('the wheel is stuck');
      },
    });
    readiness.add({ name: 'late', findFault: () => passUntyped(Promise.reject(new Error('too late'))) });
  },
});

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ plugins: [answering(), careless()] });
});

it.each(
  replies.map(([name, { status }, body, type], index) => ({ name, status, body, type, path: `/${index}` })),
)('a route sends its client that status and body: $name', async ({ status, body, type, path }) => {
  for (const method of ['GET', 'POST']) {
    const response = await fetch(gateway.url + path, { method });
    expect([method, response.status, await response.text(), response.headers.get('content-type')]).toEqual([
      method,
      status,
      body,
      type,
    ]);
  }
});

/** The log lines about one request. */
const findLines = (id: string | null): string[] =>
  gateway.log.filter((line) => id !== null && line.includes(id));

it.each(unsendable.map(([name, , expected], index) => ({ name, expected, index })))(
  'an invalid reply is named in the log, and its clients get an error of its format: $name',
  async ({ expected, index }) => {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${gateway.url}/unsendable/${index}`, { method });
      expect([response.status, await response.text()]).toEqual([500, 'in its own words']);
      const [line = ''] = findLines(response.headers.get('x-request-id'));
      expect(JSON.parse(line)).toMatchObject({
        plugin: 'careless',
        error: { message: expect.stringContaining(expected) },
      });
    }
  },
);

it.each(unsendable.map(([name, , expected], index) => ({ name, expected, index })))(
  'an invalid reply causes our own error if its error format is invalid too: $name',
  async ({ expected, index }) => {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${gateway.url}/wordless/${index}`, { method });
      expect([response.status, await response.json()]).toMatchObject([500, { error: { code: 'internal' } }]);
      const lines = findLines(response.headers.get('x-request-id')).map((line): unknown => JSON.parse(line));
      expect(lines).toMatchObject([
        { error: { message: 'out of luck' } },
        { plugin: 'careless', error: { message: expect.stringContaining(expected) } },
      ]);
    }
  },
);

it("a readiness check that fails is reported with its plugin's name, and hides no other fault", async () => {
  const response = await fetch(`${gateway.url}/readyz`);
  expect([response.status, await response.json()]).toMatchObject([
    503,
    {
      faults: [
        expect.stringMatching(/^mill: the check of the plugin "careless" failed: .*wheel/),
        expect.stringMatching(/^late: .* plugin "careless" failed: .* returned a promise$/),
      ],
    },
  ]);
});

const post = (body: string | ReadableStream): Promise<Response> =>
  fetch(`${gateway.url}/length`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    duplex: 'half',
  });
const padBody = (length: number): string => '{"a":1}'.padEnd(length);
const streamText = (text: string): ReadableStream => new Blob([text]).stream();

it.each([
  ['with a content-length', padBody],
  ['in chunks', (length: number) => streamText(padBody(length))],
])(
  'a body for a route of a megabyte is accepted, %s, and a longer one is refused as too large',
  async (_, made) => {
    expect(await (await post(made(1_048_576))).text()).toBe('1048576');
    const refused = await post(made(1_048_577));
    expect([refused.status, await refused.text()]).toEqual([413, expect.stringContaining('1 MB')]);
  },
);

it('a body for a route with a content-encoding is refused, and the error says so', async () => {
  const refused = await fetch(`${gateway.url}/length`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync('{"a":1}'),
  });
  expect([refused.status, await refused.text()]).toEqual([
    415,
    expect.stringContaining('The header content-encoding is "gzip"; send the body uncompressed.'),
  ]);
});

it('a body for a route that is not JSON is refused as such', async () => {
  expect((await post('{"a":')).status).toBe(400);
});
