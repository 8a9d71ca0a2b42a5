/** The line each call writes to the log, parsed as an operator's tools parse it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callLog, formatCallLine } from '../../plugins/operations/call-log.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { onLinux } from '../support/available.ts';
import { certify } from '../support/certificate.ts';
import { findFreePort } from '../support/free-port.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { postJson } from '../support/post.ts';
import { clone, makeDataFolder } from '../support/process.ts';

const secret = 'the moon is made of green cheese';

const untrusted = createServer(certify('127.0.0.1'));

let harness: Harness;
beforeAll(async () => {
  await once(untrusted.listen(0, '127.0.0.1'), 'listening');
  const { port } = untrusted.address() as AddressInfo;
  const baseUrl = `https://127.0.0.1:${port}/v1`;
  harness = await openHarness({ plugins: [callLog(), groq({ apiKey: 'key', baseUrl })] });
});
afterAll(() => void untrusted.close());

/** The log lines of calls, once there are `count`. */
async function readCallLines(count: number): Promise<Record<string, unknown>[]> {
  await harness.gateway.ended(count);
  return harness.gateway.log
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter(({ msg }) => msg === 'call');
}

describe('the call log', () => {
  it('writes one line for each call: who, what, how it ended, its duration and its cost', async () => {
    const response = await harness.post({
      model: 'openai/gpt-4o-mini',
      messages: [{ role: 'user', content: secret }],
    });
    const [line] = await readCallLines(1);
    expect(line).toMatchObject({
      call: response.headers.get('x-request-id'),
      protocol: 'chat-completions',
      operation: 'generate',
      address: '127.0.0.1',
      asked: 'openai/gpt-4o-mini',
      model: 'openai/gpt-4o-mini',
      provider: 'openai',
      outcome: 'completed',
      status: 200,
      attempts: 1,
      basis: 'usage',
      cost: expect.stringMatching(/^[1-9]\d*$/),
      duration: expect.any(Number),
    });
  });

  it('states why a call failed, with each attempt', async () => {
    const attempt = { provider: 'openai', outcome: 'upstream_failed' };
    harness.vendor.script('gpt-4o-mini', { reply: { status: 500, body: '{}' } });
    await harness.post({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: secret }] });
    harness.vendor.unscript();
    expect((await readCallLines(2))[1]).toMatchObject({
      outcome: 'failed',
      status: 502,
      code: 'upstream_failed',
      tries: [attempt, attempt, attempt],
      cost: '0',
    });
  });

  it('logs calls without a valid key only at the level debug', async () => {
    await fetch(`${harness.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-unknown' },
      body: '{}',
    });
    expect((await readCallLines(3))[2]).toMatchObject({
      level: 20,
      outcome: 'refused',
      code: 'invalid_api_key',
    });
  });

  it('never holds a prompt or a key, even if the provider quotes the prompt', async () => {
    const error = { message: `"${secret}" is no question`, type: 'invalid_request_error', code: null };
    harness.vendor.script('gpt-4o-mini', { reply: { status: 400, body: JSON.stringify({ error }) } });
    const response = await harness.post({
      model: 'openai/gpt-4o-mini',
      messages: [{ role: 'user', content: secret }],
    });
    harness.vendor.unscript();
    expect(await response.text()).toContain(secret);
    await readCallLines(4);
    const log = harness.gateway.log.join('');
    expect(log).toContain('"msg":"call"');
    expect(log).not.toContain(secret);
    expect(log).not.toContain('sk-unknown');
    expect(log).not.toMatch(/sk-[\w-]{20,}/);
  });

  it('names the cause of a connection that fails, which clients do not see', async () => {
    const response = await harness.post({
      model: 'qwen/qwen3.6-27b',
      messages: [{ role: 'user', content: secret }],
    });
    expect(await response.json()).toMatchObject({ error: { message: 'The provider could not be reached.' } });
    expect((await readCallLines(5))[4]).toMatchObject({
      tries: expect.arrayContaining([
        expect.objectContaining({ outcome: 'upstream_failed', cause: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      ]),
    });
  });
});

describe('the line of a call for people', () => {
  it('has time, status, whose call it was, model, duration, tokens, cost, and why it failed', async () => {
    const ends = await harness.gateway.ended(4);
    const [done = '', failed = '', refused = ''] = ends.map((end) =>
      stripVTControlCharacters(formatCallLine(end)),
    );
    expect(done).toMatch(
      /^\d\d:\d\d:\d\d 200 [\w-]+\/\S+ openai\/gpt-4o-mini \d[\d.]*m?s \d+→\d+ \$0\.0\d+$/,
    );
    expect(failed).toMatch(/ 502 \S+ openai\/gpt-4o-mini \S+ \$0 upstream_failed$/);
    expect(refused).toMatch(/^\d\d:\d\d:\d\d 401 \d+ms \$0 invalid_api_key$/);
  });

  it('holds no control character that a client put into the name of a model', async () => {
    await harness.post({
      model: 'openai/\u001b]0;title\u0007',
      messages: [{ role: 'user', content: secret }],
    });
    const end = (await harness.gateway.ended(6)).at(-1);
    expect(end && stripVTControlCharacters(formatCallLine(end))).toMatch(/ openai\/\ufffd\]0;title\ufffd /);
  });
});

describe.runIf(onLinux)('on a terminal', () => {
  it('each call is one coloured line', async () => {
    const { PATH = '', HOME = '' } = process.env;
    const port = String(await findFreePort());
    const command = `'${process.execPath}' '${clone.entry}' start`;
    const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      cwd: clone.folder,
      env: { PATH, HOME, TOLLGATE_DATA: makeDataFolder(), TOLLGATE_ADMIN_PORT: '0', PORT: port },
    });
    let printed = '';
    child.stdout.on('data', (chunk) => (printed += chunk));
    const soon = { timeout: 60_000, interval: 50 };
    await expect.poll(() => printed, soon).toMatch(/export KEY=sk-\w+/);
    const [, key = ''] = /export KEY=(sk-\w+)/.exec(printed) ?? [];
    const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] };
    await postJson(`http://127.0.0.1:${port}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
    // The escape sequences of colours, by their numbers.
    const readLines = (): string => printed.replaceAll(String.fromCodePoint(27), 'ESC');
    await expect
      .poll(readLines, soon)
      .toMatch(/\nESC\[2m[\d:]+ESC\[22m ESC\[32m200ESC\[39m default\/first key demo\/echo [^\n]*\$0/);
    child.stdin.write('\u0003');
    await once(child, 'close');
    expect(printed).not.toContain('"msg":"call"');
  });
});
