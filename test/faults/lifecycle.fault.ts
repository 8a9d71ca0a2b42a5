/**
 * A gateway under load that is stopped, reloaded, and called by slow clients: the long forms of
 * `test/flows/lifecycle` and `test/hostile/sockets`.
 */
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { megabyte, readMemory } from '../support/memory-of.ts';
import {
  hello,
  openOperated,
  buildStreamedCall,
  waitUntil,
  wires,
  type Operated,
  type Wire,
} from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { openSocket } from '../support/raw-socket.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  await operated.verb('credit', 'add', 'default', '10000');
});
afterEach(() => operated.reset());
afterAll(() => operated.close());

async function expectCleanLedger(): Promise<void> {
  expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
}

describe('a gateway that receives a stop signal', () => {
  it('lets five hundred open streams finish, settles them, and exits with 0', async () => {
    const gateway = await operated.start();
    const release = operated.hold();
    const streams = await Promise.all(
      Array.from({ length: 500 }, (_, index) => operated.stream(gateway, wires[index % wires.length])),
    );
    const stopped = gateway.stop('SIGTERM');
    await waitUntil(() =>
      fetch(`${gateway.url}/readyz`).then(
        ({ ok }) => !ok,
        () => true,
      ),
    );
    release();
    const texts = await Promise.all(streams.map((stream) => stream.text()));
    expect(
      texts.filter((text) => text.includes('five') && /\[DONE\]|message_stop|"finishReason"/.test(text))
        .length,
    ).toBe(500);
    expect((await stopped).code).toBe(0);
    await expectCleanLedger();
  });
});

it('a configuration that is replaced ten times a second for a minute fails no call', async () => {
  const gateway = await operated.start();
  const changed = new AbortController();
  const outcomes = new Map<string, number>();
  const calling = wires
    .flatMap((wire) => [wire, wire])
    .map(async (wire, index) => {
      while (!changed.signal.aborted) {
        const stream = await operated.stream(gateway, wire).catch(() => undefined);
        const text = await stream?.text().catch(() => 'broken off');
        const outcome =
          stream?.status === 200 && text !== undefined && /\[DONE\]|message_stop|"finishReason"/.test(text)
            ? 'whole'
            : `${index}: ${stream?.status} ${text?.slice(0, 200)}`;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    });
  for (let reload = 0; reload < 600; reload += 1) {
    operated.configure(`drain: ${30 + (reload % 2)}`);
    gateway.child.kill('SIGHUP');
    await sleep(100);
  }
  changed.abort();
  await Promise.all(calling);
  expect([...outcomes.keys()]).toEqual(['whole']);
  const reloads = gateway.printed().split('the configuration was read again').length - 1;
  process.stdout.write(
    `${outcomes.get('whole')} calls during ${reloads} reloads, ` +
      `${(readMemory(gateway) / megabyte).toFixed(0)} MB at the end\n`,
  );
  expect(reloads).toBeGreaterThan(50);
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  await expectCleanLedger();
});

describe('a key that is disabled while a thousand of its streams run', () => {
  it('is refused within a second, and the streams continue to their ends', async () => {
    const made = z.object({ key: z.string(), id: z.string() }).parse(await operated.verb('keys', 'create'));
    const gateway = await operated.start();
    const release = operated.hold();
    const call = (wire: Wire): Promise<Response> => {
      const { path, body } = buildStreamedCall(wire);
      return postJson(gateway.url + path, body, {
        authorization: `Bearer ${made.key}`,
        'anthropic-version': '2023-06-01',
      });
    };
    const streams: Response[] = [];
    while (streams.length < 1000)
      streams.push(...(await Promise.all(Array.from({ length: 25 }, () => wires.map(call)).flat())));
    expect(streams.filter(({ status }) => status === 200).length).toBe(1000);
    // Each further call looks the key up again.
    const warm = setInterval(
      () =>
        void fetch(`${gateway.url}/v1/user/balance`, { headers: { authorization: `Bearer ${made.key}` } }),
      50,
    );
    await operated.verb('keys', 'disable', made.id);
    await sleep(1000);
    clearInterval(warm);
    for (const wire of wires) expect((await call(wire)).status).toBe(401);
    release();
    const texts = await Promise.all(streams.map((stream) => stream.text()));
    expect(
      texts.filter((text) => text.includes('five') && /\[DONE\]|message_stop|"finishReason"/.test(text))
        .length,
    ).toBe(1000);
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
    await expectCleanLedger();
  });
});

describe('five thousand clients that disconnect within 50 ms', () => {
  it('before the head of a reply leave no connection, no reservation and no error behind', async () => {
    const gateway = await operated.start();
    const release = operated.hold();
    for (let crowd = 0; crowd < 25; crowd += 1) {
      await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          operated
            .stream(gateway, wires[index % wires.length], AbortSignal.timeout((index * 7) % 50))
            .then((stream) => stream.body?.cancel())
            .catch(() => undefined),
        ),
      );
    }
    release();
    operated.vendors.unscript();
    await expect
      .poll(async () => await operated.verb('audit'), { timeout: 60_000, interval: 500 })
      .toMatchObject({ ok: true, pending: 0 });
    await expect
      .poll(() => readdirSync(`/proc/${gateway.child.pid}/fd`).length, { timeout: 120_000, interval: 1000 })
      .toBeLessThan(100);
    expect(gateway.printed()).not.toMatch(/"level":[56]0/);
    expect((await operated.stream(gateway)).status).toBe(200);
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
  });
});

