/**
 * Several processes on one port, for machines with several cores. The first is started alone, since it makes
 * what a first start makes (ledger, key, secrets); the others follow when it is ready. One that dies is
 * replaced, not in a hurry; signals are passed on, and the last to go takes this process with it.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import type { z } from 'zod';
import { scrapeRequest, type scrapeReply } from '../host/metrics.ts';
import type { Plugin } from '../plugin.ts';
import { openSwitchboard } from './worker-messages.ts';

/**
 * Milliseconds before a worker that died is replaced: one that dies at once must not be started in a loop.
 */
const pause = 1000;

const ready = 'tollgate:ready';

/** Tells the process that started this one that it serves. */
export function tellReady(): void {
  process.send?.(ready);
}

/** Whether this worker is the one that speaks for all at the start. */
export function isFirstWorker(): boolean {
  return process.env.TOLLGATE_WORKER === '1';
}

/** A worker ended before it served. One that was not ended by a signal has said itself why. */
export class EarlyEnd extends Error {
  readonly signal: string | null;

  constructor(number: number, code: number | null, signal: string | null) {
    super(`worker ${number} was ended by ${signal ?? `code ${code}`} before it was ready`);
    this.signal = signal;
  }
}

/**
 * The workers there are, each with when it hears signals: earlier, one that asks for the configuration to be
 * read again would end it.
 */
const hearing = new WeakMap<Worker, Promise<Worker>>();

function startWorker(number: number): Promise<Worker> {
  const worker = cluster.fork({ TOLLGATE_WORKER: String(number) });
  const started = new Promise<Worker>((resolve, reject) => {
    worker.on('message', (message) => message === ready && resolve(worker));
    // Also a message that cannot reach a worker that is ending: the error would have no other listener.
    worker.on('error', reject);
    worker.once('exit', (code, signal) => reject(new EarlyEnd(number, code, signal)));
  });
  hearing.set(worker, started);
  return started;
}

/** Has a worker read the configuration again, as soon as it has read it for the first time. */
function reload(worker: Worker): void {
  hearing.get(worker)?.then(
    () => worker.process.kill('SIGHUP'),
    () => undefined,
  );
}

/**
 * The figures of all. One that dies while it is asked never answers: then the others are asked again, without
 * it.
 */
async function figuresOfAll(ask: () => Promise<string>): Promise<string> {
  const told = new AbortController();
  const again = once(cluster, 'exit', { signal: told.signal }).then(ask);
  try {
    return await Promise.race([ask(), again]);
  } finally {
    told.abort();
  }
}

/** Answers workers that are asked for the metrics of all. */
function answerScrapes(): void {
  const all = new AggregatorRegistry();
  cluster.on('message', (worker, message) => {
    const request = scrapeRequest.safeParse(message);
    if (!request.success) return;
    const { id } = request.data;
    const answer = (text?: string): boolean =>
      worker.send({ type: 'tollgate:scraped', id, text } satisfies z.output<typeof scrapeReply>);
    figuresOfAll(() => all.clusterMetrics()).then(answer, () => answer());
  });
}

/** Runs `count` workers until this process is told to stop. Rejects where the first one cannot start. */
export async function superviseWorkers(count: number, plugins: readonly Plugin[]): Promise<void> {
  let stopping = false;
  answerScrapes();
  const supervisor = openSwitchboard();
  for (const plugin of plugins) plugin.supervise?.(supervisor);
  const pass = (signal: NodeJS.Signals) => (): void => {
    stopping ||= signal !== 'SIGHUP';
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (worker && signal === 'SIGHUP') reload(worker);
      else worker?.process.kill('SIGTERM');
    }
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
  try {
    await keep(1);
  } catch (error) {
    if (stopping) process.exit();
    if (error instanceof EarlyEnd && error.signal === null) process.exit(1);
    throw error;
  }
  await Promise.all(
    Array.from({ length: count - 1 }, (_, index) => keep(index + 2).catch(() => again(index + 2))),
  );
}
