/** A gateway that reads its configuration again, and stops, while it works: no call suffers from either. */
import { writeFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { houseModel } from '../support/house-model.ts';
import { hello, openOperated, waitUntil, wires, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { serve } from '../support/serve.ts';

let operated: Operated;
beforeAll(async () => void (operated = await openOperated()));
afterEach(() => operated.reset());

function call(gateway: RunningGateway): Promise<Response> {
  return operated.post(gateway, '/v1/chat/completions', hello);
}

async function hasModel({ url }: RunningGateway, id: string): Promise<boolean> {
  return (await (await fetch(`${url}/v1/models`)).text()).includes(id);
}

async function expectCleanLedger(): Promise<void> {
  expect(await operated.audit()).toMatchObject({ ok: true, pending: 0 });
}

it('a data file that changes is reloaded; a provider that is down keeps its models', async () => {
  let requestCount = 0;
  const vendor = await serve(
    createServer((_, response) => {
      requestCount += 1;
      response
        .writeHead(requestCount === 1 ? 200 : 503, { 'content-type': 'application/json' })
        .end('{"data":[{"id":"model"}]}');
    }),
  );
  const file = join(operated.folder, 'models.json');
  const offer = (id: string): void =>
    writeFileSync(
      file,
      JSON.stringify({
        vendor: 'house',
        asOf: '2026-01-01',
        source: 'made up',
        models: [{ ...houseModel, id }],
      }),
    );
  offer('house/first');
  const buildProvider = (name: string, models: string): string =>
    `defineProvider({ name: '${name}', env: { key: '${name}_KEY', baseUrl: '${name}_URL' }, baseUrl: ` +
    `'${vendor.origin}', endpoints: { 'chat-completions': '/' }, models: ${models} })`;
  operated.configure(
    '',
    `${buildProvider('house', `new URL(${JSON.stringify(pathToFileURL(file).href)})`)}({ apiKey: 'k' }),` +
      `${buildProvider('local', "{ discover: '/models' }")}({ apiKey: 'k', free: true })`,
  );
  const gateway = await operated.start();
  await waitUntil(() => hasModel(gateway, 'local/model'));
  expect(await hasModel(gateway, 'house/first')).toBe(true);
  offer('house/second');
  await waitUntil(() => hasModel(gateway, 'house/second'));
  expect(await hasModel(gateway, 'house/first')).toBe(false);
  await waitUntil(() => requestCount > 1);
  expect(await hasModel(gateway, 'local/model')).toBe(true);
  await gateway.stop('SIGTERM');
});

it('a configuration that changes again and again fails no call', async () => {
  const gateway = await operated.start();
  const changed = new AbortController();
  const statuses: number[] = [];
  const calling = Array.from({ length: 4 }, async () => {
    while (!changed.signal.aborted) statuses.push((await call(gateway)).status);
  });
  const countReloads = (): number => gateway.printed().split('the configuration was read again').length;
  for (let reload = 0; reload < 8 || statuses.length <= 20 || countReloads() < 4; reload += 1) {
    gateway.child.kill('SIGHUP');
    await sleep(100);
  }
  changed.abort();
  await Promise.all(calling);
  expect(new Set(statuses)).toEqual(new Set([200]));
  await gateway.stop('SIGTERM');
  await expectCleanLedger();
});

describe('a gateway that receives a stop signal', () => {
  it('is not ready from then on, lets calls finish, keeps no connection open, and exits with 0', async () => {
    const gateway = await operated.start();
    const release = operated.hold();
    const streams = await Promise.all(wires.map((wire) => operated.stream(gateway, wire)));
    const { promise: late, resolve: answer } = Promise.withResolvers<void>();
    operated.vendors.script('gpt-4o-mini', { text: 'late', hold: late });
    const requestCount = operated.vendors.openai.requests.length;
    const agent = new Agent({ keepAlive: true });
    const answered = new Promise<string | undefined>((resolve, reject) => {
      const sending = request(
        `${gateway.url}/v1/chat/completions`,
        { agent, method: 'POST', headers: { authorization: `Bearer ${operated.key}` } },
        (response) => resolve(response.resume().headers.connection),
      );
      sending.on('error', reject).end(JSON.stringify(hello));
    });
    await waitUntil(() => operated.vendors.openai.requests.length > requestCount);
    const stopped = gateway.stop('SIGTERM');
    await waitUntil(() =>
      fetch(`${gateway.url}/readyz`).then(
        ({ ok }) => !ok,
        () => true,
      ),
    );
    answer();
    expect(await answered).toBe('close');
    release();
    for (const stream of streams) expect(await stream.text()).toContain('five');
    expect((await stopped).code).toBe(0);
    await expectCleanLedger();
  });

  describe('and whose calls take too long', () => {
    const sent = new Map<string, string>();
    let code: number | null;
    let sentEarlier = '';
    // One gateway for all protocols, and for a call that began with another configuration.
    beforeAll(async () => {
      operated.configure('', 'demo()');
      const gateway = await operated.start();
      operated.hold();
      const earlier = await operated.stream(gateway);
      operated.configure('drain: 0.3');
      await waitUntil(async () => !(await hasModel(gateway, 'demo/echo')));
      const streams = await Promise.all(
        wires.map(async (wire) => [wire, await operated.stream(gateway, wire)] as const),
      );
      const stopped = gateway.stop('SIGTERM');
      for (const [wire, stream] of streams) sent.set(wire, await stream.text());
      sentEarlier = await earlier.text();
      ({ code } = await stopped);
    });

    it.each([
      ['chat-completions', /^event: error\ndata: \{"error":\{"message":"The gateway is stopping/],
      ['responses', /^event: (error|response\.failed)\ndata: .*The gateway is stopping/],
      [
        'messages',
        /^event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error",.*The gateway is stopp/,
      ],
      ['generate-content', /^data: \{"error":\{"code":503,"message":"The gateway is stopping/],
    ] as const)('ends %s with an error of its protocol', (wire, words) => {
      const text = sent.get(wire) ?? '';
      expect(text).toContain('data: {');
      const blocks = text.trimEnd().split(/\r?\n\r?\n/);
      expect(blocks.filter((block) => block !== 'data: [DONE]').at(-1)).toMatch(words);
      expect(text).not.toMatch(/message_stop|response\.completed|"finishReason"/);
      if (wire === 'chat-completions') expect(text).not.toContain('[DONE]');
    });

    it('ends those of a replaced configuration too', () => {
      expect(sentEarlier).toContain('The gateway is stopping');
    });

    it('settles them, and exits with 0', async () => {
      expect(code).toBe(0);
      await expectCleanLedger();
    });
  });

  it('ends although a plugin never closes, and says so', async () => {
    operated.configure(
      '',
      "{ name: 'stuck', interface: 1, apply: ({ hooks }) => " +
        "hooks.close.tapPromise('stuck', () => new Promise(() => {})) }",
    );
    const gateway = await operated.start();
    const { code, errors } = await gateway.stop('SIGTERM');
    expect([code, errors]).toEqual([0, expect.stringContaining('a plugin did not close within 5 s')]);
  });

  it('because of an uncaught error lets calls finish and exits with a failure code', async () => {
    operated.configure(
      '',
      "{ name: 'careless', interface: 1, apply: () => " +
        "process.once('SIGUSR2', () => { throw new Error('uncaught on purpose'); }) }",
    );
    const gateway = await operated.start();
    const release = operated.hold();
    const stream = await operated.stream(gateway);
    gateway.child.kill('SIGUSR2');
    await waitUntil(() => gateway.printed().includes('uncaught on purpose'));
    release();
    expect(await stream.text()).toContain('[DONE]');
    await waitUntil(() => gateway.child.exitCode !== null);
    expect(gateway.child.exitCode).toBe(1);
    await expectCleanLedger();
  });
});

it('a call that exceeds the maximum duration ends with an error of its protocol', async () => {
  operated.vendors.script('*', { text: ['word '], endless: true, delayEvents: 20 });
  let sent = '';
  // A busy machine may take longer than the limit to the first word.
  for (let limit = 1; limit < 100 && !sent.includes('word '); limit *= 4) {
    operated.configure(`}, timeouts: { call: ${limit}`);
    const gateway = await operated.start();
    sent = await (await operated.stream(gateway, 'messages')).text();
    await gateway.stop('SIGTERM');
  }
  expect(sent).toContain('word ');
  expect(sent.trimEnd().split('\n\n').at(-1)).toMatch(/^event: error\ndata: .*reached the gateway's limit/);
  await expectCleanLedger();
});

it('a gateway that receives two stop signals stops at once', async () => {
  const gateway = await operated.start();
  operated.hold();
  const stream = await operated.stream(gateway);
  const gone = stream.text().catch(() => 'broken off');
  gateway.child.kill('SIGTERM');
  await waitUntil(() => gateway.printed().includes('Stopping'));
  expect((await gateway.stop('SIGTERM')).code).toBe(1);
  expect(await gone).toBe('broken off');
});
