/**
 * No secret leaks: keys, prompts and replies go through calls that succeed and fail in every way, and the
 * test looks for them in everything the gateway writes and sends. A key opens what it is for, and nothing of
 * anyone else's.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { callLog } from '../../plugins/operations/call-log.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { openHouse, type House } from '../support/house.ts';
import { sendRaw } from '../support/raw.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';

const model = 'openai/gpt-4o-mini';
const canary = {
  prompt: 'canary-of-the-prompt-7f3a',
  reply: 'canary-of-the-reply-9c1e',
  junk: 'sk-canary-of-a-wrong-key-4b2d',
};
const body = { model, messages: [{ role: 'user', content: canary.prompt }] };

let house: House;
let other: string;
/** Everything clients received except the replies that were meant for them. */
const told: string[] = [];
/** The hosts that this process, and the gateway in it, has connected to or looked up. */
const opened = new Set<string>();

function note(message: unknown): void {
  const socket =
    typeof message === 'object' && message && 'socket' in message && message.socket instanceof Socket
      ? message.socket
      : undefined;
  socket
    ?.on('connect', () => void opened.add(`${socket.remoteAddress}:${socket.remotePort}`))
    .on('lookup', (_error, _address, _family, host) => void opened.add(host));
}

beforeAll(async () => {
  subscribe('net.client.socket', note);
  house = await openHouse({
    plugins: [
      apiKeyHeader(),
      googleApiKey(),
      responses(),
      messages(),
      generateContent(),
      prometheus(),
      callLog(),
      calls(),
      admin({ port: 0 }),
    ],
    settings: { timeouts: { firstEvent: 0.3, reply: 0.3, idle: 0.3 } },
  });
  const made: unknown = await house.gateway.verb('keys create', [], { account: 'neighbour', credit: '1' });
  other = typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
});
afterAll(async () => {
  unsubscribe('net.client.socket', note);
  await house.close();
});

function door(): string {
  return findAdminUrl(house.gateway.told);
}

async function send(path: string, sent: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(house.gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'anthropic-version': '2023-06-01', ...headers },
    body: typeof sent === 'string' ? sent : JSON.stringify(sent),
  });
}

async function keep(response: Response): Promise<void> {
  told.push(JSON.stringify([...response.headers]), response.status === 200 ? '' : await response.text());
  if (!response.bodyUsed) await response.arrayBuffer();
}

