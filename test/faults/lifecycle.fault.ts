/**
 * Clients that send their requests as slowly as they can: the long form of `test/hostile/sockets` and
 * `test/flows/withheld-bodies`.
 */
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { hello, openOperated, type Operated } from '../support/operated.ts';
import { openSocket } from '../support/raw-socket.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  await operated.verb('credit', 'add', 'default', '10000');
});
afterEach(() => operated.reset());

async function expectCleanLedger(): Promise<void> {
  expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
}

/** Seconds. */
const attack = 5 * 60;

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
  '2000 clients that never finish %s are cut off within %i s, and others are served',
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
      for (const [place, socket] of [...sockets].entries()) if (place % 50 === turn % 50) socket.write(drop);
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
