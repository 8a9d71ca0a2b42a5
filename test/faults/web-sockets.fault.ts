/**
 * Two thousand WebSockets for a while, and two hundred whose clients read slowly: the long form of
 * `flows/web-socket-memory.test.ts` and `flows/web-socket-faults.test.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import { askable, computeSlope, megabyte, openHeap, readMemory } from '../support/memory-of.ts';
import { modelOf, openOperated, waitUntil, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { openSocket, type SocketClient } from '../support/web-socket.ts';

const kilobyte = 1024;
const minutes = Number(process.env.SOCKET_MINUTES ?? 10);
const isComplete = { type: 'response.completed' };
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const call = { model: modelOf.responses, input: 'Hello.' };

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  operated.configure(
    '',
    "(await import('tollgate/plugins/protocols/responses/web-sockets'))" +
      // A bench beside it may stop the clients for minutes, and then they answer no ping.
      '.webSockets({ perKey: 5000, idle: 7200, life: 7200, ping: 600 }),',
  );
});
afterEach(() => operated.vendors.unscript());

async function openMany(gateway: RunningGateway, count: number): Promise<SocketClient[]> {
  const clients: SocketClient[] = [];
  while (clients.length < count) {
    const more = Array.from({ length: 50 }, () => openSocket(gateway.url, operated.key));
    clients.push(...(await Promise.all(more)));
  }
  return clients;
}

it(
  'two thousand idle WebSockets take at most 40 kB each, and no more as time passes',
  async () => {
    const gateway = await operated.start(askable);
    const heap = await openHeap(gateway);
    const warm = await openMany(gateway, 200);
    for (const client of warm) await client.create(call);
    const before = { left: await heap.left(), resident: readMemory(gateway) };
    const clients = await openMany(gateway, 2000);
    await heap.left();
    const opened = readMemory(gateway) - before.resident;
    for (const client of clients) expect(await client.create(call)).toMatchObject(isComplete);
    // Without the garbage of two thousand calls.
    const [held, grown] = [(await heap.left()) - before.left, readMemory(gateway) - before.resident];
    const each = [held, opened, grown].map((bytes) => (bytes / clients.length / kilobyte).toFixed(1));
    print(
      `${each[0]} kB held for each; the process grown by ${each[1]} kB, and by ${each[2]} after a response`,
    );
    expect(held / clients.length).toBeLessThan(40 * kilobyte);
    expect(opened / clients.length).toBeLessThan(40 * kilobyte);
    const samples: { at: number; value: number }[] = [];
    for (const end = performance.now() + minutes * 60_000; performance.now() < end;) {
      samples.push({ at: performance.now() / 60_000, value: (await heap.left()) / megabyte });
      await sleep(10_000);
    }
    print(`${computeSlope(samples).toFixed(3)} MB more each minute, in ${minutes} minutes`);
    expect(computeSlope(samples)).toBeLessThan(0.5);
    expect(clients.every(({ socket }) => socket.readyState === socket.OPEN)).toBe(true);
    // They still work, each with what it remembers.
    for (const client of clients.slice(0, 50)) {
      const { id } = readObject(client.frames.at(-1)?.response);
      expect(await client.create({ ...call, previous_response_id: id })).toMatchObject(isComplete);
    }
    for (const { socket } of [...warm, ...clients]) socket.terminate();
    heap.close();
    await gateway.stop('SIGTERM');
    expect(await operated.audit()).toMatchObject({ ok: true, pending: 0 });
  },
  (minutes + 20) * 60_000,
);

it('two hundred clients that read nothing cost at most 400 kB each, and pause their vendor', async () => {
  const gateway = await operated.start(askable);
  const heap = await openHeap(gateway);
  const clients = await openMany(gateway, 200);
  for (const client of clients) await client.create(call);
  const before = { left: await heap.left(), resident: readMemory(gateway) };
  operated.vendors.script('*', { text: ['word '.repeat(400)], endless: true });
  for (const client of clients) {
    const { length } = client.frames;
    client.send({ type: 'response.create', ...call });
    await client.waitFor(({ type }) => type === 'response.created', length);
    client.socket.pause();
  }
  const countSent = (): number => operated.vendors.openai.journal.reduce((sum, { bytes }) => sum + bytes, 0);
  // Until all buffers of the system are full.
  for (let sent = -1; sent !== countSent();) {
    sent = countSent();
    await sleep(3000);
  }
  const [held, grown] = [(await heap.left()) - before.left, readMemory(gateway) - before.resident];
  const each = [held, grown].map((bytes) => (bytes / clients.length / kilobyte).toFixed(1));
  print(`${each[0]} kB held for each, the process grown by ${each[1]} kB for each`);
  // By HTTP it is about 270 kB.
  expect(held / clients.length).toBeLessThan(400 * kilobyte);
  for (const { socket } of clients) socket.terminate();
  await waitUntil(() => operated.vendors.openai.openConnections() === 0);
  heap.close();
  await gateway.stop('SIGTERM');
  expect(await operated.audit()).toMatchObject({ ok: true, pending: 0 });
});
