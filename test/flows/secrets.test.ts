/**
 * No secret leaks: keys, prompts and replies go through calls that succeed and fail in every way, and the
 * test looks for them in everything the gateway writes and sends. A key opens what it is for, and nothing of
 * anyone else's.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sendRaw } from '../support/raw-socket.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';
import { body, canary, getAdminUrl, harness, model, openCanaries, opened, send } from './planted-secrets.ts';

openCanaries();

/** Everything clients received except the replies that were meant for them. */
const texts: string[] = [];

async function keep(response: Response): Promise<void> {
  texts.push(JSON.stringify([...response.headers]), response.status === 200 ? '' : await response.text());
  if (!response.bodyUsed) await response.arrayBuffer();
}

it('canaries appear in no log, metric, error, database or file after calls of every kind', async () => {
  const { vendor } = harness;
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
    await fetch(`${harness.gateway.url}/beta/v1beta/models/${model}:generateContent?key=${canary.junk}`, {
      method: 'POST',
      body: '{}',
    }),
  );
  await keep(await fetch(`${harness.gateway.url}/${canary.junk}?key=${harness.key}`));
  await keep(await send('/v1/chat/completions', body, { 'idempotency-key': 'a-key' }));
  const metrics = await (await fetch(`${harness.gateway.url}/metrics`)).text();
  const operator = readFileSync(join(harness.gateway.dataFolder, 'operator-secret'), 'utf8').trim();
  const files = readdirSync(harness.gateway.dataFolder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name !== 'operator-secret' && /\.(db|sqlite|db-wal|sqlite-wal|wal)/.test(name),
  );
  expect(files.length).toBeGreaterThan(0);
  const written = {
    log: harness.gateway.log.join('\n'),
    metrics,
    replies: texts.join('\n'),
    database: files.map((name) => readFileSync(join(harness.gateway.dataFolder, name), 'latin1')).join('\n'),
  };
  for (const [place, text] of Object.entries(written)) {
    const found = Object.entries({ ...canary, key: harness.key, vendor: vendor.key, operator })
      .filter(([, secret]) => text.includes(secret))
      .map(([name]) => `${name} in ${place}`);
    // An outcome stored for a retry is the one place where the gateway writes a reply down.
    expect(found.filter((name) => name !== 'junk in replies' && name !== 'reply in database')).toEqual([]);
  }
  expect(written.log).toContain('"msg":"call"');
});

it('an outgoing head has nothing that a client wrote into a path, model, field or header', async () => {
  const evil = '%0d%0aset-cookie:%20a=b';
  const heads = [
    (
      await sendRaw(
        harness.gateway.url,
        `POST /beta/v1beta/models/openai/x${evil}:generateContent HTTP/1.1\r\nhost: x\r\n` +
          `connection: close\r\nauthorization: Bearer ${harness.key}\r\ncontent-length: 2\r\n\r\n{}`,
      )
    ).text,
    (
      await sendRaw(
        harness.gateway.url,
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
      await sendRaw(harness.gateway.url, [
        'POST /alpha/v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n' +
          'anthropic-version: 2023-06-01\r\nx-request-id: evil\r\n' +
          `authorization: Bearer ${harness.key}\r\n` +
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

it('the gateway connects only to its providers, whatever addresses a call names', async () => {
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
  harness.vendor.script('gpt-4o-mini', {
    reply: { status: 307, headers: { location: decoy.origin }, body: '' },
  });
  expect((await send('/v1/chat/completions', body)).status).toBe(502);
  harness.vendor.unscript();
  const known = [harness.gateway.url, harness.vendor.url, getAdminUrl()].map((url) => new URL(url).host);
  expect([...opened].filter((host) => !known.includes(host))).toEqual([]);
  expect(opened).toContain(new URL(harness.vendor.url).host);
  expect(decoy.bodies).toEqual([]);
});
