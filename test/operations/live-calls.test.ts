/** Calls as operators see them live: over a socket, from other workers, and for clients that read slowly. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { GatewayError, type End, type Workers } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { LiveCalls } from '../../plugins/operations/calls/live.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { buildHead } from '../support/exchange.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

let gateway: TestGateway | undefined;
const opened: LiveCalls[] = [];
afterEach(async () => {
  for (const live of opened.splice(0)) live.close();
  await gateway?.close();
  gateway = undefined;
});

const list = z.array(z.looseObject({ id: z.string() }));

/** Reads events up to one of this name; returns its data. */
async function waitForEvent(reader: AsyncIterator<string>, name: string): Promise<z.output<typeof list>> {
  for (let text = ''; ;) {
    const { value, done } = await reader.next();
    if (done) throw new Error(`the stream ended before "${name}" came`);
    text += value;
    const found = new RegExp(`event: ${name}\\ndata: (.*)\\n\\n`).exec(text);
    if (found?.[1] !== undefined) return list.parse(JSON.parse(found[1]));
  }
}

describe('live calls', () => {
  it('come as they start and end, as they are listed afterwards, until the gateway closes', async () => {
    gateway = await startGateway({
      plugins: [bearer(), chatCompletions(), demo(), balance(), calls(), admin({ port: 0 })],
    });
    const adminUrl = findAdminUrl(gateway.printed);
    const secret = readFileSync(join(gateway.dataFolder, 'operator-secret'), 'utf8').trim();
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const made = await postJson(
      `${adminUrl}/admin/keys`,
      { account: 'acme', name: 'laptop', credit: '1' },
      headers,
    );
    const { key } = z.object({ key: z.string() }).parse(await made.json());
    expect(
      (await fetch(`${adminUrl}/admin/events`, { headers: { authorization: `Bearer ${key}` } })).status,
    ).toBe(403);
    const response = await fetch(`${adminUrl}/admin/events`, { headers });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const body = response.body?.pipeThrough(new TextDecoderStream());
    if (!body) throw new Error('there is no body');
    const reader = body[Symbol.asyncIterator]();
    const call = await postJson(
      `${gateway.url}/v1/chat/completions`,
      { model: 'demo/echo', messages: [{ role: 'user', content: 'SECRET' }] },
      { ...headers, authorization: `Bearer ${key}` },
    );
    const said = await call.text();
    expect(said).toContain('SECRET');
    const id = call.headers.get('x-request-id');
    const text: string[] = [];
    const recorded: AsyncIterator<string> = {
      async next() {
        const piece = await reader.next();
        if (!piece.done) text.push(piece.value);
        return piece;
      },
    };
    const [started] = await waitForEvent(recorded, 'start');
    expect(started).toMatchObject({
      id,
      account: 'acme',
      key_name: 'laptop',
      model: 'demo/echo',
      provider: 'demo',
      stream: false,
    });
    const ended = text.join('').includes('event: end')
      ? list.parse(JSON.parse(/event: end\ndata: (.*)\n/.exec(text.join(''))?.[1] ?? ''))
      : await waitForEvent(recorded, 'end');
    const listed = z
      .object({ data: list })
      .parse(await (await fetch(`${adminUrl}/admin/calls`, { headers })).json());
    expect(ended).toEqual(listed.data);
    expect(text.join('')).not.toContain('SECRET');
    await gateway.close();
    gateway = undefined;
    for (let isDone = false; !isDone;) isDone = (await recorded.next()).done === true;
  });
});

/** Two workers that reach each other, and what each asked. */
function createWorkerPair(): { workers: [Workers, Workers]; asked: unknown[] } {
  const answers: ((question: unknown) => unknown)[][] = [[], []];
  const requests: unknown[] = [];
  const createWorker = (own: number): Workers => ({
    several: true,
    notify(topic, news) {
      void this.askForFirstAnswer(topic, news);
    },
    async askForFirstAnswer(_topic, question) {
      requests.push(question);
      // Questions cross as JSON.
      return answers[1 - own]?.map((answer) => answer(JSON.parse(JSON.stringify(question))))[0];
    },
    askForAllAnswers: async () => [],
    askSupervisor: async () => undefined,
    answer(_topic, answer) {
      answers[own]?.push(answer);
      return () => undefined;
    },
  });
  return { workers: [createWorker(0), createWorker(1)], asked: requests };
}

/** The end of a call that was refused; counts how often its id is read. */
function buildRefused(id: string, onRead: () => void = () => undefined): End {
  const exchange = buildHead('messages');
  Object.defineProperty(exchange, 'id', {
    get() {
      onRead();
      return id;
    },
  });
  return {
    type: 'refused',
    exchange,
    error: new GatewayError('invalid_request', 'no'),
    attempts: [],
    duration: 5,
    losses: [],
    recording: undefined,
  };
}

function readText(stream: Readable): string {
  return String(stream.read() ?? '');
}

it('events of other workers arrive while a client listens, and cost nothing before', async () => {
  const { workers, asked: requests } = createWorkerPair();
  const [here, there] = workers.map((worker) => new LiveCalls(worker));
  if (!here || !there) throw new Error('there are two');
  opened.push(here, there);
  let reads = 0;
  there.addEnd(buildRefused('unheard', () => (reads += 1)));
  expect(reads).toBe(0);
  const stream = here.open();
  there.addEnd(buildRefused('heard', () => (reads += 1)));
  expect(reads).toBeGreaterThan(0);
  let text = '';
  await expect.poll(() => (text += readText(stream))).toContain('"id":"heard"');
  expect(text).not.toContain('unheard');
  expect(requests[0]).toBe('listen');
});

it('events of other workers travel in batches', async () => {
  const { workers, asked: requests } = createWorkerPair();
  const [here, there] = workers.map((worker) => new LiveCalls(worker));
  if (!here || !there) throw new Error('there are two');
  opened.push(here, there);
  const stream = here.open();
  for (let index = 0; index < 500; index += 1) there.addEnd(buildRefused(`call-${index}`));
  let text = '';
  await expect.poll(() => (text += readText(stream))).toContain('"id":"call-499"');
  expect(requests).toHaveLength(2);
  expect(text.match(/event: end/g)).toHaveLength(1);
});

it('a client that reads nothing is dropped with a message, and others continue', async () => {
  const { workers } = createWorkerPair();
  const live = new LiveCalls(workers[0]);
  opened.push(live);
  const [slow, quick] = [live.open(), live.open()];
  const heard: string[] = [];
  quick.on('data', (piece) => heard.push(String(piece)));
  const long = 'x'.repeat(1_000_000);
  let isSlow = true;
  for (let batch = 0; batch < 100 && isSlow; batch += 1) {
    live.addEnd(buildRefused(`${batch}-${long}`));
    await expect.poll(() => heard.join('').includes(`"${batch}-`)).toBe(true);
    isSlow = !slow.readableEnded && slow.readableLength < 4.2 * 1024 * 1024;
  }
  let text = '';
  for await (const piece of slow) text += String(piece);
  expect(text).toMatch(/event: dropped\ndata: \{"message":"This client reads too slowly[^\n]*\}\n\n$/);
  live.addEnd(buildRefused('last'));
  await expect.poll(() => heard.join('').includes('"id":"last"')).toBe(true);
});