describe('canaries', () => {
  it('appear in no log, metric, error, database or file after calls of every kind', async () => {
    const { vendor } = house;
    for (const stream of [false, true]) {
      for (const scenario of [
        { text: canary.reply },
        { text: [canary.reply, 'x'], cut: { how: 'rst' as const, bytes: 300 } },
        { text: canary.reply, hold: 'forever' as const },
        { text: [canary.reply], fail: { after: 1, error: { message: `our key ${vendor.key} was refused` } } },
        {
          reply: {
            status: 401,
            body: {
              error: {
                message: `wrong key ${vendor.key}`,
                type: 'invalid_request_error',
                code: 'invalid_api_key',
              },
            },
          },
        },
        { reply: { status: 500, body: `<html>${vendor.key} ${canary.prompt}</html>` } },
        { reply: { status: 302, headers: { location: `http://127.0.0.1:1/?key=${vendor.key}` }, body: '' } },
        { reply: { status: 200, body: `${vendor.key} is no JSON` } },
      ]) {
        vendor.script('gpt-4o-mini', scenario);
        await keep(await send('/v1/chat/completions', { ...body, stream }));
        await keep(await send('/alpha/v1/messages', { ...body, stream, max_tokens: 20 }));
      }
    }
    vendor.unscript();
    const broken = JSON.stringify(body).slice(0, -20);
    for (const path of [
      '/v1/chat/completions',
      '/v1/responses',
      '/alpha/v1/messages',
      `/beta/v1beta/models/${model}:generateContent`,
    ]) {
      // The part of a body that JSON's parser quotes is the client's own, and only the client sees it.
      await (await send(path, broken)).arrayBuffer();
      await keep(await send(path, { ...body, model: 'openai/none' }));
      for (const header of ['authorization', 'x-api-key', 'x-goog-api-key'])
        await keep(
          await send(path, body, {
            authorization: '',
            [header]: header === 'authorization' ? `Bearer ${canary.junk}` : canary.junk,
          }),
        );
    }
    await keep(
      await fetch(`${house.gateway.url}/beta/v1beta/models/${model}:generateContent?key=${canary.junk}`, {
        method: 'POST',
        body: '{}',
      }),
    );
    await keep(await fetch(`${house.gateway.url}/${canary.junk}?key=${house.key}`));
    await keep(await send('/v1/chat/completions', body, { 'idempotency-key': 'a-key' }));
    const metrics = await (await fetch(`${house.gateway.url}/metrics`)).text();
    const operator = readFileSync(join(house.gateway.dataFolder, 'operator-secret'), 'utf8').trim();
    const files = readdirSync(house.gateway.dataFolder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name !== 'operator-secret' && /\.(db|sqlite|db-wal|sqlite-wal|wal)/.test(name),
    );
    expect(files.length).toBeGreaterThan(0);
    const written = {
      log: house.gateway.log.join('\n'),
      metrics,
      told: told.join('\n'),
      database: files.map((name) => readFileSync(join(house.gateway.dataFolder, name), 'latin1')).join('\n'),
    };
    for (const [place, text] of Object.entries(written)) {
      const found = Object.entries({ ...canary, key: house.key, vendor: vendor.key, operator })
        .filter(([, secret]) => text.includes(secret))
        .map(([name]) => `${name} in ${place}`);
      // An outcome stored for a retry is the one place where the gateway writes a reply down.
      expect(found.filter((name) => name !== 'junk in told' && name !== 'reply in database')).toEqual([]);
    }
    expect(written.log).toContain('"msg":"call"');
  });
});

/**
 * Ways to write a path so that one parser takes it for another: by encoding, by dot segments, by case, by
 * what follows a semicolon.
 */
