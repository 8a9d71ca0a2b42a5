/**
 * Ports for processes that cannot listen on port 0. They lie below those that the system hands out, since it
 * could hand one out between this look and the listening. Each process begins somewhere else, so that suites
 * side by side choose apart.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Above 10080, the highest port that `fetch` refuses. */
const [lowest, highest] = [10_100, 32_000];
let next = randomInt(lowest, highest);

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (listens) await once(server.close(), 'close');
  return listens;
}

/** A port that was free a moment ago, and so was the one after it. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = next + 2 < highest ? next + 2 : lowest;
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
}
