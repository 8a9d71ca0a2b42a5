/**
 * A gateway behind common proxies: both read the same requests from the same bytes, whatever these are. Needs
 * nginx and haproxy.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { start, type Started } from '../bench/processes.ts';
import { findFreePort } from '../support/free-port.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { callPath, smuggled } from '../support/smuggled.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-proxied-'));

let harness: Harness;
/** The paths of the requests that the gateway read, in order. */
const read: string[] = [];

function note(message: unknown): void {
  const request =
    typeof message === 'object' &&
    message &&
    'request' in message &&
    message.request instanceof IncomingMessage
      ? message.request
      : undefined;
  if (String(request?.socket.localPort) === new URL(harness.gateway.url).port) read.push(request?.url ?? '');
}

beforeAll(async () => {
  // Their folders are often not on a user's PATH.
  process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
  harness = await openHarness();
  subscribe('http.server.request.start', note);
});
afterAll(async () => {
  unsubscribe('http.server.request.start', note);
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Proxy extends Started {
  readonly url: string;
  /** The paths of the requests that it passed on, in order. */
  sent(): string[];
}

/** Each line of its log is the path of a request, and the server it was sent to. */
function readSent(log: string, unreachable: RegExp): string[] {
  return Array.from(
    readFileSync(log, 'utf8').matchAll(/^request (\S+) to (\S+)$/gm),
    ([, url = '', to = '']) => (unreachable.test(to) ? [] : [url]),
  ).flat();
}

/**
 * Bodies pass unchanged over reused connections: bytes left on one of them would become the next client's.
 */
async function startNginx(): Promise<Proxy> {
  const [port, file, log] = [
    await findFreePort(),
    join(folder, 'nginx.conf'),
    join(folder, 'nginx-requests.log'),
  ];
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/temporary;`)
    .join(' ');
  writeFileSync(
    file,
    `
worker_processes 1;
master_process off;
daemon off;
pid ${folder}/nginx.pid;
events { worker_connections 64; }
http {
  ${temporary}
  log_format told 'request $request_uri to $upstream_addr';
  access_log ${log} told;
  upstream gateway { server ${new URL(harness.gateway.url).host}; keepalive 1; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gateway;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
    }
  }
}
`,
  );
  const [url, printed] = [`http://127.0.0.1:${port}`, join(folder, 'nginx.log')];
  return {
    url,
    ...(await start({ command: 'nginx', args: ['-c', file, '-e', printed], origin: url, log: printed })),
    sent: () => readSent(log, /^-$/),
  };
}

async function startHaproxy(): Promise<Proxy> {
  const [port, file, log] = [await findFreePort(), join(folder, 'haproxy.cfg'), join(folder, 'haproxy.log')];
  writeFileSync(
    file,
    `
global
  log stdout format raw local0
defaults
  mode http
  log global
  log-format "request %HU to %s"
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend door
  bind 127.0.0.1:${port}
  default_backend gateway
backend gateway
  http-reuse always
  server gateway ${new URL(harness.gateway.url).host}
`,
  );
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    ...(await start({ command: 'haproxy', args: ['-db', '-f', file], origin: url, log })),
    sent: () => readSent(log, /^<NOSRV>$/),
  };
}

/** Except for the call itself, of which the gateway may not even have read the head. */
const isOther = (url: string): boolean => url !== callPath;

describe.each([
  ['nginx', startNginx],
  ['haproxy', startHaproxy],
] as const)('a gateway behind %s', (_, startProxy) => {
  let proxy: Proxy;
  beforeAll(async () => void (proxy = await startProxy()));
  afterAll(() => proxy.stop());

  it.each(smuggled)('a call with %s is refused and hides no other', async (name, status, request) => {
    const [requestCount, sent, before] = [harness.vendor.requests.length, proxy.sent().length, read.length];
    const { statuses } = await sendRaw(proxy.url, request(`authorization: Bearer ${harness.key}`), 2000);
    // Both proxies repair some of them, and nginx has its own name for a chunked body.
    expect(statuses[0]).toBeOneOf([status, 400, 501]);
    // The next request, over the same connection to the gateway, gets its own answer.
    for (let count = 0; count < 3; count += 1)
      expect(await (await fetch(`${proxy.url}/healthz?next=${encodeURIComponent(name)}`)).json()).toEqual({
        status: 'ok',
      });
    await expect
      .poll(() => proxy.sent().slice(sent).filter(isOther), { timeout: 5000 })
      .toEqual(read.slice(before).filter(isOther));
    expect(harness.vendor.requests.length).toBe(requestCount);
  });
});
