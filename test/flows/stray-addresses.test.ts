/**
 * A path without a route gets a not-found error in the format of the protocol whose base URL it is under,
 * whatever a client sends there.
 */
import { beforeAll, expect, it } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let rooted: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ plugins: [chatCompletions(), messages(), generateContent()] });
  rooted = await startGateway({
    plugins: [messages({ mount: '' }), chatCompletions(), generateContent({ mount: '/beta/deeper' })],
  });
});

/** The error of each protocol about a path that its message names. */
const words: Readonly<Record<string, (at: string) => object>> = {
  openai: (at) => ({
    error: {
      message: expect.stringContaining(at),
      type: 'invalid_request_error',
      param: null,
      code: 'not_found',
    },
  }),
  anthropic: (at) => ({
    type: 'error',
    error: { type: 'not_found_error', message: expect.stringContaining(at) },
    request_id: expect.any(String),
  }),
  google: (at) => ({
    error: {
      code: 404,
      status: 'NOT_FOUND',
      message: expect.stringContaining(at),
      details: expect.any(Array),
    },
  }),
};

async function fetchReply({ url }: TestGateway, path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(url + path, init);
  return [response.status, await response.json()];
}

const model = '/beta/v1beta/models/demo/echo';

it.each([
  ['/alpha/v1/complete', 'anthropic'],
  ['/alpha/', 'anthropic'],
  [`${model}:embedContent`, 'google'],
  [model, 'google'],
  ['/beta/v1beta/files', 'google'],
  ['/beta/upload', 'google'],
  ['/v1beta/files', 'google'],
  ['/v1/models/demo/echo:embedContent', 'google'],
  ['/v1/messages/batches', 'anthropic'],
  ['/v1/embeddings', 'openai'],
  ['/alphabet/v1/messages', 'openai'],
  ['/nowhere', 'openai'],
])('such as %s gets the error of %s', async (path, family) => {
  const expected = [404, words[family]?.(`POST ${path}`)];
  expect(
    await fetchReply(gateway, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    }),
  ).toEqual(expected);
  expect(await fetchReply(gateway, path, { method: 'POST', body: 'a text' })).toEqual(expected);
  expect(await fetchReply(gateway, path, { method: 'POST' })).toEqual(expected);
});

it.each([
  ['/alpha/complete', 'messages', undefined, '/alpha'],
  ['/alpha/v1/v1/messages', 'messages', '/alpha/v1/messages', '/alpha'],
  ['/alphabet/v1/messages', 'messages', '/alpha/v1/messages', '/alpha'],
  ['/alpha/v2/messages', 'messages', '/alpha/v1/messages', '/alpha/v1'],
  ['/v1beta/chat/completions', 'chat-completions', '/v1/chat/completions', '/v1'],
  ['/api/chat/completions', 'chat-completions', '/v1/chat/completions', '/v1'],
  ['/v1/v1/chat/completions', 'chat-completions', '/v1/chat/completions', '/v1'],
  [
    '/beta/v1beta/v1beta/models/demo/echo:generateContent',
    'generate-content',
    '/beta/v1beta/models/demo/echo:generateContent',
    '/beta',
  ],
  [
    '/beta/v1alpha/models/demo/echo:generateContent',
    'generate-content',
    '/beta/v1beta/models/demo/echo:generateContent',
    '/beta/v1beta',
  ],
  [
    '/v1alpha/models/demo/echo:generateContent',
    'generate-content',
    '/v1beta/models/demo/echo:generateContent',
    '/v1beta',
  ],
])('such as %s names the base URL of %s, if that serves the call', async (path, protocol, right, base) => {
  const advice = `${protocol} is served at ${right}: the base URL of its clients ends in ${base}`;
  for (const init of [{ method: 'POST', body: '{}' }, { method: 'GET' }]) {
    const reply = JSON.stringify(await fetchReply(gateway, path, init));
    if (right === undefined) expect(reply).not.toContain('is served at');
    else expect(reply).toContain(`There is nothing at ${init.method} ${path}; ${advice}.`);
  }
});

it('a path without a route under several base URLs gets the error of the nearest', async () => {
  expect(await fetchReply(rooted, '/nowhere', {})).toEqual([404, words.anthropic?.('GET /nowhere')]);
  expect(await fetchReply(rooted, '/v1/nowhere', {})).toEqual([404, words.openai?.('GET /v1/nowhere')]);
  expect(await fetchReply(rooted, '/beta/deeper/nowhere', {})).toEqual([
    404,
    words.google?.('GET /beta/deeper/nowhere'),
  ]);
});

it.each([
  ['GET', '/v1/chat/completions', 'POST', 'openai'],
  ['DELETE', '/alpha/v1/messages/', 'POST', 'anthropic'],
  ['GET', '/v1/messages', 'POST', 'anthropic'],
  ['GET', '/v1beta/models/demo/echo:generateContent', 'POST', 'google'],
  ['GET', `${model}:generateContent`, 'POST', 'google'],
  ['PATCH', `${model}:countTokens`, 'POST', 'google'],
  ['POST', '/v1/models', 'GET, HEAD', 'openai'],
  ['DELETE', '/v1/models/demo/echo', 'GET, HEAD', 'openai'],
  ['OPTIONS', '/readyz', 'GET, HEAD', 'openai'],
])('a path without a route gets 405 for %s of %s, which takes %s', async (method, path, allow, family) => {
  const response = await fetch(gateway.url + path, { method });
  const reply = JSON.stringify(await response.json());
  expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
  expect(reply).toContain(`does not support ${method}: send ${allow.split(',')[0]}.`);
  expect(reply).toContain(
    { openai: '"code":"method_not_allowed"', anthropic: '"type":"error"', google: '"code":405' }[family],
  );
});

it.each([
  '/',
  '/v1',
  '/v1/',
  '/v1beta',
  '/alpha',
  '/alpha/',
  '/alpha/v1',
  '/beta',
  '/beta/v1',
  '/beta/v1beta',
])('a path without a route of %s, which is a base URL, gets 200 for HEAD alone', async (path) => {
  const head = await fetch(gateway.url + path, { method: 'HEAD' });
  expect([head.status, head.headers.has('x-request-id')]).toEqual([200, true]);
  expect((await fetch(gateway.url + path)).status).toBe(404);
});

it.each(['/alpha/v1beta', '/alpha/complete', '/v1/models/demo', '/v2', '/healthz/v1', '/nowhere'])(
  'a path without a route of %s, which is no base URL, gets 404 for HEAD',
  async (path) => {
    expect((await fetch(gateway.url + path, { method: 'HEAD' })).status).toBe(404);
  },
);

it('a path without a route with one slash at its end is the path without it', async () => {
  const send = (path: string): Promise<unknown> =>
    fetchReply(gateway, path, {
      method: 'POST',
      body: JSON.stringify({ model: 'demo/echo', messages: [] }),
    });
  for (const path of ['/v1/chat/completions', '/alpha/v1/messages', `${model}:countTokens`]) {
    const reply = await send(`${path}/`);
    expect(reply).toEqual([expect.not.toBeOneOf([404, 405]), expect.anything()]);
  }
});
