/**
 * The examples of nginx and Caddy in front of the gateway, run by the real programs: streams arrive event by
 * event, a disconnect reaches the provider, and nothing is sent twice. Needs nginx and caddy.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { start, type Started } from '../bench/processes.ts';
import { findFreePort } from '../support/free-port.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { waitUntil } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { openSocket } from '../support/web-socket.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-in-front-'));
const examples = join(import.meta.dirname, '../../examples/deploy');
const model = 'openai/gpt-4o-mini';

type StartProxy = (gateway: string) => Promise<Started & { readonly url: string }>;

/** The example without its certificate, at a free port, in front of this gateway. */
const startNginx: StartProxy = async (gateway) => {
  const [port, name] = [await findFreePort(), `nginx-${new URL(gateway).port}`];
  const site = readFileSync(join(examples, 'nginx/tollgate.conf'), 'utf8')
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/ssl_certificate\w* .*;/g, '')
    .replace('127.0.0.1:8787', new URL(gateway).host);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/temporary;`)
    .join(' ');
  const file = join(folder, `${name}.conf`);
  const main = `worker_processes 1; master_process off; daemon off; pid ${folder}/${name}.pid; events {}`;
  writeFileSync(file, `${main}\nhttp { ${temporary} access_log off;\n${site}\n}`);
  const [url, log] = [`http://127.0.0.1:${port}`, join(folder, `${name}.log`)];
  return { url, ...(await start({ command: 'nginx', args: ['-c', file, '-e', log], origin: url, log })) };
};

const startCaddy: StartProxy = async (gateway) => {
  const [port, name] = [await findFreePort(), `caddy-${new URL(gateway).port}`];
  const site = readFileSync(join(examples, 'caddy/Caddyfile'), 'utf8')
    .replace('gateway.example.com {', `http://127.0.0.1:${port} {`)
    .replace('127.0.0.1:8787', new URL(gateway).host);
  const file = join(folder, name);
  writeFileSync(file, `{\n\tadmin off\n}\n${site}`);
  const url = `http://127.0.0.1:${port}`;
  const args = ['run', '--adapter', 'caddyfile', '--config', file];
  const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return {
    url,
    ...(await start({ command: 'caddy', args, origin: url, log: join(folder, `${name}.log`), env })),
  };
};

beforeAll(() => {
  // Their folders are often not on a user's PATH.
  process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ['nginx', startNginx],
  ['Caddy', startCaddy],
])('%s in front of the gateway', (_, startProxy) => {
  let harness: Harness;
  let proxy: Awaited<ReturnType<StartProxy>>;
  beforeAll(async () => {
    harness = await openHarness({
      credit: '1000',
      plugins: [responses(), webSockets()],
      settings: { server: { trustedProxies: 1 } },
    });
    proxy = await startProxy(harness.gateway.url);
  });
  afterAll(async () => {
    await proxy.stop();
    await harness.close();
  });

  function post(body: object | string, init: RequestInit = {}): Promise<Response> {
    const headers = {
      authorization: `Bearer ${harness.key}`,
      'content-type': 'application/json',
      ...Object.fromEntries(new Headers(init.headers)),
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(`${proxy.url}/v1/chat/completions`, { method: 'POST', ...init, headers, body: text });
  }
  const call = { model, messages: [{ role: 'user', content: 'Hello!' }], stream: true };

  it('passes on each event while the provider holds the next one', async () => {
    const more = Promise.withResolvers<void>();
    harness.vendor.script('gpt-4o-mini', { text: ['one', 'two'], hold: more.promise, holdAfter: 2 });
    const reader = (await post(call)).body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    // It would wait for ever if the server in front collected the reply.
    while (!text.includes('one')) text += (await reader?.read())?.value ?? '';
    expect(text).not.toContain('two');
    more.resolve();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value;
    expect(text).toMatch(/two[^]*\[DONE\]/);
  });

  it('passes on that the client has disconnected, which cancels the call', async () => {
    const { length } = harness.gateway.ends;
    const never = new Promise<void>(() => undefined);
    harness.vendor.script('gpt-4o-mini', { text: ['one', 'two'], hold: never, holdAfter: 2 });
    const controller = new AbortController();
    const reader = (await post(call, { signal: controller.signal })).body?.getReader();
    await reader?.read();
    controller.abort();
    await waitUntil(() => harness.gateway.ends.length > length);
    expect(harness.gateway.ends.at(-1)).toMatchObject({ outcome: 'aborted' });
  });

  it('appends the address of its client, and the gateway ignores what the client claims', async () => {
    harness.vendor.script('gpt-4o-mini', { text: ['Yes.'] });
    await (await post(call, { headers: { 'x-forwarded-for': '8.8.8.8' } })).text();
    expect(harness.gateway.ends.at(-1)?.exchange.address).toBe('127.0.0.1');
  });

  it('allows a body up to the limit of the gateway, whose error a larger one gets', async () => {
    const limit = 32 * 1024 * 1024;
    const padBody = (bytes: number): string => JSON.stringify(call).padEnd(bytes, ' ');
    // The gateway reads it, and finds it too long for the model.
    expect((await post(padBody(limit))).status).toBe(400);
    const refused = await post(padBody(limit + 1024));
    expect([refused.status, await refused.json()]).toMatchObject([
      413,
      { error: { message: expect.any(String) } },
    ]);
  });

  it('passes a WebSocket on, with the address of its client', async () => {
    const client = await openSocket(proxy.url, harness.key);
    expect(await client.create({ model, generate: false, input: 'Hello.' })).toMatchObject({
      type: 'response.completed',
    });
    const { length } = harness.gateway.ends;
    // The provider of this gateway has no responses, so the call ends with its error.
    await client.create({ model, input: 'Hello.' });
    expect((await harness.gateway.ended(length + 1))[length]?.exchange).toMatchObject({
      transport: 'websocket',
      address: '127.0.0.1',
    });
    client.socket.close();
  });

  it('passes on a refused attempt at a WebSocket, so that its client falls back to HTTP', async () => {
    const { request } = await import('node:http');
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const sent = request(`${proxy.url}/v1/realtime`, { headers }).end();
    const [response] = await once(sent, 'response');
    expect(response.statusCode).toBe(426);
    response.destroy();
  });

  it('never sends a call twice', async () => {
    let count = 0;
    const broken = createServer((request) => {
      if (request.method === 'GET')
        return void request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      count += 1;
      request.resume().on('end', () => request.socket.destroy());
    }).listen(0, '127.0.0.1');
    await once(broken, 'listening');
    const address = broken.address();
    const own = await startProxy(
      `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    );
    const response = await postJson(`${own.url}/v1/chat/completions`, call);
    expect([response.status, count]).toEqual([502, 1]);
    await own.stop();
    broken.closeAllConnections();
    broken.close();
  });
});