/** Seconds. */
const attack = 5 * 60;

describe('two thousand clients that never finish, and return for five minutes when they are cut off,', () => {
  // Every 5 s a listener looks for connections that took 15 s for a head, or 120 s for a whole request. The
  // bodies are small, since larger ones are cut by their rate.
  it.each([
    ['their heads', 60, () => 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n', 'x-a: b\r\n'],
    [
      'their bodies',
      240,
      () =>
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operated.key}\r\n` +
        'content-length: 60000\r\n\r\n{"model":',
      ' ',
    ],
  ])(
    '%s are cut off within %i seconds, and others are served meanwhile',
    async (_, longest, beginning, drop) => {
      const gateway = await operated.start();
      const callOthers = async (): Promise<void> => {
        for (let call = 0; call < 300; call += 1)
          expect(await (await operated.post(gateway, '/v1/chat/completions', hello)).json()).toHaveProperty(
            'usage',
          );
      };
      const sockets = new Set<Socket>();
      let [over, gone, oldest] = [false, 0, 0];
      async function openClient(): Promise<void> {
        const socket = await openSocket(gateway.url);
        const came = performance.now();
        sockets.add(socket);
        socket
          .removeAllListeners('error')
          .on('error', () => undefined)
          .resume()
          .write(beginning());
        socket.on('close', () => {
          sockets.delete(socket);
          gone += 1;
          oldest = Math.max(oldest, performance.now() - came);
          if (!over) void openClient();
        });
      }
      for (let client = 0; client < 2000; client += 1) await openClient();
      // Each once a second and not all at once, because this process calls too.
      let turn = 0;
      const drip = setInterval(() => {
        turn += 1;
        for (const [place, socket] of [...sockets].entries())
          if (place % 50 === turn % 50) socket.write(drop);
      }, 20);
      for (const end = performance.now() + attack * 1000; performance.now() < end; await sleep(20_000)) {
        await callOthers();
        // One for each of them, and what the gateway itself needs.
        expect(readdirSync(`/proc/${gateway.child.pid}/fd`).length).toBeLessThan(2000 + 100);
        expect(sockets.size).toBeGreaterThan(1000);
      }
      over = true;
      await expect.poll(() => sockets.size, { timeout: longest * 1000, interval: 500 }).toBe(0);
      clearInterval(drip);
      process.stdout.write(`${gone} cut off, after ${(oldest / 1000).toFixed(1)} s at most\n`);
      expect(gone).toBeGreaterThan(2 * 2000 - 1);
      expect(oldest).toBeLessThan(longest * 1000);
      expect((await gateway.stop('SIGTERM')).code).toBe(0);
      await expectCleanLedger();
    },
  );
});
