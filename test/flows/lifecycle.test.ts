/** A gateway that is changed and stopped while it works: nobody's call suffers from either. */
import { rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from '../support/process.ts';
import { startVendor, type Vendor } from '../support/vendor/chat-completions.ts';

const folder = makeDataFolder();
const file = join(folder, 'gateway.config.ts');
const model = 'openai/gpt-4o-mini';
const text = ['one ', 'two ', 'three ', 'four ', 'five'];
const messages = [{ role: 'user', content: 'Hello there, who is it?' }];

let vendor: Vendor;
let key: string;
let running: RunningGateway | undefined;

/** A configuration as an operator would write it; `server` and `plugins` are source text. */
function configure(server = '', plugins = ''): void {
  writeFileSync(file, `
    import { defineConfig } from 'tollgate';
    import { bearer } from 'tollgate/plugins/auth/bearer';
    import { balance } from 'tollgate/plugins/meters/balance';
    import { prometheus } from 'tollgate/plugins/operations/prometheus';
    import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
    import { messages } from 'tollgate/plugins/protocols/messages';
    import { demo } from 'tollgate/plugins/providers/demo';
    import { openai } from 'tollgate/plugins/providers/openai';
    export default defineConfig({
      server: { port: Number(process.env.PORT), ${server} },
      dataFolder: ${JSON.stringify(folder)},
      plugins: [bearer(), chatCompletions(), messages(), openai(), balance(), prometheus(), ${plugins}],
    });
  `);
}

async function start(environment: Record<string, string> = {}): Promise<RunningGateway> {
  running = await startProcess({ TOLLGATE_CONFIG: file, OPENAI_API_KEY: vendor.key, OPENAI_BASE_URL: vendor.url, ...environment });
  return running;
}

function post({ url }: RunningGateway, body: object = {}, path = '/v1/chat/completions'): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model, messages, ...body }),
  });
}

/** Waits until it is so; a machine with much else to do may take its time. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let left = 400; !(await isSo()); left -= 1) {
    if (left === 0) throw new Error('it never came true');
    await sleep(25);
  }
}

async function hasModel(gateway: RunningGateway, id: string): Promise<boolean> {
  return (await (await fetch(`${gateway.url}/v1/models`)).text()).includes(id);
}

/** A vendor's stream that waits in its middle until it is let go. */
function heldStream(): () => void {
  let letGo = (): void => undefined;
  const hold = new Promise<void>((resolve) => (letGo = resolve));
  vendor.script('gpt-4o-mini', { text, hold, holdAfter: 2 });
  return letGo;
}

async function expectCleanLedger(): Promise<void> {
  const { code, output } = await runVerb(['audit', '--json'], { TOLLGATE_CONFIG: file, PORT: '0' });
  expect([code, JSON.parse(output)]).toMatchObject([0, { ok: true }]);
}

beforeAll(async () => {
  vendor = await startVendor();
  configure();
  const { output } = await runVerb(['keys', 'create', '--credit', '5', '--json'], { TOLLGATE_CONFIG: file, PORT: '0' });
  const made: { key: string } = JSON.parse(output);
  key = made.key;
});
afterEach(async () => {
  vendor.unscript();
  if (running?.child.exitCode === null) await running.stop('SIGKILL');
  configure();
});
afterAll(async () => {
  await vendor.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a configuration that changes', () => {
  it('is in service soon after its file was written, and a stream that runs stays with the old one', async () => {
    const gateway = await start();
    const letGo = heldStream();
    const stream = await post(gateway, { stream: true });
    expect(await hasModel(gateway, 'demo/echo')).toBe(false);
    configure('', 'demo()');
    await until(() => hasModel(gateway, 'demo/echo'));
    configure('', 'demo(), openai.name && undefined');
    letGo();
    const sent = await stream.text();
    expect(sent).toContain('five');
    expect(sent).toContain('[DONE]');
  });

  it('is read again on SIGHUP', async () => {
    const gateway = await start();
    configure('', 'demo()');
    gateway.child.kill('SIGHUP');
    await until(() => hasModel(gateway, 'demo/echo'));
    expect(gateway.printed()).toContain('the configuration was read again');
  });

  it('is refused where it is wrong, and the old one stays', async () => {
    const gateway = await start();
    configure('', 'balance({ fiel: 1 })');
    await until(() => gateway.printed().includes('the new configuration is refused'));
    expect(gateway.printed()).toContain('unknown option \\"fiel\\"');
    expect((await post(gateway)).status).toBe(200);
  });

  it('fails no call while it changes again and again', async () => {
    const gateway = await start();
    const changed = new AbortController();
    const statuses: number[] = [];
    const calling = Array.from({ length: 4 }, async () => {
      while (!changed.signal.aborted) statuses.push((await post(gateway)).status);
    });
    for (let reload = 0; reload < 20; reload += 1) {
      gateway.child.kill('SIGHUP');
      await sleep(100);
    }
    changed.abort();
    await Promise.all(calling);
    expect(statuses.length).toBeGreaterThan(20);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(gateway.printed().split('the configuration was read again').length).toBeGreaterThan(3);
  });
});

describe('a gateway that is told to stop', () => {
  it('is not ready from then on, lets the stream that runs finish, settles it, and ends well', async () => {
    const gateway = await start();
    const letGo = heldStream();
    const stream = await post(gateway, { stream: true });
    const stopped = gateway.stop('SIGTERM');
    await until(() => fetch(`${gateway.url}/readyz`).then(({ ok }) => !ok, () => true));
    letGo();
    expect(await stream.text()).toContain('[DONE]');
    expect((await stopped).code).toBe(0);
    await expectCleanLedger();
  });

  it.each([
    ['/v1/chat/completions', {}, /^data: \{"error":\{"message":"The gateway is stopping/],
    ['/alpha/v1/messages', { max_tokens: 50 }, /^event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"The gateway is stopping/],
  ])('ends %s in its own words when it takes too long', async (path, more, words) => {
    configure('drain: 0.3');
    const gateway = await start();
    heldStream();
    const stream = await post(gateway, { stream: true, ...more }, path);
    const stopped = gateway.stop('SIGTERM');
    const sent = await stream.text();
    expect(sent).toContain('one ');
    expect(sent.trimEnd().split('\n\n').at(-1)).toMatch(words);
    expect(sent).not.toMatch(/\[DONE\]|message_stop/);
    expect((await stopped).code).toBe(0);
    await expectCleanLedger();
  });
});

describe('several workers', () => {
  it('share the port and the ledger, are measured together, and are replaced when they die', async () => {
    configure('workers: 2');
    const gateway = await start();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(gateway)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    for (const answer of answers) await answer.arrayBuffer();
    const counted = async (): Promise<string | undefined> => /tollgate_requests_total\{.*code="200"\} (\d+)/.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1];
    await until(async () => (await counted()) === '20');
    const { code } = await gateway.stop('SIGTERM');
    expect(code).toBe(0);
    await expectCleanLedger();
  });
});

describe('the listener', () => {
  it('refuses a WebSocket at once, with what to do instead', async () => {
    const gateway = await start();
    const refused = new Promise<number | undefined>((resolve, reject) => {
      request(`${gateway.url}/v1/responses`, { headers: { connection: 'upgrade', upgrade: 'websocket' } }, ({ statusCode }) => resolve(statusCode)).on('error', reject).end();
    });
    expect(await refused).toBe(426);
  });

  it('survives a client that resets in the middle of its head', async () => {
    const gateway = await start();
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await new Promise((resolve) => socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nx-', resolve));
    socket.resetAndDestroy();
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });
});
