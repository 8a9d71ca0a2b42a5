/**
 * The examples of plugins as their config runs them: a process of its own, and calls as their comments write
 * them.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { postJson } from '../support/post.ts';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from '../support/process.ts';
import { startVendor, type Vendor } from '../support/vendor/chat-completions.ts';

const spent = z.object({ calls: z.number(), nanoUsd: z.number() });

let vendor: Vendor;
let gateway: RunningGateway;
let key: string;
const configFile = 'examples/own-plugins.config.ts';
const data = makeDataFolder();
beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startProcess({
    TOLLGATE_CONFIG: configFile,
    TOLLGATE_DATA: data,
    IN_HOUSE_BASE_URL: vendor.url,
    IN_HOUSE_API_KEY: vendor.key,
  });
  key = /sk-[\w-]+/.exec(gateway.printed())?.[0] ?? '';
});
afterAll(async () => {
  await gateway.stop('SIGTERM');
});

function post(body: object, user = `me:${key}`, path = '/ask'): Promise<Response> {
  const authorization = `Basic ${Buffer.from(user).toString('base64')}`;
  return postJson(gateway.url + path, body, { authorization });
}

it('the line in the comment of the config is answered', async () => {
  const config = readFileSync(join(import.meta.dirname, '../../examples/own-plugins.config.ts'), 'utf8');
  const line = /`(curl [^`]+)`/.exec(config)?.[1]?.replace('http://127.0.0.1:8787', gateway.url) ?? '';
  const { stdout } = await promisify(execFile)('bash', ['-c', line], { env: { ...process.env, KEY: key } });
  expect(JSON.parse(stdout)).toMatchObject({
    model: 'demo/echo',
    answer: expect.stringContaining('Hello!'),
    ended: 'stop',
    tokens: { output: expect.any(Number) },
  });
});

it('the protocol streams, piece by piece to its end', async () => {
  const text = await (await post({ model: 'demo/echo', ask: 'Hello again!', stream: true })).text();
  const frames = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']): unknown => JSON.parse(data));
  expect(frames.length).toBeGreaterThan(3);
  expect(frames.at(-1)).toMatchObject({ ended: 'stop', tokens: { input: expect.any(Number) } });
});

it('the provider is asked by whichever protocol, with its key', async () => {
  const reply = await post({ model: 'in-house/gpt-4o-mini', ask: 'Hello, house!' });
  expect(await reply.json()).toMatchObject({
    model: 'in-house/gpt-4o-mini',
    answer: expect.stringContaining('gpt-4o-mini'),
  });
  expect(vendor.requests.at(-1)).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${vendor.key}` },
  });
});

it("the credential plugin refuses an unknown credential in the protocol's format", async () => {
  const reply = await post({ model: 'demo/echo', ask: 'Hello!' }, 'me:sk-unknown');
  expect([reply.status, await reply.json()]).toMatchObject([
    401,
    { error: { code: 'invalid_api_key', message: 'The password is not a key of this gateway.' } },
  ]);
});

it('what is not a question is refused by the name of the field', async () => {
  const reply = await post({ model: 'demo/echo', ask: 7 });
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: 'ask' } }]);
});

it('the route lists prices, of one owner where asked to', async () => {
  const reply = await fetch(`${gateway.url}/prices.csv?owner=demo`);
  expect(reply.headers.get('content-type')).toMatch('text/csv');
  const [head, ...lines] = (await reply.text()).trim().split('\n');
  expect(head).toBe('model,input,output');
  expect(lines.toSorted()[0]).toMatch(/^demo\/echo,0?\.\d+,0?\.\d+$/);
  expect(lines.every((line) => line.startsWith('demo/'))).toBe(true);
});

it('the routing plugin leaves an account the providers it may use', async () => {
  const { output } = await runVerb(
    ['keys', 'create', '--account', 'confidential', '--credit', '1', '--json'],
    { TOLLGATE_CONFIG: configFile, TOLLGATE_DATA: data },
  );
  const confined = `me:${/sk-[\w-]+/.exec(output)?.[0]}`;
  const inside = await post({ model: 'in-house/gpt-4o-mini', ask: 'Hello, house!' }, confined);
  const outside = await post({ model: 'demo/echo', ask: 'Hello!' }, confined);
  expect([inside.status, outside.status, await outside.json()]).toMatchObject([
    200,
    404,
    { error: { code: 'model_not_found' } },
  ]);
});

it('the guard stops a reply that holds a word of its list, and the caller pays for it', async () => {
  const reply = await post({ model: 'demo/echo', ask: 'My password is hunter2.' });
  expect([reply.status, await reply.json()]).toMatchObject([
    400,
    { error: { code: 'content_policy_violation', message: expect.stringContaining('may not leave here') } },
  ]);
  expect(Number(reply.headers.get('x-tollgate-cost'))).toBeGreaterThan(0);
  const harmless = await post({ model: 'demo/echo', ask: 'My password is secret.' });
  expect([harmless.status, await harmless.json()]).toMatchObject([200, { model: 'demo/echo' }]);
});

it('the cache gives an account the same bytes again, at no cost, and no other call', async () => {
  const asked = { model: 'demo/echo', ask: 'Say it twice.' };
  const [first, again] = [await post(asked), await post(asked)];
  expect([first, again].map(({ headers }) => headers.get('x-cache'))).toEqual([null, 'hit']);
  expect(Number(first.headers.get('x-tollgate-cost'))).toBeGreaterThan(0);
  expect(again.headers.get('x-tollgate-cost')).toBe('0');
  expect(await again.text()).toBe(await first.text());
  const streamed = { ...asked, stream: true };
  const [stream, repeated] = [await (await post(streamed)).text(), await post(streamed)];
  expect(repeated.headers.get('x-cache')).toBe('hit');
  expect(await repeated.text()).toBe(stream);
  const other = await runVerb(['keys', 'create', '--account', 'other', '--credit', '1', '--json'], {
    TOLLGATE_CONFIG: configFile,
    TOLLGATE_DATA: data,
  });
  const theirs = await post(asked, `me:${/sk-[\w-]+/.exec(other.output)?.[0]}`);
  expect([theirs.status, theirs.headers.get('x-cache')]).toEqual([200, null]);
});

it('the plugin with tables of its own counts each call with its cost', async () => {
  const look = async () => {
    const authorization = `Basic ${Buffer.from(`me:${key}`).toString('base64')}`;
    const reply = await fetch(`${gateway.url}/spending`, { headers: { authorization } });
    return spent.parse(await reply.json());
  };
  const before = await look();
  const reply = await post({ model: 'demo/echo', ask: 'Hello, books!' });
  const cost = Math.round(Number(reply.headers.get('x-tollgate-cost')) * 1e9);
  expect(cost).toBeGreaterThan(0);
  expect(await look()).toEqual({ calls: before.calls + 1, nanoUsd: before.nanoUsd + cost });
});

it('the README shows the code that keeps tables as it runs here', () => {
  const root = join(import.meta.dirname, '../..');
  const section = /^## Keeping data$.*?^## /ms.exec(
    readFileSync(join(root, 'plugins/README.md'), 'utf8'),
  )?.[0];
  const shown = /^```ts\n(.*?)^```$/ms.exec(section ?? '')?.[1]?.split('\n') ?? [];
  const lines = readFileSync(join(root, 'examples/spending.ts'), 'utf8').split('\n');
  const known = new Set(lines.map((line) => line.trim()));
  expect(shown.length).toBeGreaterThan(15);
  expect(shown.filter((line) => !known.has(line.trim()))).toEqual([]);
});

it('the meter refuses calls beyond the tokens of a day, and says when to retry', async () => {
  const reply = await post({ model: 'demo/echo', ask: 'word '.repeat(1200) });
  expect(reply.status).toBe(200);
  await reply.text();
  const refused = await post({ model: 'demo/echo', ask: 'Hello, meter!' });
  expect([refused.status, await refused.json()]).toMatchObject([
    429,
    { error: { message: 'The 1000 tokens of today are used up.' } },
  ]);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
});

it('the middleware adds its header to calls and pages, and refuses a path before keys', async () => {
  const call = await post({ model: 'in-house/gpt-4o-mini', ask: 'x' }, 'me:sk-unknown');
  const page = await fetch(`${gateway.url}/prices.csv`);
  const hidden = await fetch(`${gateway.url}/metrics`);
  expect([call, page, hidden].map(({ status }) => status)).toEqual([401, 200, 403]);
  expect([call, page, hidden].map(({ headers }) => headers.get('x-served-by'))).toEqual(
    Array.from({ length: 3 }, () => 'in-house'),
  );
  expect(await hidden.json()).toMatchObject({ error: { code: 'forbidden' } });
});
