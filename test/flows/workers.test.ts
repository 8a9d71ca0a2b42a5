/** Several processes on one port: to clients and operators they are one gateway. */
import { availableParallelism } from 'node:os';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { onLinux } from '../support/available.ts';
import { hello, openOperated, waitUntil, type Operated } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import type { RunningGateway } from '../support/process.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { countSockets, listChildren } from '../support/worker-processes.ts';

let operated: Operated;
beforeAll(async () => void (operated = await openOperated()));
afterEach(() => operated.vendors.unscript());

/** Makes a call on a new connection, because the system deals connections, not calls, out among workers. */
async function call({ url }: RunningGateway): Promise<number> {
  const response = await postJson(`${url}/v1/chat/completions`, hello, {
    authorization: `Bearer ${operated.key}`,
    connection: 'close',
  });
  await response.arrayBuffer();
  return response.status;
}

async function fetchMetric({ url }: RunningGateway, pattern: RegExp): Promise<number | undefined> {
  const response = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
  const found = pattern.exec(await response.text());
  return found ? Number(found[1]) : undefined;
}

const served = /tollgate_requests_total\{[^}]*code="200"[^}]*\} (\d+)/;

type Scrape = { readonly status: number; readonly text: string } | undefined;

/** The requests of one `scrape`. */
const scrapes = 6;

/**
 * Makes several requests at once, each on a new connection, and collects what comes of them; undefined is one
 * whose worker died.
 */
function scrape({ url }: RunningGateway): readonly Scrape[] {
  const settled: Scrape[] = [];
  for (let left = scrapes; left > 0; left -= 1)
    void fetch(`${url}/metrics`, { headers: { connection: 'close' } })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .then(
        (answer) => settled.push(answer),
        () => settled.push(undefined),
      );
  return settled;
}

function countPrinted(gateway: RunningGateway, words: RegExp): number {
  return gateway.printed().split(words).length - 1;
}

/** How many workers have ever been ready. */
function countReady(gateway: RunningGateway): number {
  return countPrinted(gateway, /is ready at|a worker is ready/);
}

async function start(count: number | 'auto' = 2): Promise<RunningGateway> {
  await operated.reset();
  operated.configure(`workers: ${JSON.stringify(count)}`);
  const gateway = await operated.start();
  const expected = count === 'auto' ? Math.min(availableParallelism(), 8) : count;
  await waitUntil(() => countReady(gateway) === expected);
  return gateway;
}

let last: RunningGateway | undefined;

/** Workers that a test before has left as they were, or two new ones. */
async function ensureRunning(): Promise<RunningGateway> {
  const isUp = last?.child.exitCode === null && last.child.signalCode === null;
  return last && isUp ? last : (last = await start());
}

async function expectCleanLedger(): Promise<void> {
  expect(await operated.audit()).toMatchObject({ ok: true, pending: 0 });
}

/** Stops a gateway while it streams. */
async function expectStreamsToFinish(
  gateway: RunningGateway,
  stop: (gateway: RunningGateway) => void,
): Promise<void> {
  const release = operated.hold();
  const streams = await Promise.all(Array.from({ length: 6 }, () => operated.stream(gateway)));
  stop(gateway);
  // Nothing answers connections that wait for a listener that has closed.
  await waitUntil(() =>
    fetch(`${gateway.url}/readyz`, { signal: AbortSignal.timeout(1000) }).then(
      ({ ok }) => !ok,
      () => true,
    ),
  );
  release();
  for (const stream of streams) expect(await stream.text()).toContain('[DONE]');
  await waitUntil(() => gateway.child.exitCode !== null);
  expect(gateway.child.exitCode).toBe(0);
  await expectCleanLedger();
}

