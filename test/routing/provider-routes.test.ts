/** How operators see providers, and take one out of service, over the admin listener. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { ollama } from '../../plugins/providers/ollama.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { health } from '../../plugins/routing/health.ts';
import { openAdminListener, type AdminListener } from '../support/admin-listener.ts';
import { callRoute } from '../support/host.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder } from '../support/process.ts';
import { chatReply } from '../support/replies.ts';
import { serve } from '../support/serve.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';
import { openWorkerPair, buildTarget } from '../support/traffic.ts';

const answer = JSON.stringify(chatReply('Hi', {}, [1, 1]));
const refusal =
  '{"error":{"message":"Too many requests for key sk-secret-of-the-house-1234567890.","type":"rate_limit"}}';

let status: number;
beforeEach(() => void (status = 200));
afterEach(() => void vi.useRealTimers());

const open = (...plugins: Parameters<typeof openAdminListener>[0]): Promise<AdminListener> =>
  openIn({}, plugins);

async function openIn(
  settings: Parameters<typeof openAdminListener>[1],
  plugins: Parameters<typeof openAdminListener>[0] = [],
): Promise<AdminListener> {
  const list = [
    acceptAnyKey(),
    chatCompletions(),
    tappedVendor('first', ['chat-completions'], () => ({ status, body: status === 200 ? answer : refusal })),
    tappedVendor('second', ['chat-completions'], () => ({ body: answer })),
    health(),
    ...plugins,
  ];
  return openAdminListener(list, settings);
}

/** Makes a call. Returns its status and the provider that answered. */
async function call({ gateway }: AdminListener, preferences = {}): Promise<[number, string | null]> {
  const response = await postJson(`${gateway.url}/v1/chat/completions`, {
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hi' }],
    ...preferences,
  });
  await response.arrayBuffer();
  return [response.status, response.headers.get('x-tollgate-provider')];
}

const overview = z.object({
  providers: z.array(
    z.looseObject({ provider: z.string(), state: z.string(), targets: z.array(z.unknown()) }),
  ),
});

async function see(listener: AdminListener, provider: string): Promise<Record<string, unknown> | undefined> {
  const { body } = await listener.ask('GET', '/providers');
  return overview.parse(body).providers.find((each) => each.provider === provider);
}

it('the list of providers counts attempts, and shows the time to the first event', async () => {
  const listener = await open();
  expect(await see(listener, 'first')).toMatchObject({
    state: 'idle',
    attempts: 0,
    models: 1,
    keys: 1,
    targets: [],
  });
  await call(listener);
  expect(await see(listener, 'first')).toMatchObject({
    state: 'well',
    attempts: 1,
    failed: 0,
    retryShare: 0,
    firstEventMs: { p50: expect.any(Number) },
    targets: [{ key: 1, model: 'house/model', state: 'well', lastErrors: [] }],
  });
});

it('the list of providers shows a key at rest, until when, and its error without secrets', async () => {
  const listener = await open();
  status = 429;
  expect(await call(listener)).toEqual([200, 'second']);
  const seen = await see(listener, 'first');
  expect(seen).toMatchObject({
    state: 'failing',
    failed: expect.any(Number),
    targets: [
      {
        state: 'resting',
        until: expect.stringMatching(/^20/),
        reason: { code: 'rate_limited' },
        lastErrors: expect.arrayContaining([expect.objectContaining({ code: 'rate_limited', status: 429 })]),
      },
    ],
  });
  expect(JSON.stringify(seen)).not.toContain('sk-secret');
  await listener.ask('POST', '/providers/first/wake', {});
  expect(await see(listener, 'first')).toMatchObject({ state: 'well' });
});

it('a provider that cannot be reached has its failed attempts counted, with the reason', async () => {
  const gone = { contextLength: 8192, outputLimit: 1000, free: true } as const;
  const local = ollama({ baseUrl: 'http://127.0.0.1:1/v1', models: { 'ollama/gone': gone } });
  const listener = await openIn({ retries: { attempts: 1 } }, [local]);
  expect(await call(listener, { model: 'ollama/gone' })).toEqual([502, null]);
  expect(await see(listener, 'ollama')).toMatchObject({
    attempts: 1,
    failed: 1,
    targets: [
      {
        lastErrors: [
          {
            code: 'upstream_failed',
            status: null,
            message: expect.stringContaining('(connect ECONNREFUSED 127.0.0.1:1)'),
          },
        ],
      },
    ],
  });
});

it('a provider out of service gets no calls until the operator puts it back', async () => {
  const listener = await open();
  const rested = await listener.ask('POST', '/providers/first/rest', {
    seconds: 600,
    reason: 'maintenance',
  });
  expect(rested.status).toBe(200);
  expect(await see(listener, 'first')).toMatchObject({
    state: 'held',
    holds: [{ key: null, reason: 'maintenance' }],
  });
  expect(await call(listener)).toEqual([200, 'second']);
  await listener.ask('POST', '/providers/first/wake');
  expect(await call(listener)).toEqual([200, 'first']);
});

