/** Calls of the console's playground: on the admin listener, with a user key, and paid as always. */
import { beforeAll, expect, it } from 'vitest';
import { openConsole, type ConsoleHarness } from '../support/operated-console.ts';
import { postJson } from '../support/post.ts';

let open: ConsoleHarness;
beforeAll(async () => {
  open = await openConsole();
});

function call(
  headers: Readonly<Record<string, string>>,
  stream = false,
  path = '/console/calls/v1/chat/completions',
): Promise<Response> {
  return postJson(
    open.adminUrl + path,
    {
      model: 'demo/echo',
      stream,
      max_tokens: 20,
      messages: [{ role: 'user', content: 'Hello!' }],
    },
    headers,
  );
}

it('a call of the playground is served and paid with a key, and streams', async () => {
  const headers = { authorization: `Bearer ${open.harness.key}` };
  const whole = await call(headers);
  expect([whole.status, await whole.json()]).toMatchObject([200, { choices: [{ finish_reason: 'length' }] }]);
  const streamed = await call(headers, true);
  expect(streamed.headers.get('content-type')).toContain('text/event-stream');
  expect(await streamed.text()).toContain('data: [DONE]');
  const [first] = await open.harness.gateway.ended(2);
  expect(first).toMatchObject({
    type: 'answered',
    exchange: { principal: { kind: 'user', account: 'tester' } },
  });
});

it('a call of the playground needs a key, whoever is signed in', async () => {
  const cookie = await open.signIn();
  expect((await call({ cookie, origin: open.adminUrl })).status).toBe(401);
  expect((await call({ authorization: `Bearer ${open.secret}` })).status).toBe(403);
});

it('a call of the playground is served nowhere else on the admin listener', async () => {
  const headers = { authorization: `Bearer ${open.harness.key}` };
  expect((await call(headers, false, '/v1/chat/completions')).status).toBe(404);
  expect((await call(headers, false, '/console/callsv1/chat/completions')).status).toBe(404);
});