// Only Linux lists the children of a process.
describe.runIf(onLinux)('several workers', () => {
  it('share the calls and the ledger, and report metrics together', async () => {
    const gateway = await ensureRunning();
    const workers = listChildren(gateway.child.pid);
    const before = workers.map(countSockets);
    const release = operated.hold();
    const streams: Response[] = [];
    // Until each worker has a share.
    await waitUntil(async () => {
      streams.push(await operated.stream(gateway));
      return workers.every((pid, index) => countSockets(pid) > (before[index] ?? Infinity));
    });
    release();
    for (const stream of streams) expect(await stream.text()).toContain('[DONE]');
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => call(gateway))))).toEqual(
      new Set([200]),
    );
    await waitUntil(async () => (await fetchMetric(gateway, served)) === 20 + streams.length);
    // Figures that all workers share are not summed.
    expect(await fetchMetric(gateway, /tollgate_ledger_audit_ok (\d+)/)).toBeLessThanOrEqual(1);
    await expect.poll(() => operated.audit()).toMatchObject({ ok: true, pending: 0 });
  });

  it('all reload the configuration on SIGHUP', async () => {
    const gateway = await ensureRunning();
    const countReloads = (): number => countPrinted(gateway, /the configuration was read again/);
    const before = countReloads();
    gateway.child.kill('SIGHUP');
    await waitUntil(() => countReloads() === before + 2);
  });

  it('are replaced when they die, and calls continue meanwhile', async () => {
    const gateway = await ensureRunning();
    const ready = countReady(gateway);
    const [victim = 0] = listChildren(gateway.child.pid);
    process.kill(victim, 'SIGKILL');
    await waitUntil(() => !listChildren(gateway.child.pid).includes(victim));
    expect(await call(gateway)).toBe(200);
    await waitUntil(() => countReady(gateway) === ready + 1);
    expect(listChildren(gateway.child.pid)).not.toContain(victim);
    expect(gateway.printed()).toMatch(
      new RegExp(`"pid":${victim},"code":null,"signal":"SIGKILL",.*a worker died`),
    );
    // A worker that has just started may not answer a scrape in time.
    await expect
      .poll(() => fetchMetric(gateway, /tollgate_worker_deaths_total (\d+)/))
      .toBe(countPrinted(gateway, /a worker died/));
    expect(await Promise.all(Array.from({ length: 8 }, () => call(gateway)))).toEqual(
      Array.from({ length: 8 }, () => 200),
    );
  });

  it('may die with a connection that they have not accepted, which is closed', async () => {
    const gateway = await ensureRunning();
    const ready = countReady(gateway);
    const [victim = 0] = listChildren(gateway.child.pid);
    process.kill(victim, 'SIGSTOP');
    const statuses: string[] = [];
    for (let left = 4; left > 0; left -= 1)
      void sendRaw(gateway.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n').then(
        (answer) => statuses.push(answer.closed ? answer.statuses.join() : 'open'),
      );
    // Workers take turns, so the fourth waits for the stopped one.
    await waitUntil(() => statuses.length === 3);
    process.kill(victim, 'SIGKILL');
    await waitUntil(() => statuses.length === 4);
    expect(statuses).toEqual(['200', '200', '200', '']);
    await waitUntil(() => countReady(gateway) === ready + 1);
  });

  it('may die while they ask for the metrics of all', async () => {
    const gateway = await ensureRunning();
    const ready = countReady(gateway);
    const [asking = 0, silent = 0] = listChildren(gateway.child.pid);
    const before = countSockets(asking);
    process.kill(silent, 'SIGSTOP');
    let scraped = scrape(gateway);
    await waitUntil(() => {
      // It answered before it was seen.
      if (scraped.length > 0) scraped = scrape(gateway);
      return countSockets(asking) > before;
    });
    process.kill(asking, 'SIGKILL');
    await waitUntil(() => !listChildren(gateway.child.pid).includes(asking));
    process.kill(silent, 'SIGCONT');
    await waitUntil(() => scraped.includes(undefined) && scraped.length === scrapes);
    await waitUntil(() => countReady(gateway) === ready + 1);
    expect(await call(gateway)).toBe(200);
  });

  it('let their streams finish when the process that started them receives SIGTERM', async () => {
    await expectStreamsToFinish(await ensureRunning(), (gateway) => gateway.child.kill('SIGTERM'));
  });

  it('number one for each core, at most eight, with "auto"', async () => {
    const gateway = await start('auto');
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => call(gateway))))).toEqual(
      new Set([200]),
    );
    expect(listChildren(gateway.child.pid)).toHaveLength(
      availableParallelism() === 1 ? 0 : Math.min(availableParallelism(), 8),
    );
    if (availableParallelism() > 1) last = gateway;
  });

  it('exit with the process that started them, even if it is killed', async () => {
    const gateway = await ensureRunning();
    const workers = listChildren(gateway.child.pid);
    await gateway.stop('SIGKILL');
    const isAlive = (pid: number): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await waitUntil(() => !workers.some(isAlive));
  });

  it('report metrics without the one that dies meanwhile, and lose none of their own', async () => {
    const gateway = await start(3);
    // Workers of a busy machine may not have answered each other in time: 503, and another try.
    let answers: Scrape[] = [];
    for (let ready = 4; ready < 9 && !answers.some((answer) => answer?.status === 200); ready += 1) {
      const [silent = 0, ...others] = listChildren(gateway.child.pid);
      const before = others.map(countSockets);
      process.kill(silent, 'SIGSTOP');
      const settled = scrape(gateway);
      await waitUntil(() => others.some((pid, index) => countSockets(pid) > (before[index] ?? Infinity)));
      process.kill(silent, 'SIGKILL');
      // The one that was handed to the dead worker ends too.
      await waitUntil(() => settled.length === scrapes);
      answers = settled.filter((answer) => answer !== undefined && answer.status !== 503);
      await waitUntil(() => countReady(gateway) === ready);
    }
    expect(answers.length).toBeGreaterThan(0);
    for (const answer of answers)
      expect(answer).toEqual({ status: 200, text: expect.stringContaining('tollgate_streams_open') });
    last = gateway;
  });

  it('let their streams finish when Ctrl-C sends SIGINT to all of them', async () => {
    await expectStreamsToFinish(await ensureRunning(), (gateway) => {
      const workers = listChildren(gateway.child.pid);
      gateway.child.kill('SIGINT');
      for (const worker of workers) process.kill(worker, 'SIGINT');
    });
  });
});
