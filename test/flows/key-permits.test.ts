/** Keys that may be used from some networks, with some protocols or for some operations only. */
import { beforeAll, expect, it } from 'vitest';
import type { Plugin } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openSocket, refuseSocket } from '../support/web-socket.ts';

/** Behind one proxy of ours, and open to everybody. */
let gateway: TestGateway;
let bare: TestGateway;
const plugins = (): Plugin[] => [
  ...keyHeaders(),
  chatCompletions(),
  messages(),
  generateContent(),
  images(),
  responses({ store: { for: '1h' } }),
  webSockets(),
  calls(),
  demo({ pace: 1 }),
  balance({ firstCredit: '0' }),
];
beforeAll(async () => {
  gateway = await startGateway({ server: { trustedProxies: 1 }, plugins: plugins() });
  bare = await startGateway({ dataFolder: gateway.dataFolder, plugins: plugins() });
});

const createKey = (limits: Record<string, string>): Promise<string> =>
  gateway.newKey({ account: 'tester', credit: '5', ...limits });

const user = [{ role: 'user', content: 'Hello!' }];
const bodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { model: 'demo/echo', messages: user },
  '/v1/responses': { model: 'demo/echo', input: 'Hello!' },
  '/alpha/v1/messages': { model: 'demo/echo', max_tokens: 20, messages: user },
  '/alpha/v1/messages/count_tokens': { model: 'demo/echo', messages: user },
  '/beta/v1beta/models/demo/echo:generateContent': { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  '/beta/v1beta/models/demo/echo:countTokens': { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  '/v1/images/generations': { model: 'demo/paint', prompt: 'Sea', quality: 'low', size: '512x512' },
};

/** Posts where there is a body for the path, and gets everything else. */
async function send(key: string, path: string, headers: Record<string, string> = {}, { url } = gateway) {
  const body = bodies[path];
  const response = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

const from = (address: string) => ({ 'x-forwarded-for': address });

it.each([
  ['10.1.2.3', 200],
  ['::ffff:10.1.2.3', 200],
  ['::ffff:a01:203', 200],
  ['11.1.2.3', 403],
  ['::ffff:11.1.2.3', 403],
  ['2001:db8:7::1', 200],
  ['2001:db9::1', 403],
  ['198.51.100.7', 200],
  ['198.51.100.8', 403],
  ['[2001:db8::5]:4711', 200],
  // What the proxy itself added counts, and not what the client sent.
  ['10.1.2.3, 203.0.113.9', 403],
  ['203.0.113.9, 10.1.2.3', 200],
])('a call from %s with a key of three networks gets %i', async (address, status) => {
  const key = await createKey({ networks: '10.9.9.9/8,2001:db8::/32,::ffff:198.51.100.7' });
  for (const path of ['/v1/chat/completions', '/alpha/v1/messages', '/v1/key', '/v1/models'])
    expect([path, (await send(key, path, from(address))).status]).toEqual([path, status]);
});

it('a refused network is named, and the networks of the key are not', async () => {
  const key = await createKey({ networks: '10.0.0.0/8' });
  const { text } = await send(key, '/v1/chat/completions', from('203.0.113.9'));
  expect(JSON.parse(text)).toMatchObject({
    error: {
      code: 'permission_denied',
      message: expect.stringMatching(/may not be used from 203\.0\.113\.9\.$/),
    },
  });
  expect(text).not.toContain('10.0.0.0');
});

it('without trusted proxies a forged address changes nothing', async () => {
  const [far, near] = [
    await createKey({ networks: '10.0.0.0/8' }),
    await createKey({ networks: '127.0.0.1' }),
  ];
  const path = '/v1/chat/completions';
  for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip']) {
    expect((await send(far, path, { [header]: '10.1.2.3' }, bare)).status).toBe(403);
    expect((await send(near, path, { [header]: '10.1.2.3' }, bare)).status).toBe(200);
  }
});

it('WebSockets are refused from other networks and for other protocols, before they open', async () => {
  const keys = [await createKey({ networks: '10.0.0.0/8' }), await createKey({ protocols: 'messages' })];
  for (const [index, key] of keys.entries()) {
    const { status, body } = await refuseSocket(bare.url, { authorization: `Bearer ${key}` });
    expect([status, JSON.stringify(body)]).toEqual([
      403,
      expect.stringMatching(
        index === 0 ? /from (::ffff:)?127\.0\.0\.1/ : /with the protocol responses, only with messages/,
      ),
    ]);
  }
});

it('a key that loses a protocol makes no more calls on a WebSocket that is open', async () => {
  const key = await createKey({ name: 'socket' });
  const client = await openSocket(bare.url, key);
  expect(await client.create({ model: 'demo/echo', input: 'Hi' })).toMatchObject({
    type: 'response.completed',
  });
  await gateway.verb('keys limit', [key.slice(-4)], { protocols: 'chat-completions' });
  await expect
    .poll(async () => JSON.stringify(await client.create({ model: 'demo/echo', input: 'Hi' })), {
      timeout: 10_000,
    })
    .toContain('may not be used with the protocol responses');
  client.socket.close();
});

const statuses = async (key: string, paths: readonly string[]): Promise<Record<string, number>> => {
  const sent = paths.map(async (path) => [path, (await send(key, path, from('10.0.0.1'))).status] as const);
  return Object.fromEntries(await Promise.all(sent));
};

it('a key of one protocol reaches neither calls nor listings nor stored responses of others', async () => {
  const key = await createKey({ protocols: 'messages' });
  const open = await createKey({});
  const { id } = JSON.parse((await send(open, '/v1/responses', from('10.0.0.1'))).text);
  expect((await send(open, `/v1/responses/${id}`, from('10.0.0.1'))).status).toBe(200);
  expect(
    await statuses(key, [
      ...Object.keys(bodies),
      '/v1/models',
      '/alpha/v1/models',
      '/beta/v1beta/models',
      `/v1/responses/${id}`,
      '/v1/key',
      '/v1/calls',
      '/v1/user/balance',
    ]),
  ).toEqual({
    '/v1/chat/completions': 403,
    '/v1/responses': 403,
    '/alpha/v1/messages': 200,
    '/alpha/v1/messages/count_tokens': 200,
    '/beta/v1beta/models/demo/echo:generateContent': 403,
    '/beta/v1beta/models/demo/echo:countTokens': 403,
    '/v1/images/generations': 403,
    // The path is shared: with `anthropic-version` it is the listing of messages.
    '/v1/models': 200,
    '/alpha/v1/models': 200,
    '/beta/v1beta/models': 403,
    [`/v1/responses/${id}`]: 403,
    '/v1/key': 200,
    '/v1/calls': 200,
    '/v1/user/balance': 200,
  });
  const { text } = await send(key, '/beta/v1beta/models', from('10.0.0.1'));
  expect(JSON.parse(text)).toMatchObject({
    error: {
      status: 'PERMISSION_DENIED',
      message: expect.stringContaining('with the protocol generate-content, only with messages'),
    },
  });
});

it('a key for counting and listing generates nothing and reads nothing that is stored', async () => {
  const key = await createKey({ operations: 'count,models' });
  expect(
    await statuses(key, [...Object.keys(bodies), '/v1/models', '/v1/responses/resp_1', '/v1/key']),
  ).toEqual({
    '/v1/chat/completions': 403,
    '/v1/responses': 403,
    '/alpha/v1/messages': 403,
    '/alpha/v1/messages/count_tokens': 200,
    '/beta/v1beta/models/demo/echo:generateContent': 403,
    '/beta/v1beta/models/demo/echo:countTokens': 200,
    '/v1/images/generations': 403,
    '/v1/models': 200,
    '/v1/responses/resp_1': 403,
    '/v1/key': 200,
  });
  const { text } = await send(key, '/alpha/v1/messages', from('10.0.0.1'));
  expect(JSON.parse(text)).toMatchObject({
    type: 'error',
    error: {
      type: 'permission_error',
      message: expect.stringContaining('for the operation generate, only for count, models'),
    },
  });
});

it('the limits of a key are shown to its holder, kept by a rotation, and taken away by "none"', async () => {
  const key = await createKey({
    networks: '10.9.9.9/8,2001:db8::/32',
    protocols: 'messages',
    operations: 'count',
  });
  const shown = {
    networks: ['10.0.0.0/8', '2001:db8::/32'],
    protocols: ['messages'],
    operations: ['count'],
  };
  expect(JSON.parse((await send(key, '/v1/key', from('10.0.0.1'))).text)).toMatchObject({ limits: shown });
  const next = await gateway.verb('keys rotate', [key.slice(-4)]);
  expect(next).toMatchObject({ limits: shown });
  const end = JSON.parse(JSON.stringify(next)).lastFour;
  expect(
    await gateway.verb('keys limit', [end], { networks: 'none', protocols: 'none', operations: 'none' }),
  ).toMatchObject({ limits: { networks: null, protocols: null, operations: null } });
});

it.each([
  ['networks', '10.0.0.0/33', /"10\.0\.0\.0\/33" is no network/],
  ['networks', '010.0.0.1', /is no network/],
  ['networks', '10.1', /is no network/],
  ['networks', '10.0.0.0/8/8', /is no network/],
  ['networks', '10.0.0.0/', /is no network/],
  ['networks', 'fe80::1%eth0', /is no network/],
  ['networks', 'example.com', /is no network/],
  ['protocols', 'mesages', /no protocol "mesages"; there are .*messages/],
  ['operations', 'chat', /the operations are generate, edit, count, compact, models, stored/],
])('a key is not limited to %s %s', async (field, typed, message) => {
  await expect(createKey({ [field]: typed })).rejects.toThrow(message);
});

it('an operator key may be limited to networks, and to no protocols', async () => {
  expect(await gateway.verb('keys create', [], { operator: true, networks: '10.0.0.0/8' })).toMatchObject({
    limits: { networks: ['10.0.0.0/8'] },
  });
  await expect(gateway.verb('keys create', [], { operator: true, protocols: 'messages' })).rejects.toThrow(
    '--protocols: an operator key spends nothing',
  );
});
