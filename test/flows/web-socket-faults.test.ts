/**
 * What can go wrong on a WebSocket: clients that disappear, do not read or send too much, connections that
 * last too long, and conversations that are forgotten. Nothing grows, every vendor is released, every call
 * settles.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { cerebras } from '../../plugins/providers/cerebras.ts';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { waitUntil } from '../support/operated.ts';
import { isEnd, openSocket, type SocketClient } from '../support/web-socket.ts';

const model = 'cerebras/gpt-oss-120b';
const upstream = 'gpt-oss-120b';
const never = new Promise<void>(() => undefined);

let harness: Harness | undefined;
const opened: SocketClient[] = [];
afterEach(async () => {
  for (const { socket } of opened) socket.terminate();
  await Promise.all(opened.splice(0).map(({ closed }) => closed));
  await harness?.close();
  harness = undefined;
});

type Settings = NonNullable<Parameters<typeof openHarness>[0]>['settings'];

async function open(
  options: Parameters<typeof webSockets>[0] = {},
  settings: Settings = {},
): Promise<Harness> {
  harness = await openHarness({ provider: cerebras, plugins: [responses(), webSockets(options)], settings });
  return harness;
}

async function connect({ gateway, key }: Harness): Promise<SocketClient> {
  const client = await openSocket(gateway.url, key);
  opened.push(client);
  return client;
}

function getId({ response }: Record<string, unknown>): unknown {
  return readObject(response).id;
}

const isDelta = ({ type }: Record<string, unknown>): boolean => type === 'response.output_text.delta';

it('a client that is gone cancels its vendors at once, and pays for what it was sent', async () => {
  const own = await open();
  own.vendor.script(upstream, { text: ['one', 'two', 'three'], hold: never, holdAfter: 3 });
  const client = await connect(own);
  for (const lane of ['a', 'b'])
    client.send({ type: 'response.create', model, input: 'Hello.', stream_id: lane });
  for (const lane of ['a', 'b']) await client.waitFor((frame) => isDelta(frame) && frame.stream_id === lane);
  client.socket.terminate();
  const ends = await own.gateway.ended(2);
  expect(ends.map((end) => end.type === 'answered' && [end.outcome, end.charge.cost > 0n])).toEqual([
    ['aborted', true],
    ['aborted', true],
  ]);
  await waitUntil(() => own.vendor.openConnections() === 0);
});

it('a client that is gone before the vendor answers cancels it too', async () => {
  const own = await open();
  own.vendor.script(upstream, { text: 'Late.', hold: never });
  const client = await connect(own);
  client.send({ type: 'response.create', model, input: 'Hello.' });
  await waitUntil(() => own.vendor.requests.length === 1);
  client.socket.close();
  expect((await own.gateway.ended(1))[0]).toMatchObject({ type: 'failed', error: { code: 'client_gone' } });
  await waitUntil(() => own.vendor.openConnections() === 0);
});

it('a client that does not read pauses the vendor, and later gets everything in order', async () => {
  const own = await open();
  own.vendor.script(upstream, { text: ['word '.repeat(400)], endless: true });
  const client = await connect(own);
  client.send({ type: 'response.create', model, input: 'Hello.' });
  await client.waitFor(isDelta);
  client.socket.pause();
  const count = (): number => own.vendor.journal.at(-1)?.bytes ?? 0;
  let seen = -1;
  // The vendor writes no more once all buffers on the way are full.
  while (seen !== count()) {
    seen = count();
    await sleep(300);
  }
  const { length } = client.frames;
  client.socket.resume();
  await waitUntil(() => client.frames.length > length + 2000 && count() > seen);
  const numbers = client.frames.map(({ sequence_number: number }) => number);
  expect(numbers).toEqual(numbers.map((_, index) => index));
});

it('a client that never reads again is disconnected, its vendor released and its call settled', async () => {
  const own = await open({}, { timeouts: { write: 0.5 } });
  own.vendor.script(upstream, { text: ['word '.repeat(400)], endless: true });
  const client = await connect(own);
  client.send({ type: 'response.create', model, input: 'Hello.' });
  await client.waitFor(isDelta);
  client.socket.pause();
  const [end] = await own.gateway.ended(1);
  expect(end).toMatchObject({ type: 'answered', outcome: 'aborted' });
  await waitUntil(() => own.vendor.openConnections() === 0);
});

it('a client that sends and does not read is not listened to until it reads', async () => {
  const own = await open();
  const client = await connect(own);
  client.socket.pause();
  // It is answered by as much as it has.
  const steer = { type: 'response.steer', previous_response_id: 'resp_1', input: 'x'.repeat(500_000) };
  await waitUntil(() => {
    for (let count = 0; count < 4; count += 1) client.send(steer);
    client.socket.ping('x'.repeat(100));
    return client.socket.bufferedAmount > 8 * 1024 * 1024;
  });
  await sleep(500);
  expect(client.socket.bufferedAmount).toBeGreaterThan(4 * 1024 * 1024);
  client.socket.resume();
  await waitUntil(() => client.socket.bufferedAmount === 0);
  own.vendor.script(upstream, { text: 'Yes.' });
  client.send({ type: 'response.create', model, input: 'Hello.' });
  expect(await client.waitFor(({ type }) => type === 'response.completed')).toBeDefined();
});

it('endless frames share the memory for bodies, and the one too many ends its connection', async () => {
  const own = await open({}, { server: { bodiesPerKey: 1_000_000 } });
  const [first, second] = [await connect(own), await connect(own)];
  const part = 'x'.repeat(600_000);
  first.socket.send(part, { fin: false });
  await sleep(200);
  second.socket.send(part, { fin: false });
  expect(await second.waitFor(({ type }) => type === 'error')).toMatchObject({ status: 429 });
  await second.closed;
  first.socket.terminate();
  await first.closed;
  const third = await connect(own);
  third.socket.send(part, { fin: false });
  third.socket.send(part, { fin: true });
  expect(await third.waitFor(({ type }) => type === 'error')).toMatchObject({ status: 400 });
});

it('a connection without a frame or a response is closed as idle', async () => {
  const own = await open({ idle: 0.3 });
  own.vendor.script(upstream, { text: ['one', 'two', 'three'], delayEvents: 150 });
  const client = await connect(own);
  expect(await client.create({ model, input: 'Hello.' })).toMatchObject({ type: 'response.completed' });
  expect(await client.closed).toBe(1001);
});

it('a connection ends after its time, with the code for it, once its responses are done', async () => {
  const own = await open({ life: 1 });
  const more = Promise.withResolvers<void>();
  own.vendor.script(upstream, { text: ['one', 'two', 'three'], hold: more.promise, holdAfter: 3 });
  const client = await connect(own);
  client.send({ type: 'response.create', model, input: 'Hello.', stream_id: 'a' });
  await client.waitFor(isDelta);
  await sleep(1200);
  const isLimit = ({ error }: Record<string, unknown>): boolean =>
    readObject(error).code === 'websocket_connection_limit_reached';
  client.send({ type: 'response.create', model, input: 'Hello.', stream_id: 'b' });
  expect(await client.waitFor(isLimit)).toMatchObject({ type: 'error', status: 400, stream_id: 'b' });
  more.resolve();
  await client.waitFor(({ type }) => type === 'response.completed');
  expect(await client.closed).toBe(1001);
  expect(client.frames.at(-1)).toMatchObject({ type: 'error', status: 400 });
});

it('a client that answers no ping is disconnected, and one that does stays', async () => {
  const own = await open({ ping: 0.2 });
  const well = await connect(own);
  const mute = await openSocket(own.gateway.url, own.key, { autoPong: false });
  opened.push(mute);
  expect(await mute.closed).toBe(1006);
  expect(well.socket.readyState).toBe(well.socket.OPEN);
  const [data] = await once(well.socket, 'ping');
  expect(data).toHaveLength(0);
});

it('the oldest response of a connection is forgotten first', async () => {
  const own = await open({ memory: { responses: 2 } });
  own.vendor.script(upstream, { text: 'Yes.' });
  const client = await connect(own);
  const ids: unknown[] = [];
  for (const input of ['One.', 'Two.', 'Three.']) ids.push(getId(await client.create({ model, input })));
  const found: unknown[] = [];
  // Each check is remembered too, in place of the oldest.
  for (const id of [ids[0], ids[2], ids[1]]) {
    const { type } = await client.create({ model, previous_response_id: id, generate: false, input: [] });
    found.push(type);
  }
  expect(found).toEqual(['error', 'response.completed', 'error']);
});

it('the connection that was used longest ago forgets first when all together remember too much', async () => {
  const own = await open({ memory: { all: 3000 } });
  own.vendor.script(upstream, { text: 'Yes.' });
  const [first, second] = [await connect(own), await connect(own)];
  const input = 'x'.repeat(1800);
  const one = getId(await first.create({ model, input }));
  const other = getId(await second.create({ model, input }));
  const forgotten = await first.create({ model, previous_response_id: one, input: 'And?' });
  expect(forgotten).toMatchObject({ type: 'error', error: { code: 'previous_response_not_found' } });
  const kept = await second.create({ model, previous_response_id: other, input: 'And?' });
  expect(kept).toMatchObject({ type: 'response.completed' });
});

it('a conversation longer than a connection may remember is answered, but not continued', async () => {
  const own = await open({ memory: { bytes: 1000 } });
  own.vendor.script(upstream, { text: 'Yes.' });
  const client = await connect(own);
  const long = await client.create({ model, input: 'x'.repeat(2000) });
  expect(long).toMatchObject({ type: 'response.completed' });
  expect(await client.create({ model, previous_response_id: getId(long), input: 'And?' })).toMatchObject({
    error: { code: 'previous_response_not_found' },
  });
});

it('many responses on one connection leave no listeners behind', async () => {
  const own = await open();
  const client = await connect(own);
  own.vendor.script(upstream, { text: 'Yes.' });
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  for (let count = 0; count < 40; count += 1) {
    const { length } = client.frames;
    const lanes = ['a', 'b', 'c'];
    for (const lane of lanes)
      client.send({ type: 'response.create', model, input: `Hello ${count}.`, stream_id: lane });
    for (const lane of lanes)
      await client.waitFor((frame) => frame.stream_id === lane && isEnd(frame), length);
  }
  process.off('warning', note);
  expect(warnings).toEqual([]);
  expect(client.frames.filter(isEnd).map(({ type }) => type)).toEqual(
    Array.from({ length: 120 }, () => 'response.completed'),
  );
});
