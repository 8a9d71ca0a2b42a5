/**
 * The gateway's memory while clients read slowly and while very long streams pass: in either lane only a
 * little for each.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { startFirehose, type Firehose } from '../support/endless-vendor.ts';
import { askable, megabyte, readMemory, openHeap } from '../support/memory-of.ts';
import {
  modelOf,
  openOperated,
  buildStreamedCall,
  waitUntil,
  type Operated,
  type Wire,
} from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { openSocket } from '../support/raw-socket.ts';
import { readNumbers } from '../support/read-numbers.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

let operated: Operated;
let firehose: Firehose;
beforeAll(async () => {
  operated = await openOperated();
  await operated.verb('credit', 'add', 'default', '100000');
});
afterEach(async () => {
  await operated.reset();
  await firehose.close();
});

/** A stream for a client of one protocol, of a model whose provider speaks another. */
function buildCall(client: Wire, vendor: Wire): { readonly path: string; readonly body: object } {
  const { path, body } = buildStreamedCall(client);
  const model = modelOf[vendor];
  return {
    path: path.replace(modelOf['generate-content'], model),
    body: 'model' in body ? { ...body, model } : body,
  };
}

async function expectSettled(gateway: RunningGateway): Promise<void> {
  await waitUntil(
    async () =>
      (await operated
        .verb('audit')
        .then((answer) => typeof answer === 'object' && answer && 'pending' in answer && answer.pending)) ===
      0,
  );
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
}

/** Events that each quick client takes before the slow ones come. */
const quickEvents = 5000;
const readers = 200;
/** Reads of a kilobyte by each slow client between two looks at the provider. */
const readsBetween = 10;
/** The provider's event, without its envelope. */
const word = 'word '.repeat(20);

it.each([
  ['chat-completions', 'chat-completions'],
  ['messages', 'messages'],
  ['chat-completions', 'messages'],
  ['messages', 'chat-completions'],
] as const)(
  '200 clients of %s that read 1 kB/s from a provider of %s cost under 64 MB and slow it down',
  async (client, wire) => {
    firehose = await startFirehose(() => word);
    operated.configure('}, timeouts: { write: 60');
    const gateway = await operated.start({ ...firehose.environment, ...askable });
    const heap = await openHeap(gateway);
    const { path, body } = buildCall(client, wire);
    // The same number of fast readers first: memory that any working process keeps is not the slow ones'
    // cost.
    const quick = Array.from({ length: readers }, async () => {
      let left = quickEvents;
      for await (const part of (await operated.post(gateway, path, body)).body ?? []) {
        left -= Buffer.from(part).toString().split(word).length - 1;
        if (left <= 0) break;
      }
    });
    await Promise.all(quick);
    // Without garbage that is not collected yet, and at the end again.
    const before = await heap.left();
    const resident = readMemory(gateway);
    const text = JSON.stringify(body);
    const sockets = await Promise.all(Array.from({ length: readers }, () => openSocket(gateway.url)));
    for (const socket of sockets) {
      socket.on('error', () => undefined).pause();
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operated.key}\r\n` +
          `anthropic-version: 2023-06-01\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      );
    }
    let most = 0;
    let poured = firehose.poured();
    // Until the system's socket buffers are full. Without back-pressure the provider is never slowed down.
    for (let late = Infinity; late * word.length > 2 * readsBetween * readers * 1024;) {
      for (let reads = 0; reads < readsBetween; reads += 1) {
        await sleep(1000);
        for (const socket of sockets) socket.read(1024);
        most = Math.max(most, readMemory(gateway));
      }
      late = firehose.poured() - poured;
      poured += late;
    }
    const held = (await heap.left()) - before;
    const grown = readMemory(gateway) - resident;
    heap.close();
    const [kept, more, idle, peak] = [held, grown, resident, most].map((bytes) =>
      (bytes / megabyte).toFixed(1),
    );
    print(
      `${client} from ${wire}: ${kept} MB held for them, the process grown by ${more} from ${idle}; ` +
        `${peak} with garbage; ${poured} events`,
    );
    // Node's client keeps up to three reads of 64 KiB for each.
    expect(held).toBeLessThan(64 * megabyte);
    // The allocator keeps some pages of garbage.
    expect(grown).toBeLessThan(100 * megabyte);
    for (const socket of sockets) socket.destroy();
    await expectSettled(gateway);
  },
);

/** The event by which a client of each protocol receives text. */
const pieces: Readonly<Record<Wire, RegExp>> = {
  'chat-completions': /"content":"(\d[\d ]*) "/g,
  messages: /"text":"(\d[\d ]*) "/g,
  responses: /"delta":"(\d[\d ]*) "/g,
  'generate-content': /"text":"(\d[\d ]*) "/g,
};

const events = 1_000_000;
/** Looks at the memory. Not at the very end, where a response repeats its whole text four times. */
const looks = 19;
const every = events / (looks + 1);

it.each([
  ['chat-completions', 'chat-completions'],
  ['responses', 'responses'],
  ['messages', 'messages'],
  ['generate-content', 'generate-content'],
  ['chat-completions', 'messages'],
  ['responses', 'messages'],
  ['messages', 'generate-content'],
  ['generate-content', 'chat-completions'],
] as const)(
  'a million events reach a client of %s from a provider of %s in order, in flat memory',
  async (client, wire) => {
    const resident: number[] = [];
    const left: number[] = [];
    let resume = (): void => undefined;
    firehose = await startFirehose(
      (number) => (number > events ? undefined : `${number} `),
      undefined,
      // The provider waits while the memory is measured, or it would be far ahead of the client.
      (number) =>
        number <= events && number > (left.length + 1) * every
          ? new Promise((resolve) => void (resume = resolve))
          : undefined,
    );
    const gateway = await operated.start({ ...firehose.environment, ...askable });
    const heap = await openHeap(gateway);
    const { path, body } = buildCall(client, wire);
    const began = performance.now();
    const read = await readNumbers(
      await operated.post(gateway, path, body),
      pieces[client],
      every,
      async () => {
        if (left.length === looks) return;
        const held = await heap.left();
        resident.push(readMemory(gateway) / megabyte);
        left.push(held / megabyte);
        resume();
      },
    );
    heap.close();
    const rate = (events / (performance.now() - began)) * 1000;
    const third = Math.floor(left.length / 3);
    const computeGrowth = (samples: readonly number[]): number =>
      Math.max(...samples.slice(-third)) - Math.max(...samples.slice(0, third));
    print(
      `${client} from ${wire}: ${rate.toFixed(0)} events/s, ${computeGrowth(left).toFixed(1)} ` +
        `MB more of heap in the last third, ${computeGrowth(resident).toFixed(1)} ` +
        `MB of the process, ${Math.max(...resident).toFixed(0)} MB at most`,
    );
    expect(read).toBe(events);
    // A translated response keeps its text, 7 MB, for its end.
    expect(computeGrowth(left)).toBeLessThan(client === 'responses' && wire !== client ? 10 : 4);
    expect(computeGrowth(resident)).toBeLessThan(20);
    await expectSettled(gateway);
  },
);
