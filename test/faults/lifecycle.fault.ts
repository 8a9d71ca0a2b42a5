/** A gateway under load that is stopped, changed, and called by those who are slow: the long forms of `test/flows/lifecycle` and `hostile-sockets`. */
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { megabyte, memoryOf } from '../support/memory-of.ts';
import { modelOf, openOperated, until, wires, type Operated } from '../support/operated.ts';
import { openSocket } from '../support/raw.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  await operated.verb('credit', 'add', 'default', '10000');
});
afterEach(() => operated.reset());
afterAll(() => operated.close());

const body = { model: modelOf['chat-completions'], messages: [{ role: 'user', content: 'Hello there, who is it?' }] };

async function expectCleanLedger(): Promise<void> {
  expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
}

describe('a gateway that is told to stop', () => {
  it('lets five hundred open streams finish, settles them, and ends well', async () => {
    const gateway = await operated.start();
    const letGo = operated.hold();
    const streams = await Promise.all(Array.from({ length: 500 }, (_, index) => operated.stream(gateway, wires[index % wires.length])));
    const stopped = gateway.stop('SIGTERM');
    await until(() => fetch(`${gateway.url}/readyz`).then(({ ok }) => !ok, () => true));
    letGo();
    const texts = await Promise.all(streams.map((stream) => stream.text()));
    expect(texts.filter((text) => text.includes('five') && /\[DONE\]|message_stop|"finishReason"/.test(text)).length).toBe(500);
    expect((await stopped).code).toBe(0);
    await expectCleanLedger();
  });
});

describe('a configuration that is replaced ten times a second for a minute', () => {
  it('fails no call', async () => {
    const gateway = await operated.start();
    const changed = new AbortController();
    const outcomes = new Map<string, number>();
    const calling = wires.flatMap((wire) => [wire, wire]).map(async (wire, index) => {
      while (!changed.signal.aborted) {
        const stream = await operated.stream(gateway, wire).catch(() => undefined);
        const text = await stream?.text().catch(() => 'broken off');
        const outcome = stream?.status === 200 && text !== undefined && /\[DONE\]|message_stop|"finishReason"/.test(text) ? 'whole' : `${index}: ${stream?.status} ${text?.slice(0, 200)}`;
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
    process.stdout.write(`${outcomes.get('whole')} calls during ${reloads} reloads, ${(memoryOf(gateway) / megabyte).toFixed(0)} MB at the end\n`);
    expect(reloads).toBeGreaterThan(50);
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
    await expectCleanLedger();
  });
});

describe('five thousand clients that leave within 50 ms', () => {
  it('before there is a head of a reply, leave no connection, no reservation and no fault behind', async () => {
    const gateway = await operated.start();
    const letGo = operated.hold();
    for (let crowd = 0; crowd < 25; crowd += 1) {
      await Promise.all(Array.from({ length: 200 }, (_, index) => operated.stream(gateway, wires[index % wires.length], AbortSignal.timeout((index * 7) % 50)).then((stream) => stream.body?.cancel()).catch(() => undefined)));
    }
    letGo();
    operated.vendors.unscript();
    await expect.poll(async () => await operated.verb('audit'), { timeout: 60_000, interval: 500 }).toMatchObject({ ok: true, pending: 0 });
    await expect.poll(() => readdirSync(`/proc/${gateway.child.pid}/fd`).length, { timeout: 120_000, interval: 1000 }).toBeLessThan(100);
    expect(gateway.printed()).not.toMatch(/"level":[56]0/);
    expect((await operated.stream(gateway)).status).toBe(200);
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
  });
});

describe('two thousand clients that never finish', () => {
  it.each([
    ['their heads', () => 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n', 'x-a: b\r\n'],
    ['their bodies', () => `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operated.key}\r\ncontent-length: 100000\r\n\r\n{"model":`, ' '],
  ])("%s take no more than others' time, and are gone when theirs is over", async (_, beginning, drop) => {
    const gateway = await operated.start();
    const p99 = async (): Promise<number> => {
      const times: number[] = [];
      for (let count = 0; count < 300; count += 1) {
        const began = performance.now();
        expect((await (await operated.post(gateway, '/v1/chat/completions', body)).arrayBuffer()).byteLength).toBeGreaterThan(0);
        times.push(performance.now() - began);
      }
      return times.toSorted((first, second) => first - second)[Math.floor(times.length * 0.99)] ?? 0;
    };
    await p99();
    const before = await p99();
    const sockets = await Promise.all(Array.from({ length: 2000 }, () => openSocket(gateway.url)));
    let gone = 0;
    for (const socket of sockets) {
      socket.on('error', () => undefined).on('close', () => (gone += 1)).resume();
      socket.write(beginning());
    }
    const drip = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write(drop);
    }, 1000);
    const during = await p99();
    // One for each of them, and what the house needs.
    expect(readdirSync(`/proc/${gateway.child.pid}/fd`).length).toBeLessThan(sockets.length + 100);
    process.stdout.write(`p99 ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms beside them\n`);
    expect(during).toBeLessThan(2 * before + 10);
    await expect.poll(() => gone, { timeout: 10 * 60_000, interval: 500 }).toBe(sockets.length);
    clearInterval(drip);
    await gateway.stop('SIGTERM');
  });
});