it('a provider out of service gets no calls even if alone; clients read when to retry', async () => {
  const listener = await open();
  for (const provider of ['first', 'second'])
    await listener.ask('POST', `/providers/${provider}/rest`, { model: 'house/model', seconds: 600 });
  expect((await call(listener))[0]).toBe(503);
  await listener.ask('POST', '/providers/second/wake', { model: 'house/model' });
  expect(await call(listener)).toEqual([200, 'second']);
});

it('a provider out of service stays so in a gateway that starts again', async () => {
  const dataFolder = makeDataFolder();
  let last: AdminListener | undefined;
  const restart = async (): Promise<AdminListener> => {
    await last?.gateway.close();
    last = await openIn({ dataFolder });
    return last;
  };
  const first = await restart();
  await first.ask('POST', '/providers/first/rest', { seconds: 600, reason: 'maintenance' });
  const second = await restart();
  expect(await see(second, 'first')).toMatchObject({ state: 'held', holds: [{ reason: 'maintenance' }] });
  expect(await call(second)).toEqual([200, 'second']);
  await second.ask('POST', '/providers/first/wake');
  expect(await call(await restart())).toEqual([200, 'first']);
  writeFileSync(join(dataFolder, 'providers-at-rest.json'), '{"not":"a list"}');
  const third = await restart();
  expect(await call(third)).toEqual([200, 'first']);
  expect(third.gateway.log.join('')).toContain('providers-at-rest.json');
});

it('a provider out of service serves again by itself when the time is over', async () => {
  const listener = await open();
  await listener.ask('POST', '/providers/first/rest', { seconds: 600 });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 601_000 });
  expect(await call(listener)).toEqual([200, 'first']);
});

it.each<[string, object, number, string]>([
  ['/providers/unknown/rest', {}, 404, 'provider'],
  ['/providers/first/rest', { model: 'no/model' }, 404, 'model'],
  ['/providers/first/rest', { key: 2 }, 404, 'key'],
  ['/providers/first/rest', { seconds: 1e9 }, 400, 'seconds'],
  ['/providers/first/rest', { reason: 'x'.repeat(20_000) }, 400, 'reason'],
  ['/providers/first/wake', { nonsense: 1 }, 400, 'nonsense'],
  ['/providers/first/test', {}, 404, 'provider'],
])(
  'a provider out of service is not affected by an invalid request: %s',
  async (path, order, expected, param) => {
    const listener = await open();
    expect(await listener.ask('POST', path, order)).toMatchObject({
      status: expected,
      body: { error: { param } },
    });
  },
);

it('a provider out of service rests in all workers, and in workers that start later', async () => {
  vi.useFakeTimers();
  const targets = [buildTarget('a'), buildTarget('b')];
  const [first, second] = await openWorkerPair(
    () => [health()],
    () => ({ after: 1 }),
    targets,
  );
  for (const { host } of [first, second]) {
    for (const { provider } of targets) host.providers.add(provider);
  }
  const run = async (name: string, body?: unknown): Promise<unknown> =>
    (await callRoute(first.host.routes.get(name), { params: { provider: 'a' }, body })).body;
  const ask = async (traffic: typeof first): Promise<string | undefined> => {
    const outcome = traffic.call(targets);
    await vi.advanceTimersByTimeAsync(100);
    return (await outcome).provider;
  };
  await run('POST /admin/providers/:provider/rest', { seconds: 60 });
  expect([await ask(first), await ask(second)]).toEqual(['b', 'b']);
  expect(await run('GET /admin/providers')).toMatchObject({
    workers: 2,
    providers: [
      { provider: 'a', state: 'held' },
      { provider: 'b', attempts: 2 },
    ],
  });
  await run('POST /admin/providers/:provider/wake', {});
  expect([await ask(first), await ask(second)]).toEqual(['a', 'a']);
});

it('the test of a provider asks each key for free, and says how long it took', async () => {
  const asked: (string | undefined)[] = [];
  const server = await serve(
    createServer((request, response) => {
      asked.push(request.headers.authorization);
      const status = request.headers.authorization === 'Bearer good-key' ? 200 : 401;
      // Node would write the real date, and tests have one of their own.
      response.writeHead(status, { date: new Date().toUTCString() }).end('{"data":[]}');
    }),
  );
  const listener = await open(openai({ apiKey: ['good-key', 'bad-key'], baseUrl: `${server.origin}/v1` }));
  const { body, text } = await listener.ask('POST', '/providers/openai/test');
  expect(body).toMatchObject({
    results: [
      { key: 1, ok: true, milliseconds: expect.any(Number) },
      {
        key: 2,
        ok: false,
        findings: expect.arrayContaining([expect.objectContaining({ state: 'fault' })]),
      },
    ],
  });
  expect(text).not.toMatch(/good-key|bad-key/);
  await listener.ask('POST', '/providers/openai/test', { key: 1 });
  expect(asked.toSorted()).toEqual(['Bearer bad-key', 'Bearer good-key', 'Bearer good-key']);
});
