/**
 * Several processes on one port, for machines with several cores. The first is started alone, since it makes what a
 * first start makes (ledger, key, secrets); the others follow when it is ready. One that dies is replaced, not in a
 * hurry; signals are passed on, and the last to go takes this process with it.
 */
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import { scrapeRequest, type scrapeReply } from './metrics.ts';
import type { z } from 'zod';

/** Milliseconds before a worker that died is replaced: one that dies at once must not be started in a loop. */
const pause = 1000;

const ready = 'tollgate:ready';

/** Tells the process that started this one that it serves. */
export function tellReady(): void {
  process.send?.(ready);
}

/** Whether this worker is the one that speaks for all at the start. */
export function isFirstWorker(): boolean {
  return process.env['TOLLGATE_WORKER'] === '1';
}

function startWorker(number: number): Promise<Worker> {
  const worker = cluster.fork({ TOLLGATE_WORKER: String(number) });
  return new Promise((resolve, reject) => {
    worker.on('message', (message) => message === ready && resolve(worker));
    worker.once('exit', (code) => reject(new Error(`worker ${number} ended with ${code} before it was ready`)));
  });
}

/** Answers workers that are asked for the metrics of all. */
function answerScrapes(): void {
  const all = new AggregatorRegistry();
  cluster.on('message', (worker, message) => {
    const request = scrapeRequest.safeParse(message);
    if (!request.success) return;
    const { id } = request.data;
    const answer = (text: string): boolean => worker.send({ type: 'tollgate:scraped', id, text } satisfies z.output<typeof scrapeReply>);
    // A worker that died while it was asked leaves the others' figures unknown: better none than wrong ones.
    all.clusterMetrics().then(answer, () => answer(''));
  });
}

/** Runs `count` workers until this process is told to stop. Rejects where the first one cannot start. */
export async function superviseWorkers(count: number): Promise<void> {
  let stopping = false;
  answerScrapes();
  const pass = (signal: NodeJS.Signals) => (): void => {
    stopping ||= signal !== 'SIGHUP';
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal === 'SIGINT' ? 'SIGTERM' : signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, pass(signal));
  const keep = async (number: number): Promise<void> => {
    const worker = await startWorker(number);
    worker.once('exit', (code) => {
      if (!stopping) return void again(number);
      if (code !== 0) process.exitCode = 1;
      // What the workers left of the port must not keep this process.
      if (Object.keys(cluster.workers ?? {}).length === 0) process.exit();
    });
  };
  const again = async (number: number): Promise<void> => {
    await sleep(pause);
    if (stopping) return;
    // One that could not start either is tried again, for as long as the others serve.
    await keep(number).catch(() => again(number));
  };
  await keep(1);
  await Promise.all(Array.from({ length: count - 1 }, (_, index) => keep(index + 2).catch(() => again(index + 2))));
}
