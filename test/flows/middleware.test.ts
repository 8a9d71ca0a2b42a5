/** Koa middleware of the configuration: before calls and pages, and never in the way of a call's own end. */
import { beforeAll, expect, it } from 'vitest';
import { checkConfig } from '../../core/config.ts';
import type { Middleware } from '../../core/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { openSocket } from '../support/raw-socket.ts';

const seen: string[] = [];

const note: Middleware = async (context, next) => {
  context.set('x-first', 'yes');
  await next();
  seen.push(`${context.method} ${context.path} ${context.status}`);
};

const fail: Middleware = async (context, next) => {
  if (context.path === '/broken') throw new Error('out of luck');
  await next();
};

let harness: Harness;
beforeAll(async () => void (harness = await openHarness({ settings: { middleware: [note, fail] } })));

function call(more: object = {}): Promise<Response> {
  return fetch(`${harness.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'openai/gpt-4o-mini',
      messages: [{ role: 'user', content: 'Hello!' }],
      ...more,
    }),
  });
}

it('comes before calls, refused ones too, pages and unknown paths, and sees how each ended', async () => {
  seen.length = 0;
  const page = (path: string): Promise<Response> => fetch(harness.gateway.url + path);
  const asks = [
    () => call(),
    () => call({ stream: true }),
    () => call({ model: 'none/such' }),
    () => page('/v1/models'),
    () => page('/nothing'),
  ];
  for (const ask of asks) {
    const reply = await ask();
    await reply.text();
    expect(reply.headers.get('x-first')).toBe('yes');
  }
  const path = 'POST /v1/chat/completions';
  await expect
    .poll(() => seen)
    .toEqual([`${path} 200`, `${path} 200`, `${path} 404`, 'GET /v1/models 200', 'GET /nothing 404']);
});

it('fails with a 500 and one line in the log that has the id of the request', async () => {
  const logged = harness.gateway.log.length;
  const reply = await fetch(`${harness.gateway.url}/broken`);
  const id = reply.headers.get('x-request-id') ?? 'none';
  expect(reply.status).toBe(500);
  const lines = harness.gateway.log.slice(logged);
  expect(lines).toEqual([expect.stringContaining('out of luck')]);
  expect(lines[0]).toContain(id);
});

it('a client that resets the connection of its call is cancelled, and no failure is logged', async () => {
  const ended = harness.gateway.ends.length;
  const logged = harness.gateway.log.length;
  const socket = await openSocket(harness.gateway.url);
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${harness.key}\r\n`;
  socket.write(`${head}content-length: 100\r\n\r\n{`);
  await fetch(`${harness.gateway.url}/healthz`);
  socket.resetAndDestroy();
  await harness.gateway.ended(ended + 1);
  const text = harness.gateway.log.slice(logged).join('');
  expect(text).not.toContain('outside the pipeline');
  expect(text).not.toContain('closed its connection');
});

it('is refused by name if it is no function', () => {
  expect(() => checkConfig({ middleware: [7], plugins: [] }, 'gateway.config.ts')).toThrow('middleware.0');
});
