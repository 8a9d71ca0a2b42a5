/** What a key of a user opens, and what it does not, however a path is written. */
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { body, getAdminUrl, harness, model, openCanaries } from './planted-secrets.ts';

openCanaries();

/**
 * Ways to write a path so that one parser takes it for another: by encoding, by dot segments, by case, by
 * what follows a semicolon.
 */
function listTricks(path: string): string[] {
  const [, first = '', ...rest] = path.split('/');
  const [end, encoded] = [rest.join('/'), rest.join('%2f')];
  return [
    `/${first.toUpperCase()}/${end}`,
    `//${first}/${end}`,
    `/${first}//${end}`,
    `/${first}%2f${encoded}`,
    `/v1/../${first}/${end}`,
    `/healthz/../${first}/${end}`,
    `/%2e%2e/${first}/${end}`,
    `/${first}/./${end}`,
    `/${first};/${end}`,
    `/${first};a=b/${end}`,
    `/${first}/${end};`,
    `/${first}/${end};a=b`,
    `/${first}/${end};.json`,
    `/healthz;/${first}/${end}`,
    `/healthz;/../${first}/${end}`,
    `/;/${first}/${end}`,
    `/healthz%3b/../${first}/${end}`,
    `/${first}/${end}%00`,
    `/${first}/${end}%20`,
    `/${first}/${end}:`,
    `/:${first}/${end}`,
    `http://x/healthz/../${first}/${end}`,
  ];
}

/** Sends a request whose path goes out as written: `fetch` would normalise it. */
function fetchStatus(
  base: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  text = '',
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    request(
      { hostname, port, method, path, headers: { 'content-length': text.length, ...headers } },
      (response) => resolve(response.resume().statusCode),
    )
      .on('error', reject)
      .end(text);
  });
}

it('a key of a user opens no path of the operators, by any method, on either listener', async () => {
  const paths = [
    '/admin/keys',
    '/admin/accounts',
    '/admin/credits',
    '/admin/usage',
    '/admin/audit',
    '/admin/keys/x/disable',
  ];
  for (const base of [getAdminUrl(), harness.gateway.url]) {
    for (const path of [...paths, ...paths.slice(0, 1).flatMap(listTricks)]) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const status = await fetchStatus(base, method, path, {
          authorization: `Bearer ${harness.key}`,
          'x-http-method-override': 'GET',
          'x-original-url': '/admin/keys',
          host: 'localhost',
        });
        expect([path, method, status]).toEqual([
          path,
          method,
          expect.toBeOneOf(method === 'OPTIONS' ? [200, 204, 404, 405] : [401, 403, 404, 405, 501]),
        ]);
      }
    }
  }
});

it('a key is required for its paths, however they are written', async () => {
  for (const path of ['/v1/user/balance', '/v1/calls/x']) {
    for (const trick of listTricks(path)) {
      for (const [method, headers] of [
        ['GET', {}],
        ['POST', { 'x-http-method-override': 'GET' }],
        ['HEAD', {}],
      ] as const) {
        expect([trick, method, await fetchStatus(harness.gateway.url, method, trick, headers)]).toEqual([
          trick,
          method,
          expect.toBeOneOf([400, 401, 404, 405]),
        ]);
      }
    }
  }
  const requestCount = harness.vendor.requests.length;
  for (const trick of listTricks('/v1/chat/completions'))
    expect([trick, await fetchStatus(harness.gateway.url, 'POST', trick, {})]).toEqual([
      trick,
      expect.toBeOneOf([400, 401, 404, 405]),
    ]);
  expect(harness.vendor.requests.length).toBe(requestCount);
});

it('a key reaches models with plain or encoded slashes, and none after a semicolon', async () => {
  const fetchModelStatus = (path: string): Promise<number | undefined> =>
    fetchStatus(
      harness.gateway.url,
      'POST',
      path,
      { 'x-goog-api-key': harness.key, 'content-type': 'application/json' },
      '{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}',
    );
  for (const name of [model, model.replace('/', '%2F'), model.replace('/', '%2f')])
    expect([name, await fetchModelStatus(`/beta/v1beta/models/${name}:generateContent`)]).toEqual([
      name,
      200,
    ]);
  for (const name of [
    `${model};a=b`,
    `${model};`,
    `x;/${model}`,
    `${model}/..`,
    `${model}%2f%2e%2e`,
    `/${model}`,
    `..%2f${model}`,
    model.toUpperCase(),
  ]) {
    expect([name, await fetchModelStatus(`/beta/v1beta/models/${name}:generateContent`)]).toEqual([
      name,
      expect.toBeOneOf([400, 404]),
    ]);
  }
  for (const end of [':generateContent;a=b', ':generateContent:countTokens', ':', ';:generateContent'])
    expect([end, await fetchModelStatus(`/beta/v1beta/models/${model}${end}`)]).toEqual([
      end,
      expect.toBeOneOf([400, 404]),
    ]);
});

it('a key that is disabled during a stream is refused soon, and the stream continues', async () => {
  const made: unknown = await harness.gateway.verb('keys create', [], { account: 'tester' });
  const { key, id } =
    typeof made === 'object' && made && 'key' in made && 'id' in made
      ? { key: String(made.key), id: String(made.id) }
      : { key: '', id: '' };
  const hold = Promise.withResolvers<void>();
  harness.vendor.script('gpt-4o-mini', { text: ['a', 'b', 'c'], hold: hold.promise, holdAfter: 2 });
  const streaming = postJson(
    `${harness.gateway.url}/v1/chat/completions`,
    { ...body, stream: true },
    { authorization: `Bearer ${key}` },
  );
  const stream = await streaming;
  await harness.gateway.verb('keys disable', [id]);
  await expect
    .poll(
      async () =>
        (
          await fetch(`${harness.gateway.url}/v1/user/balance`, {
            headers: { authorization: `Bearer ${key}` },
          })
        ).status,
    )
    .toBe(401);
  hold.resolve();
  expect(await stream.text()).toMatch(/\[DONE\]|"error"/);
  harness.vendor.unscript();
});
