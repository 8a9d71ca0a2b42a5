/** The line each call writes to the log, parsed as an operator's tools parse it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callLog } from '../../plugins/operations/call-log.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { certify } from '../support/certificate.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const secret = 'the moon is made of green cheese';

const untrusted = createServer(certify('127.0.0.1'));

let harness: Harness;
beforeAll(async () => {
  await once(untrusted.listen(0, '127.0.0.1'), 'listening');
  const { port } = untrusted.address() as AddressInfo;
  const baseUrl = `https://127.0.0.1:${port}/v1`;
  harness = await openHarness({ plugins: [callLog(), groq({ apiKey: 'key', baseUrl })] });
});
afterAll(async () => {
  await harness.close();
  untrusted.close();
});

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
