/**
 * What someone sees who has just cloned the project: it starts without any key, says how to call it, and the
 * command line works beside it.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from '../support/process.ts';

const data = { TOLLGATE_DATA: makeDataFolder() };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await startProcess(data);
});

function findFirstKey(): string {
  return /sk-[\w-]+/.exec(gateway.printed())?.[0] ?? '';
}

/** The command to paste, which is on several lines. */
function findExample(): string {
  return /^curl .*(?:\n {2}-.*)+/m.exec(gateway.printed())?.[0] ?? '';
}

it('a first start answers the example call as a shell runs it', async () => {
  const { stdout } = await promisify(execFile)('bash', ['-c', findExample()], {
    env: { ...process.env, KEY: findFirstKey() },
  });
  expect(stdout).toMatch(/Tollgate's demo model/);
});

it('a first start reports health, readiness and metrics', async () => {
  for (const path of ['/healthz', '/readyz']) expect((await fetch(gateway.url + path)).status).toBe(200);
  expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain(
    'tollgate_requests_total{protocol="chat-completions",model="demo/echo",provider="demo",code="200"} 1',
  );
});

it('the command line creates a key with credit that works at once', async () => {
  const { code, output } = await runVerb(['keys', 'create', '--credit', '5', '--json'], data);
  expect(code).toBe(0);
  const made: unknown = JSON.parse(output);
  const key = typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
  const response = await fetch(`${gateway.url}/v1/user/balance`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(await response.json()).toMatchObject({ is_active: true, currency: 'USD' });
});

it('the command line and the first refusal name the command that adds credit', async () => {
  const { output } = await runVerb(['keys', 'create', '--account', 'poor', '--json'], data);
  const made = z.object({ key: z.string(), warning: z.string() }).parse(JSON.parse(output));
  expect(made.warning).toContain('no credit');
  const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] });
  const call = (): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
      body,
    });
  const refused = await call();
  expect([refused.status, await refused.text()]).toEqual([
    402,
    expect.stringContaining('tollgate credit add poor <usd>'),
  ]);
  const { output: shown } = await runVerb(['keys', 'create', '--account', 'poor'], data);
  const [command = ''] = /tollgate credit add poor 5/.exec(shown) ?? [];
  expect((await runVerb(command.split(' ').slice(1), data)).code).toBe(0);
  expect((await call()).status).toBe(200);
  const again = await runVerb(['keys', 'create', '--account', 'poor'], data);
  expect(again.output).not.toContain('no credit');
  expect((await runVerb(['keys', 'create', '--account', 'other'], data)).output).toContain(
    'tollgate credit add other 5',
  );
});

it('the command line reports a wrong configuration in JSON too', async () => {
  const { code, output, errors } = await runVerb(['check', '--json'], {
    ...data,
    TOLLGATE_CONFIG: 'test/support/wrong.config.ts',
  });
  expect([code, JSON.parse(output), errors]).toEqual([
    1,
    { ok: false, fault: expect.stringContaining('wrong.config.ts: ') },
    '',
  ]);
});
