/**
 * Floods of uninvited clients: connections, invalid keys, requests for listings, names with terminal control
 * codes. Invited clients notice nothing.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { callLog } from '../../plugins/operations/call-log.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { createSecret } from '../../plugins/shared/secret.ts';
import { readBooks } from '../balance/ledger-file.ts';
import { onLinux } from '../support/available.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { runVerb } from '../support/process.ts';
import { sendRaw } from '../support/raw-socket.ts';

const most = 40;
const model = 'openai/gpt-4o-mini';
const body = { model, messages: [{ role: 'user' as const, content: 'Hello!' }] };

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({
    plugins: [messages(), apiKeyHeader(), callLog(), admin({ port: 0 })],
    settings: { server: { maxConnections: most } },
  });
});

it.runIf(onLinux)(
  'six hundred clients that connect while the event loop is busy are all connected, and wait',
  () => {
    const { hostname, port } = new URL(harness.gateway.url);
    const script = `
      let connected = 0;
      for (let client = 0; client < 600; client += 1)
        require('node:net').connect(${port}, '${hostname}', () => ++connected === 600 && process.exit(7));
    `;
    expect(spawnSync(process.execPath, ['-e', script], { timeout: 200_000 }).status).toBe(7);
  },
);

it('a revoked key costs no ledger query, no log line, and each of its clients one call', async () => {
  const made: unknown = await harness.gateway.verb('keys create', [], { account: 'tester' });
  const { key, id } =
    typeof made === 'object' && made && 'key' in made && 'id' in made
      ? { key: String(made.key), id: String(made.id) }
      : { key: '', id: '' };
  await harness.gateway.verb('keys disable', [id]);
  const file = join(harness.gateway.dataFolder, 'ledger.db');
  const readEntries = (): unknown => readBooks(file).entries;
  const [before, logged, ended, requestCount] = [
    readEntries(),
    harness.gateway.log.length,
    harness.gateway.ends.length,
    harness.vendor.requests.length,
  ];
  for (let count = 0; count < 20; count += 1) {
    await expect(
      new OpenAI({ apiKey: key, baseURL: `${harness.gateway.url}/v1` }).chat.completions.create(body),
    ).rejects.toMatchObject({ status: 401 });
    await expect(
      new Anthropic({ apiKey: key, baseURL: `${harness.gateway.url}/alpha` }).messages.create({
        ...body,
        max_tokens: 20,
      }),
    ).rejects.toMatchObject({ status: 401 });
  }
  expect((await harness.gateway.ended(ended + 40)).length - ended).toBe(40);
  expect([readEntries(), harness.vendor.requests.length]).toEqual([before, requestCount]);
  expect(harness.gateway.log.slice(logged).filter((line) => !line.includes('"level":20'))).toEqual([]);
});

it('a revoked key cannot be guessed, and the attempts delay no other client', async () => {
  for (let round = 0; round < 10; round += 1) {
    const junk = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? createSecret() : `sk-${'x'.repeat(42)}`,
    );
    const trying = junk.map(
      async (key) => (await harness.post(body, { headers: { authorization: `Bearer ${key}` } })).status,
    );
    expect((await harness.post(body)).status).toBe(200);
    expect(new Set(await Promise.all(trying))).toEqual(new Set([401]));
  }
});

it('a public listing is the same for every host, address or key a client claims', async () => {
  const look = async (headers: Record<string, string>, path = '/v1/models'): Promise<string> =>
    (await fetch(harness.gateway.url + path, { headers: { connection: 'close', ...headers } })).text();
  const whole = await look({});
  expect(
    (
      await sendRaw(
        harness.gateway.url,
        'GET /v1/models HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n',
      )
    ).text,
  ).toContain(whole);
  for (const headers of [
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher' },
    { authorization: 'Bearer sk-evil' },
    { 'x-original-url': '/evil', 'x-rewrite-url': '/evil' },
    { accept: 'text/evil', 'accept-language': 'evil' },
  ]) {
    expect(await look(headers)).toBe(whole);
    expect(await look(headers, '/v1/models?evil=1')).toBe(whole);
  }
  expect(await look({})).toBe(whole);
  expect(whole).not.toMatch(new RegExp(`evil|${harness.vendor.key}|${new URL(harness.vendor.url).host}`));
});

const steering = '\u001b[31mred\u0007\r\u009b2J<script>alert(1)</script>\r\n\u202eeno\u2066\tx';

it('a name with terminal control codes is one line of plain JSON in the log', async () => {
  const before = harness.gateway.log.length;
  const response = await harness.post(
    { ...body, model: `openai/${steering}`, user: steering },
    { headers: { 'user-agent': 'x<script>' } },
  );
  expect(response.status).toBe(404);
  harness.vendor.script('gpt-4o-mini', {
    reply: { status: 400, body: { error: { message: steering, type: 'invalid_request_error' } } },
  });
  expect((await harness.post(body)).status).toBe(400);
  harness.vendor.unscript();
  await expect
    .poll(() => harness.gateway.log.slice(before).filter((line) => line.includes('"msg":"call"')).length)
    .toBe(2);
  for (const line of harness.gateway.log.slice(before)) {
    expect(line.trimEnd()).not.toMatch(/[^\P{Cc}\u0080-\u009f]/u);
    expect(() => JSON.parse(line)).not.toThrow();
  }
});

it('a name with terminal control codes is printed escaped by the command line', async () => {
  const environment = { TOLLGATE_DATA: join(harness.gateway.dataFolder, 'terminal'), PORT: '0' };
  const made = await runVerb(['keys', 'create', '--name', steering], environment);
  const listed = await runVerb(['keys', 'list'], environment);
  const refused = await runVerb(['credit', 'add', steering, '1'], environment);
  const id = /key (\S+)\.$/m.exec(made.output)?.[1] ?? '';
  const shown = await runVerb(['keys', 'show', id], environment);
  const asJson = await runVerb(['keys', 'list', '--json'], environment);
  const marked = await runVerb(['markups', 'set', '--model', 'a/\u202eb', '--percent', '5'], environment);
  expect([made, listed, shown, asJson, refused].map(({ code }) => code)).toEqual([0, 0, 0, 0, 1]);
  expect(listed.output).toContain('red');
  for (const { output, errors } of [made, listed, shown, asJson, marked, refused])
    expect(output + errors).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}|[\u2028\u2029]/u);
  // The key, and a heading; sums are below several keys only.
  expect(listed.output.trimEnd().split('\n')).toHaveLength(2);
  expect(JSON.stringify(JSON.parse(asJson.output))).toContain(JSON.stringify(steering).slice(1, -1));
});
