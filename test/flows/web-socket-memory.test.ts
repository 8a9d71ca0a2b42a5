/** What an open WebSocket holds. The long form is `faults/web-sockets.fault.ts`. */
import { beforeAll, expect, it } from 'vitest';
import { askable, openHeap } from '../support/memory-of.ts';
import { modelOf, openOperated, waitUntil, type Operated } from '../support/operated.ts';
import { openSocket } from '../support/web-socket.ts';

let operated: Operated;
beforeAll(async () => void (operated = await openOperated()));

const kilobyte = 1024;
const count = 200;

it('an idle WebSocket holds at most 40 kB after a response, and nothing once it is closed', async () => {
  operated.configure(
    '',
    "(await import('tollgate/plugins/protocols/responses/web-sockets')).webSockets({ perKey: 1000 }),",
  );
  const gateway = await operated.start(askable);
  const heap = await openHeap(gateway);
  const openAll = async () => {
    const clients = [];
    for (let each = 0; each < count; each += 1) clients.push(await openSocket(gateway.url, operated.key));
    for (const client of clients)
      expect(await client.create({ model: modelOf.responses, input: 'Hello.' })).toMatchObject({
        type: 'response.completed',
      });
    return clients;
  };
  const readOpen = async (): Promise<string> => (await fetch(`${gateway.url}/metrics`)).text();
  const closeAll = async (clients: Awaited<ReturnType<typeof openAll>>): Promise<void> => {
    for (const { socket } of clients) socket.close();
    await waitUntil(async () => (await readOpen()).includes('tollgate_websockets 0'));
  };
  // The first ones compile code and fill caches.
  await closeAll(await openAll());
  const before = await heap.left();
  const clients = await openAll();
  const each = ((await heap.left()) - before) / count;
  expect(each).toBeGreaterThan(kilobyte);
  expect(each).toBeLessThan(40 * kilobyte);
  await closeAll(clients);
  expect(((await heap.left()) - before) / count).toBeLessThan(5 * kilobyte);
  heap.close();
  await gateway.stop('SIGTERM');
});
