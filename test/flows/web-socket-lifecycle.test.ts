/**
 * WebSockets while the gateway stops, reads its configuration again, or runs as several processes: no
 * response is lost, and no connection outlives what it needs.
 */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import { modelOf, openOperated, waitUntil, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { isEnd, openSocket, refuseSocket, type SocketClient } from '../support/web-socket.ts';

const plugin = "(await import('tollgate/plugins/protocols/responses/web-sockets')).webSockets(),";
const model = modelOf.responses;
const call = { model, input: 'Hello there.' };

let operated: Operated;
beforeAll(async () => void (operated = await openOperated()));
afterEach(() => operated.reset());

async function start(server = ''): Promise<RunningGateway> {
  operated.configure(server, plugin);
  return operated.start();
}

function connect(gateway: RunningGateway): Promise<SocketClient> {
  return openSocket(gateway.url, operated.key);
}

function startCall(client: SocketClient): Promise<unknown> {
  client.send({ type: 'response.create', ...call });
  return client.waitFor(({ type }) => type === 'response.created');
}

it('a stop closes idle connections at once, and others after the response that runs', async () => {
  const release = operated.hold();
  const gateway = await start();
  const [idle, busy] = [await connect(gateway), await connect(gateway)];
  await startCall(busy);
  const stopped = gateway.stop('SIGTERM');
  expect(await idle.closed).toBe(1001);
  busy.send({ type: 'response.create', ...call, stream_id: 'late' });
  expect(await busy.waitFor(({ stream_id: lane }) => lane === 'late')).toMatchObject({
    type: 'error',
    status: 503,
  });
  release();
  expect(await busy.waitFor((frame) => isEnd(frame) && frame.stream_id === undefined)).toMatchObject({
    type: 'response.completed',
  });
  expect(await busy.closed).toBe(1001);
  expect((await stopped).code).toBe(0);
  expect(await operated.audit()).toMatchObject({ ok: true, pending: 0 });
});

it('a response that outlasts the drain ends with an error, and is settled', async () => {
  operated.hold();
  const gateway = await start('drain: 0.5');
  const client = await connect(gateway);
  await startCall(client);
  const stopped = gateway.stop('SIGTERM');
  await client.waitFor(({ type }) => type === 'response.failed');
  expect(await client.closed).toBe(1001);
  expect((await stopped).code).toBe(0);
  expect(await operated.audit()).toMatchObject({ ok: true, pending: 0 });
});

it('a client that does not answer the close holds up no stop', async () => {
  const gateway = await start();
  const client = await connect(gateway);
  client.socket.pause();
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  client.socket.terminate();
});

function countReloads(gateway: RunningGateway): number {
  return gateway.printed().split('the configuration was read again').length - 1;
}

it('a reload keeps connections and what they remember, and without the plugin they end', async () => {
  const gateway = await start();
  const client = await connect(gateway);
  const first = readObject((await client.create(call)).response);
  operated.configure('drain: 5', plugin);
  await waitUntil(() => countReloads(gateway) === 1);
  const next = await client.create({ ...call, previous_response_id: first.id });
  expect(next).toMatchObject({ type: 'response.completed', response: { previous_response_id: first.id } });
  operated.configure();
  await waitUntil(() => countReloads(gateway) === 2);
  expect(await client.closed).toBe(1001);
  expect(await refuseSocket(gateway.url, { authorization: `Bearer ${operated.key}` })).toMatchObject({
    status: 426,
  });
  expect((await operated.post(gateway, '/v1/responses', call)).status).toBe(200);
  await gateway.stop('SIGTERM');
});

it('every worker takes WebSockets, and all of them count in the metrics', async () => {
  const gateway = await start('workers: 2');
  await waitUntil(() => gateway.printed().includes('a worker is ready'));
  const clients: SocketClient[] = [];
  for (let count = 0; count < 8; count += 1) clients.push(await connect(gateway));
  for (const client of clients)
    expect(await client.create(call)).toMatchObject({ type: 'response.completed' });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toContain('tollgate_websockets 8');
  const lines = gateway.printed().match(/"transport":"websocket"/g);
  expect(lines).toHaveLength(8);
  const stopped = gateway.stop('SIGTERM');
  for (const client of clients) expect(await client.closed).toBe(1001);
  expect((await stopped).code).toBe(0);
});