function tricksFor(path: string): string[] {
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
function statusOf(
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

describe('a key', () => {
  it('of a user opens no path of the operators, by any method, on either listener', async () => {
    const paths = [
      '/admin/keys',
      '/admin/accounts',
      '/admin/credits',
      '/admin/usage',
      '/admin/audit',
      '/admin/keys/x/disable',
    ];
    for (const base of [door(), house.gateway.url]) {
      for (const path of [...paths, ...paths.slice(0, 1).flatMap(tricksFor)]) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          const status = await statusOf(base, method, path, {
            authorization: `Bearer ${house.key}`,
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

  it('is required for its paths, however they are written', async () => {
    for (const path of ['/v1/user/balance', '/v1/calls/x']) {
      for (const trick of tricksFor(path)) {
        for (const [method, headers] of [
          ['GET', {}],
          ['POST', { 'x-http-method-override': 'GET' }],
          ['HEAD', {}],
        ] as const) {
          expect([trick, method, await statusOf(house.gateway.url, method, trick, headers)]).toEqual([
            trick,
            method,
            expect.toBeOneOf([400, 401, 404, 405]),
          ]);
        }
      }
    }
    const asked = house.vendor.requests.length;
    for (const trick of tricksFor('/v1/chat/completions'))
      expect([trick, await statusOf(house.gateway.url, 'POST', trick, {})]).toEqual([
        trick,
        expect.toBeOneOf([400, 401, 404, 405]),
      ]);
    expect(house.vendor.requests.length).toBe(asked);
  });

  it('reaches models with plain or encoded slashes in their names, and none after a semicolon', async () => {
    const status = (path: string): Promise<number | undefined> =>
      statusOf(
        house.gateway.url,
        'POST',
        path,
        { 'x-goog-api-key': house.key, 'content-type': 'application/json' },
        '{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}',
      );
    for (const name of [model, model.replace('/', '%2F'), model.replace('/', '%2f')])
      expect([name, await status(`/beta/v1beta/models/${name}:generateContent`)]).toEqual([name, 200]);
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
      expect([name, await status(`/beta/v1beta/models/${name}:generateContent`)]).toEqual([
        name,
        expect.toBeOneOf([400, 404]),
      ]);
    }
    for (const end of [':generateContent;a=b', ':generateContent:countTokens', ':', ';:generateContent'])
      expect([end, await status(`/beta/v1beta/models/${model}${end}`)]).toEqual([
        end,
        expect.toBeOneOf([400, 404]),
      ]);
  });

  it('of one account sees no call of another, nor the reply stored under its idempotency key', async () => {
    const mine = await send('/v1/chat/completions', body, { 'idempotency-key': 'shared-name' });
    const id = mine.headers.get('x-request-id') ?? '';
    await mine.arrayBuffer();
    const see = async (key: string): Promise<number> =>
      (await fetch(`${house.gateway.url}/v1/calls/${id}`, { headers: { authorization: `Bearer ${key}` } }))
        .status;
    expect([await see(house.key), await see(other)]).toEqual([200, 404]);
    const asked = house.vendor.requests.length;
    const theirs = await send('/v1/chat/completions', body, {
      'idempotency-key': 'shared-name',
      authorization: `Bearer ${other}`,
    });
    await theirs.arrayBuffer();
    expect([theirs.status, house.vendor.requests.length]).toEqual([200, asked + 1]);
    const balances = await Promise.all(
      [house.key, other].map(async (key) =>
        (
          await fetch(`${house.gateway.url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } })
        ).json(),
      ),
    );
    expect(balances[0]).not.toEqual(balances[1]);
  });

  it('that is disabled during a stream is refused within a second, and the stream continues', async () => {
    const made: unknown = await house.gateway.verb('keys create', [], { account: 'tester' });
    const { key, id } =
      typeof made === 'object' && made && 'key' in made && 'id' in made
        ? { key: String(made.key), id: String(made.id) }
        : { key: '', id: '' };
    const hold = Promise.withResolvers<void>();
    house.vendor.script('gpt-4o-mini', { text: ['a', 'b', 'c'], hold: hold.promise, holdAfter: 2 });
    const streaming = fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...body, stream: true }),
    });
    const stream = await streaming;
    await house.gateway.verb('keys disable', [id]);
    await expect
      .poll(
        async () =>
          (
            await fetch(`${house.gateway.url}/v1/user/balance`, {
              headers: { authorization: `Bearer ${key}` },
            })
          ).status,
      )
      .toBe(401);
    hold.resolve();
    expect(await stream.text()).toMatch(/\[DONE\]|"error"/);
    house.vendor.unscript();
  });
});

describe('a header', () => {
  it("of a client reaches no provider, and a provider's reaches no client, unless meant to", async () => {
    const theirs = {
      cookie: 'canary',
      'x-forwarded-for': 'canary',
      forwarded: 'for=canary',
      'proxy-authorization': 'canary',
      referer: 'http://canary/',
      'x-canary': 'a',
      'user-agent': 'canary',
    };
    house.vendor.script('gpt-4o-mini', {
      text: 'Aye.',
      headers: {
        'set-cookie': 'canary=1',
        server: 'canary',
        'alt-svc': 'canary',
        'openai-organization': 'canary',
        'x-request-id': 'canary',
        location: 'http://canary/',
        'content-security-policy': 'canary',
      },
    });
    for (const stream of [false, true]) {
      const response = await send('/v1/chat/completions', { ...body, stream }, theirs);
      expect([response.status, JSON.stringify([...response.headers])]).toEqual([
        200,
        expect.not.stringContaining('canary'),
      ]);
      await response.text();
      const { headers = {} } = house.vendor.requests.at(-1) ?? {};
      expect(JSON.stringify(headers)).not.toContain('canary');
      expect(Object.values(headers)).not.toContain(`Bearer ${house.key}`);
      expect(headers.authorization).toBe(`Bearer ${house.vendor.key}`);
    }
    house.vendor.unscript();
  });
});

describe('an outgoing head', () => {
  it('contains nothing that a client wrote into a path, a model, a field or a header', async () => {
    const evil = '%0d%0aset-cookie:%20a=b';
    const heads = [
      (
        await sendRaw(
          house.gateway.url,
          `POST /beta/v1beta/models/openai/x${evil}:generateContent HTTP/1.1\r\nhost: x\r\n` +
            `connection: close\r\nauthorization: Bearer ${house.key}\r\ncontent-length: 2\r\n\r\n{}`,
        )
      ).text,
      (
        await sendRaw(
          house.gateway.url,
          `GET /v1/models/openai/${evil} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n` +
            'x-request-id: <script>\r\n\r\n',
        )
      ).text,
    ];
    const lossy = JSON.stringify({
      ...body,
      max_tokens: 20,
      'x\r\nset-cookie: a=b': 1,
      'caf\u00e9\u2028': { '\u0000': 1 },
    });
    heads.push(
      (
        await sendRaw(house.gateway.url, [
          'POST /alpha/v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n' +
            `anthropic-version: 2023-06-01\r\nx-request-id: evil\r\nauthorization: Bearer ${house.key}\r\n` +
            `content-length: ${Buffer.byteLength(lossy)}\r\n\r\n`,
          lossy,
        ])
      ).text,
    );
    for (const text of heads) {
      const [head = ''] = text.split('\r\n\r\n');
      expect(head.toLowerCase()).not.toMatch(/^set-cookie|<script>|x-request-id: evil/m);
      expect(head).toMatch(/^HTTP\/1\.1 (200|400|404)/);
    }
    expect(heads[2]).toMatch(/x-tollgate-dropped: \S+\r\n/);
  });
});

describe("the gateway's sockets", () => {
  it('connect only to the providers of the configuration, whatever addresses a call names', async () => {
    const decoy = await startScriptedVendor((response) => response.end('{}'));
    const port = Number(new URL(decoy.origin).port);
    const urls = [
      `${decoy.origin}/a.png`,
      `http://localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://2130706433:${port}/`,
      `http://0177.0.0.1:${port}/`,
      'http://169.254.169.254/latest/meta-data',
      'http://[fd00:ec2::254]/',
      'http://metadata.google.internal/',
      'file:///etc/passwd',
      `http://user:pass@127.0.0.1:${port}/`,
      'data:text/html,<b>',
    ];
    for (const url of urls) {
      const image = {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url } },
        ],
      };
      await (await send('/v1/chat/completions', { model, messages: [image] })).arrayBuffer();
      await (
        await send('/alpha/v1/messages', {
          model,
          max_tokens: 20,
          messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }],
        })
      ).arrayBuffer();
      await (
        await send('/v1/responses', {
          model,
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_image', image_url: url },
                { type: 'input_file', file_url: url },
              ],
            },
          ],
        })
      ).arrayBuffer();
      await (
        await send(`/beta/v1beta/models/${model}:generateContent`, {
          contents: [
            { role: 'user', parts: [{ text: 'a' }, { fileData: { fileUri: url, mimeType: 'image/png' } }] },
          ],
        })
      ).arrayBuffer();
      // Nor do the fields that could mislead other gateways.
      await (
        await send(
          `/v1/chat/completions?base_url=${encodeURIComponent(url)}`,
          { ...body, api_base: url, base_url: url, api_key: 'x' },
          { 'x-base-url': url, 'x-forwarded-host': `127.0.0.1:${port}` },
        )
      ).arrayBuffer();
    }
    // The gateway follows no redirect of a provider.
    house.vendor.script('gpt-4o-mini', {
      reply: { status: 307, headers: { location: decoy.origin }, body: '' },
    });
    expect((await send('/v1/chat/completions', body)).status).toBe(502);
    house.vendor.unscript();
    const known = [house.gateway.url, house.vendor.url, door()].map((url) => new URL(url).host);
    expect([...opened].filter((host) => !known.includes(host))).toEqual([]);
    expect(opened).toContain(new URL(house.vendor.url).host);
    expect(decoy.bodies).toEqual([]);
    await decoy.close();
  });
});
