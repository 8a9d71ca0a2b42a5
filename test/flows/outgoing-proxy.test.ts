/** A gateway that reaches its providers only by its network's proxy: nothing else resolves their names. */
import { writeFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { certify } from '../support/certificate.ts';
import { openOperated, waitUntil, type Operated } from '../support/operated.ts';
import { runAlone, runVerb } from '../support/process.ts';
import { serve } from '../support/serve.ts';

const password = 'pass word';
const authorization = `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;

let operated: Operated;
let proxy: { readonly url: string; readonly asked: string[] };
let proxied: Record<string, string>;
const closers: (() => unknown)[] = [];
const sockets = new Set<Socket>();

async function listenOn(server: Server): Promise<number> {
  const { port, close } = await serve(server);
  closers.push(close);
  return port;
}

/** A proxy whose network has these hosts. It asks for a password. */
async function startProxy(hosts: Readonly<Record<string, number>>): Promise<typeof proxy> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const { host, pathname, search } = new URL(request.url ?? '');
    if (request.headers['proxy-authorization'] !== authorization) {
      response.writeHead(407).end();
      return;
    }
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = { port: hosts[host], method: request.method, path: pathname + search, headers };
    request.pipe(
      send(onward, (reply) => {
        response.writeHead(reply.statusCode ?? 0, reply.headers);
        reply.pipe(response);
      }),
    );
  });
  server.on('connect', ({ url = '', headers }, socket: Socket) => {
    requests.push(`CONNECT ${url}`);
    const port = hosts[url];
    if (headers['proxy-authorization'] !== authorization || port === undefined)
      return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    sockets.add(onward.on('error', () => socket.destroy()));
    socket.on('error', () => onward.destroy());
  });
  return {
    url: `http://user:${encodeURIComponent(password)}@127.0.0.1:${await listenOn(server)}`,
    asked: requests,
  };
}

beforeAll(async () => {
  operated = await openOperated();
  const { openai, anthropic } = operated.vendors;
  const { key, cert } = certify('openai.test');
  const file = join(operated.folder, 'certificate.pem');
  writeFileSync(file, cert);
  const tls = createTlsServer({ key, cert }, (socket) => {
    const onward = connect(Number(new URL(openai.url).port), '127.0.0.1');
    sockets.add(onward.on('error', () => socket.destroy()));
    socket.on('error', () => onward.destroy());
    onward.pipe(socket).pipe(onward);
  });
  const hosts = {
    'openai.test:443': await listenOn(tls),
    'anthropic.test': Number(new URL(anthropic.url).port),
  };
  proxy = await startProxy(hosts);
  proxied = {
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    NODE_EXTRA_CA_CERTS: file,
    OPENAI_BASE_URL: openai.url.replace(/^http:\/\/[^/]+/, 'https://openai.test'),
    ANTHROPIC_BASE_URL: anthropic.url.replace(/^http:\/\/[^/]+/, 'http://anthropic.test'),
  };
});
afterEach(async () => {
  await operated.reset();
  proxy.asked.length = 0;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const close of closers) await close();
});

it('HTTPS providers are reached by a tunnel, HTTP ones by the proxy, and local ones directly', async () => {
  const gateway = await operated.start(proxied);
  for (const _ of [1, 2]) expect(await (await operated.stream(gateway)).text()).toContain('[DONE]');
  expect(proxy.asked.splice(0)).toEqual(['CONNECT openai.test:443']);
  const { journal } = operated.vendors.openai;
  expect(JSON.stringify(journal.at(-1)?.received)).not.toMatch(/proxy-/i);
  expect(await (await operated.stream(gateway, 'messages')).text()).toContain('message_stop');
  expect(await (await operated.stream(gateway, 'generate-content')).text()).toContain('STOP');
  expect(proxy.asked).toEqual(['POST http://anthropic.test/v1/messages']);
});

it('the doctor reaches providers through the proxy', async () => {
  const { output } = await runAlone(['doctor'], {
    ...proxied,
    TOLLGATE_DATA: operated.folder,
    PORT: '0',
    OPENAI_API_KEY: operated.vendors.openai.key,
  });
  expect([output, proxy.asked]).toEqual([
    expect.stringContaining('openai.test'),
    ['CONNECT openai.test:443'],
  ]);
});

it('a wrong password or port of a proxy makes a provider unreachable, and no log shows it', async () => {
  const gateway = await operated.start({
    ...proxied,
    HTTPS_PROXY: proxy.url.replace('pass', 'other'),
    HTTP_PROXY: proxy.url.replace(/\d+$/, '1'),
    TOLLGATE_LOG: 'debug',
  });
  for (const wire of ['chat-completions', 'messages'] as const) {
    const response = await operated.stream(gateway, wire);
    expect([response.status, await response.text()]).toEqual([
      502,
      expect.stringContaining('could not be reached'),
    ]);
  }
  await waitUntil(() => gateway.printed().includes('"outcome"') || gateway.printed().includes('502'));
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  expect(gateway.printed()).not.toMatch(/pass( |%20)word|other( |%20)word|Basic /);
});

it('a start with a wrong variable names it, and does not show its value', async () => {
  const { code, errors } = await runVerb(['start'], {
    HTTPS_PROXY: 'socks5://user:secret@proxy',
    TOLLGATE_DATA: operated.folder,
  });
  expect([code, errors]).toEqual([1, expect.stringMatching(/^tollgate: HTTPS_PROXY has to be .*\n$/)]);
  expect(errors).not.toContain('secret');
});
