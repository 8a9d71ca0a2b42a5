/** What several workers share: each other's calls, and the running calls and usage of keys and accounts. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { onLinux } from '../support/available.ts';
import { hello, openOperated, buildStreamedCall, waitUntil, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { countSockets, listChildren } from '../support/worker-processes.ts';

let operated: Operated;
beforeAll(async () => void (operated = await openOperated()));
afterEach(() => operated.vendors.unscript());

/**
 * Makes each request on a new connection, because the system deals connections, not calls, out among workers.
 * One that reaches a worker as it dies gets no answer.
 */
async function ask({ url }: RunningGateway, path: string, sent?: object): Promise<Response> {
  const response = await fetch(url + path, {
    signal: AbortSignal.timeout(120_000),
    headers: { authorization: `Bearer ${operated.key}`, connection: 'close' },
    ...(sent ? { method: 'POST', body: JSON.stringify(sent) } : {}),
  });
  await response.clone().arrayBuffer();
  return response;
}

async function askMany(count: number, gateway: RunningGateway): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, () => ask(gateway, '/v1/chat/completions', hello)),
  );
  return answers.map(({ status }) => status).toSorted();
}

async function start(limits: string): Promise<RunningGateway> {
  await operated.reset();
  const file = new URL('../../plugins/operations/rate-limits.ts', import.meta.url).href;
  operated.configure('workers: 2', `(await import('${file}')).rateLimits(${limits})`);
  const gateway = await operated.start();
  await waitUntil(() => gateway.printed().split(/is ready at|a worker is ready/).length === 3);
  return gateway;
}

/** Allows six concurrent calls. The first two tests share it. */
let concurrent: RunningGateway;

describe('several workers', () => {
  beforeAll(async () => void (concurrent = await start('{ perKey: { parallel: 6 } }')));

  it('return every call to the key that made it, whichever of them made it', async () => {
    const gateway = concurrent;
    const made = await Promise.all(
      Array.from({ length: 3 }, () => ask(gateway, '/v1/chat/completions', hello)),
    );
    for (const { headers } of made) {
      const id = headers.get('x-request-id');
      const found = await Promise.all(Array.from({ length: 6 }, () => ask(gateway, `/v1/calls/${id}`)));
      expect(found.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200));
      expect(await found[0]?.json()).toMatchObject({ id, outcome: 'completed' });
      const other = await fetch(`${gateway.url}/v1/calls/${id}`, {
        headers: { authorization: `Bearer sk-${'0'.repeat(40)}` },
      });
      expect(other.status).toBe(401);
    }
    expect((await ask(gateway, '/v1/calls/0192f000-0000-7000-8000-000000000000')).status).toBe(404);
  });

  // Only Linux lists the children of a process.
  it.runIf(onLinux)('count concurrent calls together, without those of a dead worker', async () => {
    const gateway = concurrent;
    const release = operated.hold();
    const streams = await Promise.all(Array.from({ length: 8 }, () => operated.stream(gateway)));
    expect(streams.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 6 }, () => 200),
      429,
      429,
    ]);
    // The system may deal all the streams to one worker, and the other two to the other.
    const [victim = 0] = listChildren(gateway.child.pid).toSorted(
      (one, other) => countSockets(other) - countSockets(one),
    );
    process.kill(victim, 'SIGKILL');
    await waitUntil(() => !listChildren(gateway.child.pid).includes(victim));
    // What the dead worker held is free again, and the rest is still held.
    const { path, body: sent } = buildStreamedCall('chat-completions');
    await waitUntil(
      async () =>
        (await operated.post(gateway, path, sent, AbortSignal.timeout(4000)).catch(() => undefined))
          ?.status === 200,
    );
    release();
    await Promise.allSettled(streams.map((stream) => stream.text()));
    await waitUntil(
      async () => (await askMany(6, gateway).catch(() => [])).join() === '200,200,200,200,200,200',
    );
  });

  it('count requests and tokens together', async () => {
    // One more is allowed after half a minute, and a busy machine may take seconds for these calls.
    const gateway = await start('{ perKey: { requests: 2 }, perAccount: { tokens: 100_000 } }');
    expect(await askMany(12, gateway)).toEqual([200, 200, ...Array.from({ length: 10 }, () => 429)]);
  });
});
