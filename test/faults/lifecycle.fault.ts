/** A gateway under load that is stopped, changed, and called by those who are slow: the long forms of `test/flows/lifecycle` and `hostile-sockets`. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { modelOf, openOperated, streamedCall, until, wires, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { openSocket } from '../support/raw.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  await operated.verb('credit', 'add', 'default', '10000');
});
afterEach(() => operated.reset());
afterAll(() => operated.close());

const megabyte = 1024 * 1024;
const body = { model: modelOf['chat-completions'], messages: [{ role: 'user', content: 'Hello there, who is it?' }] };

/** Bytes the process has in memory. */
function memoryOf({ child: { pid = 0 } }: RunningGateway): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

async function expectCleanLedger(): Promise<void> {
  expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
}

const chunk = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
const usage = `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini', choices: [], usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } })}\n\ndata: [DONE]\n\n`;

/** Writes as much as is taken, and no more, until `next` has nothing left or the peer has gone. */
async function pour(response: ServerResponse, next: () => string | undefined): Promise<void> {
  let taken = (): void => undefined;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).on('drain', () => taken()).on('close', () => taken());
  for (let text = next(); text !== undefined && !response.destroyed; text = next()) {
    if (response.write(text)) continue;
    await new Promise<void>((resolve) => void (taken = resolve));
  }
  response.end();
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

describe('two hundred clients that read a kilobyte a second', () => {
  it('cost less than 50 MB, and slow their vendors down', async () => {
    let poured = 0;
    const vendor = await startScriptedVendor((response) => void pour(response, () => {
      poured += 1;
      return chunk('word '.repeat(200));
    }));
    operated.configure('}, timeouts: { write: 60');
    const gateway = await operated.start({ OPENAI_BASE_URL: `${vendor.origin}/v1` });
    // As many that read at full speed first: what a process that works keeps for itself is not what slow ones cost.
    const quick = Array.from({ length: 200 }, async () => {
      const { path, body: asked } = streamedCall('chat-completions');
      const stream = await operated.post(gateway, path, asked, AbortSignal.timeout(5000)).catch(() => undefined);
      await stream?.body?.pipeTo(new WritableStream()).catch(() => undefined);
    });
    await Promise.all(quick);
    await sleep(2000);
    const before = memoryOf(gateway);
    const text = JSON.stringify(streamedCall('chat-completions').body);
    const sockets = await Promise.all(Array.from({ length: 200 }, () => openSocket(gateway.url)));
    for (const socket of sockets) {
      socket.on('error', () => undefined).pause();
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operated.key}\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
    }
    let most = 0;
    for (let second = 0; second < 30; second += 1) {
      await sleep(1000);
      for (const socket of sockets) socket.read(1024);
      most = Math.max(most, memoryOf(gateway) - before);
    }
    process.stdout.write(`${(most / megabyte).toFixed(1)} MB more at most, after ${(poured / 1000).toFixed(1)} MB of text\n`);
    expect(most).toBeLessThan(50 * megabyte);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await operated.verb('audit').then((told) => typeof told === 'object' && told && 'pending' in told && told.pending)) === 0);
    await gateway.stop('SIGTERM');
    await vendor.close();
    await expectCleanLedger();
  });
});

describe('a stream of a million events', () => {
  it.each([['chat-completions', '/v1/chat/completions', {}], ['messages', '/alpha/v1/messages', { max_tokens: 1000 }]] as const)('reaches a client of %s whole and in order, in flat memory', async (_, path, more) => {
    const events = 1_000_000;
    const vendor = await startScriptedVendor((response) => {
      let sent = 0;
      void pour(response, () => {
        if (sent > events) return undefined;
        sent += 1;
        return sent > events ? chunk('', 'stop') + usage : chunk(`${sent} `);
      });
    });
    const gateway = await operated.start({ OPENAI_BASE_URL: `${vendor.origin}/v1` });
    /** The most the process has in memory while one passes. */
    const pass = async (): Promise<number> => {
      const response = await operated.post(gateway, path, { ...body, ...more, stream: true });
      const decoder = new TextDecoder();
      let [rest, next, most] = ['', 1, 0];
      for await (const bytes of response.body ?? []) {
        const text = rest + decoder.decode(bytes, { stream: true });
        const end = text.lastIndexOf('\n\n');
        rest = end < 0 ? text : text.slice(end);
        for (const [, number] of text.slice(0, Math.max(0, end)).matchAll(/"(?:content|text)":"(\d+) "/g)) {
          if (Number(number) !== next) throw new Error(`${number} came in place of ${next}`);
          next += 1;
          if (next % 20_000 === 0) most = Math.max(most, memoryOf(gateway));
        }
      }
      expect(next - 1).toBe(events);
      return most;
    };
    // The first one also fills what a process that works keeps for itself.
    const began = performance.now();
    const first = await pass();
    const seconds = (performance.now() - began) / 1000;
    const later = [await pass(), await pass()];
    process.stdout.write(`${(events / seconds).toFixed(0)} events/s; ${[first, ...later].map((most) => (most / megabyte).toFixed(0)).join(', ')} MB at most\n`);
    expect(Math.max(...later) - first).toBeLessThan(20 * megabyte);
    await gateway.stop('SIGTERM');
    await vendor.close();
    await expectCleanLedger();
  });
});

describe('two thousand clients that never finish their heads', () => {
  it("take no more than others' time, and are gone when theirs is over", async () => {
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
      socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n');
    }
    const drip = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write('x-a: b\r\n');
    }, 1000);
    const during = await p99();
    process.stdout.write(`p99 ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms beside them\n`);
    expect(during).toBeLessThan(2 * before + 10);
    await until(() => gone === sockets.length);
    clearInterval(drip);
    await gateway.stop('SIGTERM');
  });
});
