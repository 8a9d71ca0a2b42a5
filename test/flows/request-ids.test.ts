/** Every reply carries an id, and the log tells by this id what the reply is about. */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { callLog } from '../../plugins/operations/call-log.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';

/**
 * A fault in each place: in a route, in the reporter of a route's errors, in a tap, in a plugin's own log
 * line.
 */
const faulty = definePlugin({
  name: 'faulty',
  options: z.strictObject({}),
  apply({ routes, hooks }) {
    const shared = {
      method: 'GET',
      access: 'public',
      handle: () => Promise.reject(new Error('the mill stands still')),
    } as const;
    routes.add({
      ...shared,
      name: 'faulty',
      path: '/faulty',
      encodeError: (_error, id) => ({ status: 500, body: { id } }),
    });
    routes.add({
      ...shared,
      name: 'worse',
      path: '/worse',
      encodeError() {
        throw new Error('so does the miller');
      },
    });
    hooks.observe.tapPromise('faulty', async () => {
      throw new Error('the tap leaks');
    });
    hooks.route.tapPromise('faulty', async (targets, { logger }) => {
      logger.info('a line of a plugin');
      return targets;
    });
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ plugins: [callLog(), messages(), apiKeyHeader(), faulty()] });
});

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The log lines that contain an id. */
function findLines(id: string | null): Record<string, unknown>[] {
  return harness.gateway.log
    .filter((line) => id !== null && line.includes(id))
    .map((line): Record<string, unknown> => JSON.parse(line));
}

it.each([
  ['GET', '/v1/models', 200],
  ['GET', '/v1/models/unknown/nothing', 404],
  ['GET', '/alpha/v1/models/unknown/nothing', 404],
  ['GET', '/v1/user/balance', 401],
  ['GET', '/nowhere', 404],
  ['GET', '/healthz', 200],
  ['GET', '/readyz', 200],
  ['POST', '/v1/chat/completions', 401],
  ['GET', '/faulty', 500],
  ['GET', '/worse', 500],
])("the id of a request is in the reply's header: %s %s, %i", async (method, path, status) => {
  const response = await fetch(`${harness.gateway.url}${path}`, { method });
  expect(response.status).toBe(status);
  expect(response.headers.get('x-request-id')).toMatch(uuid);
  expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'));
});

it('the id of a request differs for every request, also for cached replies', async () => {
  const replies = await Promise.all([1, 2, 3].map(() => fetch(`${harness.gateway.url}/v1/models`)));
  expect(new Set(replies.map(({ headers }) => headers.get('x-request-id'))).size).toBe(3);
});

it("the id of a request is in the error's body if the protocol has a field for it", async () => {
  const response = await fetch(`${harness.gateway.url}/alpha/v1/models/unknown/nothing`);
  expect(await response.json()).toMatchObject({ request_id: response.headers.get('x-request-id') });
});

it('the id of a request finds the log line of a route that failed', async () => {
  const response = await fetch(`${harness.gateway.url}/faulty`);
  const id = response.headers.get('x-request-id');
  expect(await response.json()).toEqual({ id });
  expect(findLines(id)).toMatchObject([
    { request: id, route: 'faulty', msg: 'a route failed', error: { message: 'the mill stands still' } },
  ]);
});

it('the id of a request finds both log lines of a route whose error report fails too', async () => {
  const response = await fetch(`${harness.gateway.url}/worse`);
  const id = response.headers.get('x-request-id');
  expect(await response.text()).not.toContain('miller');
  const about = { request: id, method: 'GET', path: '/worse', plugin: 'faulty' };
  expect(findLines(id)).toMatchObject([
    { ...about, error: { message: 'the mill stands still' } },
    { ...about, error: { message: 'so does the miller' } },
  ]);
});

it('the id of a request finds the log lines of its call, plugins, and a tap that failed', async () => {
  const response = await harness.post({
    model: 'openai/gpt-4o-mini',
    messages: [{ role: 'user', content: 'Hello!' }],
  });
  const id = response.headers.get('x-request-id');
  await response.text();
  await expect.poll(() => findLines(id).length).toBe(3);
  const logged = findLines(id).map(({ call, msg }) => [call, msg]);
  expect(logged.toSorted()).toEqual(
    [
      [id, 'a line of a plugin'],
      [id, 'a tap failed'],
      [id, 'call'],
    ].toSorted(),
  );
});

it('a log line stays short, however long the model name in the request', async () => {
  const before = harness.gateway.log.length;
  await harness.post({
    model: `openai/${'x'.repeat(50_000)}`,
    messages: [{ role: 'user', content: 'Hello!' }],
  });
  await expect
    .poll(() => harness.gateway.log.slice(before).some((line) => line.includes('"msg":"call"')))
    .toBe(true);
  for (const line of harness.gateway.log.slice(before)) expect(line.length).toBeLessThan(5000);
});
